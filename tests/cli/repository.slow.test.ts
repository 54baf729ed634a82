// Sees what nothing faster does: that a repository of one's own, by real git, plans and is updated.
import assert from "node:assert/strict";
import { execFile, execFileSync, spawnSync } from "node:child_process";
import {
  appendFileSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import path from "node:path";
import { promisify } from "node:util";
import { artifactsVariable } from "../../components/model/artifacts.ts";
import { defaultRelease, minorOf } from "../../components/model/releases.ts";
import { loadCiConfig } from "../../examples/ci/config.ts";
import { goRun } from "../support/skip.ts";
import { listening } from "../support/suite.ts";

const root = path.join(import.meta.dirname, "../../");
const folder = realpathSync(mkdtempSync(path.join(tmpdir(), "fenestra-repository-")));
const at = (name: string) => path.join(folder, name);
const [bare, user] = [at("fenestra.git"), at("user")];
const gitConfig = `[protocol "file"]
allow = always
[user]
name = t
email = t@example.com
[init]
defaultBranch = main
`;
const env = { ...process.env, GIT_CONFIG_GLOBAL: at("gitconfig") };

function git(where: string, ...args: readonly string[]) {
  return execFileSync("git", ["-C", where, ...args], {
    encoding: "utf8",
    env,
    stdio: ["ignore", "pipe", "pipe"],
  }).trim();
}

function commit(where: string, message: string) {
  git(where, "add", "--all");
  git(where, "commit", "--quiet", "--message", message);
}

function edit(file: string, change: (text: string) => string): () => void {
  const text = readFileSync(file, "utf8");
  writeFileSync(file, change(text));
  return () => writeFileSync(file, text);
}

function fenestra(program: string, cwd: string, ...args: readonly string[]) {
  return spawnSync(process.execPath, [path.join(program, "cli/main.ts"), ...args], { cwd, env, encoding: "utf8" });
}

function fine(...args: Parameters<typeof fenestra>) {
  const { stdout, stderr, status } = fenestra(...args);
  assert.equal(status, 0, `${stderr}${stdout}`);
  return stdout;
}

const link = (program: string) =>
  symlinkSync(realpathSync(path.join(root, "node_modules")), path.join(program, "node_modules"));
const program = path.join(user, "fenestra");
const inUser = (...args: readonly string[]) => fine(program, user, ...args);
const stackFile = path.join(user, "stacks/Pulumi.shop.yaml");
const textOf = (name: string) => readFileSync(path.join(user, name), "utf8");

/** A bare repository with two releases that differ in a kernel setting of Linux machines. */
function makeReleases() {
  const source = at("source");
  git(folder, "init", "--quiet", source);
  // What is here, committed or not.
  git(source, "--work-tree", root, "add", "--all");
  git(source, "checkout-index", "--all");
  const release = (version: string) => {
    for (const name of ["package.json", "package-lock.json"])
      edit(path.join(source, name), (text) =>
        text.replace(/("name": "fenestra",\s+"version": )"[^"]+"/g, `$1"${version}"`),
      );
    commit(source, version);
    git(source, "tag", "--annotate", "--message", version, `v${version}`);
  };
  release("9.0.0");
  appendFileSync(
    path.join(source, "components/machine/linux/rootfs/etc/sysctl.d/90-fenestra.conf"),
    "\nvm.swappiness = 7\n",
  );
  release("9.10.0");
  git(folder, "clone", "--quiet", "--bare", source, bare);
  // As GitHub does.
  git(bare, "config", "uploadpack.allowAnySHA1InWant", "true");
}

describe("a repository of one's own", function () {
  this.timeout(300_000);
  before(() => {
    writeFileSync(at("gitconfig"), gitConfig);
    makeReleases();
    git(folder, "init", "--quiet", user);
    git(user, "submodule", "--quiet", "add", bare, "fenestra");
    git(program, "checkout", "--quiet", "v9.0.0");
    link(program);
  });
  after(() => rmSync(folder, { recursive: true, force: true }));

  it("is made by the commands of docs/repository.md, also when upstream is past the release", () => {
    const text = readFileSync(path.join(root, "docs/repository.md"), "utf8");
    const commands = (/```sh.*\n(git init[\s\S]*?)```/.exec(text)?.[1] ?? assert.fail())
      .replace(/https:\S+/, bare)
      .replace("v0.2.0", "v9.0.0")
      .replace("npm ci --prefix fenestra --omit=dev", `ln -s ${path.join(root, "node_modules")} fenestra/node_modules`);
    const { stderr, status } = spawnSync("sh", ["-euc", commands], { cwd: folder, env, encoding: "utf8" });
    assert.equal(status, 0, stderr);
    assert.doesNotMatch(stderr, /^fenestra: /m);
    assert.match(stderr, /^No workflows: the origin of fenestra is not on GitHub\. Allowed: --workflows OWNER\/NAME/m);
    const release = git(bare, "rev-parse", "v9.0.0^{commit}");
    assert.match(git(at("clusters"), "ls-tree", "HEAD", "fenestra"), new RegExp(release));
  });

  it("is made by one command, which leaves existing files alone", function () {
    const { stderr, status } = fenestra(program, user, "init", "--repository", "--workflows", "https://github.com/o/r");
    assert.match(stderr, /^fenestra: --workflows https:\S+ is no repository of GitHub; allowed: OWNER\/NAME\n$/);
    assert.deepEqual([status, existsSync(path.join(user, "Pulumi.yaml"))], [2, false]);
    writeFileSync(path.join(user, "README.md"), "mine\n");
    const said = inUser("init", "--repository", "--workflows", "o/fenestra");
    assert.match(said, /README\.md was there and is left as it is\n/);
    for (const line of said.split("\n").filter((each) => each.endsWith(" is made")))
      assert.ok(existsSync(path.join(user, line.split(" ")[0] ?? "")));
    assert.equal(textOf("README.md"), "mine\n");
    const commit = git(program, "rev-parse", "HEAD");
    const workflows = ["preview", "deploy", "drift"].map((name) => `.github/workflows/${name}.yml`);
    for (const name of workflows)
      assert.ok(textOf(name).includes(`    uses: o/fenestra/${name}@${commit} # v9.0.0\n`), textOf(name));
    for (const [reader, ...args] of [
      ["github.com/rhysd/actionlint/cmd/actionlint", "-no-color", ...workflows.map((name) => path.join(user, name))],
      ["./pulumi", user, "3.249.0"],
    ] as const) {
      const { stdout, status } = goRun(this, "rehearsal/runtime/readers", reader, args);
      assert.equal(status, 0, stdout);
    }
  });

  it("has its own stacks, whose files name the schema in place, from any folder", () => {
    assert.match(
      inUser("init", "--stack", "shop", "--cloud", "aws", "--region", "eu-west-1"),
      /^stacks\/Pulumi\.shop\.yaml is written\.\n/,
    );
    edit(stackFile, (text) => text.replace(/# (fenestra:accountId): .*/, '$1: "123456789012"'));
    const [, schema = ""] = /\$schema=(\S+)/.exec(textOf("stacks/Pulumi.shop.yaml")) ?? [];
    assert.ok(schema.startsWith("..") && existsSync(path.join(user, "stacks", schema)));
    for (const cwd of [path.join(user, "ci"), folder])
      assert.equal(fine(program, cwd, "stacks", "--deployable"), '["shop"]\n');
    assert.match(
      fenestra(program, program, "stacks", "--deployable").stderr,
      new RegExp(`^fenestra: these are the stack files of ${program} itself; for those of ${user} run it there\n`),
    );
    const ci = { "fenestra-ci:repository": "o/r", "fenestra-ci:stacks": '["shop"]' };
    const { accountId } = loadCiConfig(ci, path.join(user, "ci"));
    Reflect.deleteProperty(process.env, artifactsVariable);
    assert.equal(accountId, "123456789012");
    commit(user, "one");
  });

  it("is compared with its own commits", () => {
    const undo = edit(stackFile, (text) => `${text}  fenestra:controlPlane: { backup: { keepDays: 1 } }\n`);
    assert.match(inUser("plan", "--stack", "shop", "--diff", "HEAD"), /DATA IS LOST/i);
    const { status, stdout } = fenestra(program, user, "changes", "--since", "HEAD", "--fail-on", "lost-data");
    assert.deepEqual([status, /DATA IS LOST/i.test(stdout)], [3, true], stdout);
    undo();
  });

  it("adds a Kubernetes release beside its stack files, not the program", async () => {
    const release = `${minorOf(defaultRelease)}.99`;
    const server = createServer((_, response) => void response.end("a".repeat(64)));
    const via = `http://127.0.0.1:${await listening(server)}`;
    const args = [path.join(program, "cli/main.ts"), "pin", release, "--via", via];
    await promisify(execFile)(process.execPath, args, { cwd: user, env });
    server.close();
    assert.equal(git(program, "status", "--porcelain"), "");
    const undo = edit(stackFile, (text) => `${text}  fenestra:kubernetes: { version: ${release} }\n`);
    const kubelet = new RegExp(
      `${"a".repeat(64)}\\s+https://dl\\.k8s\\.io/release/v${release}/bin/linux/amd64/kubelet\n`,
    );
    assert.match(inUser("mirror", "--stack", "shop"), kubelet);
    commit(user, "two");
    assert.equal(inUser("changes", "--since", "HEAD"), "shop: no change\n");
    undo();
    rmSync(path.join(user, "stacks/artifacts.lock.json"));
    commit(user, "three");
  });

  it("takes the newest release with its workflows, and says what that does to stacks", () => {
    assert.equal(fenestra(program, user, "update", "v9.9.9").status, 2);
    const said = inUser("update");
    assert.match(said, /^fenestra is at v9\.10\.0, and so are the workflows that are called\.\nshop: changes\n/);
    assert.match(said, /control-plane[\s\S]*is replaced/);
    assert.match(said, /git commit -m "Fenestra v9\.10\.0"/);
    const [older, newer] = ["v9.0.0", "v9.10.0"].map((tag) => git(program, "rev-parse", `${tag}^{commit}`));
    assert.ok(textOf(".github/workflows/deploy.yml").includes(`deploy.yml@${newer} # v9.10.0\n`));
    assert.deepEqual(git(user, "diff", "--name-only", "--staged").split("\n").length, 4);
    git(user, "commit", "--quiet", "--message", "four");
    // The workflow that is called must be of the commit that is pinned.
    for (const [sha, status] of [
      [newer, 0],
      ["", 0],
      [older, 1],
    ] as const) {
      assert.equal(
        spawnSync("fenestra/examples/ci/same-version.sh", {
          cwd: user,
          env: { ...env, PROGRAM: "fenestra", WORKFLOW_SHA: sha },
          encoding: "utf8",
        }).status,
        status,
        sha,
      );
    }
    // As a job of a pull request has it: the commit before, and only the newest of the submodule.
    const shallow = at("shallow");
    git(folder, "clone", "--quiet", "--depth", "2", `file://${user}`, shallow);
    git(shallow, "config", "submodule.fenestra.url", `file://${bare}`);
    git(shallow, "submodule", "--quiet", "update", "--init", "--depth", "1");
    link(path.join(shallow, "fenestra"));
    const again = fine(path.join(shallow, "fenestra"), shallow, "changes", "--since", "HEAD^1");
    assert.ok(said.includes(again), again);
  });

  it("tells a submodule that it does not pin, and another version's packages", () => {
    git(program, "checkout", "--quiet", "v9.0.0");
    assert.match(
      fenestra(program, user, "stacks").stderr,
      /^fenestra: fenestra is at \S+, and the repository pins \S+: git submodule update fenestra,/,
    );
    git(user, "submodule", "--quiet", "update");
    edit(path.join(program, "package-lock.json"), (text) =>
      text.replace(/("node_modules\/yaml": \{\s+"version": )"[^"]+"/, '$1"0.0.1"'),
    );
    const { status, stderr } = fenestra(program, user, "stacks");
    assert.equal(
      stderr,
      "fenestra: the packages in fenestra are those of another version (yaml): run npm ci --prefix fenestra\n",
    );
    assert.equal(status, 2);
  });
});
