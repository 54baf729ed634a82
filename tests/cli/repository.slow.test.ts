import assert from "node:assert/strict";
import { execFile, execFileSync, spawnSync } from "node:child_process";
import {
  appendFileSync,
  cpSync,
  existsSync,
  mkdirSync,
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
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { loadCiConfig } from "../../ci/config.ts";
import { artifactsVariable } from "../../components/model/artifacts.ts";
import { defaultRelease, minorOf } from "../../components/model/releases.ts";
import { goRun } from "../support/skip.ts";

const root = fileURLToPath(new URL("../../", import.meta.url));
const folder = realpathSync(mkdtempSync(path.join(tmpdir(), "fenestra-repository-")));
const [source, bare, user, clone] = ["source", "fenestra.git", "user", "clone"].map((name) => path.join(folder, name)) as [
  string,
  string,
  string,
  string,
];
const settings = {
  "protocol.file.allow": "always",
  "user.name": "t",
  "user.email": "t@example.com",
  "init.defaultBranch": "main",
  "advice.detachedHead": "false",
};
const env = {
  ...process.env,
  GIT_CONFIG_GLOBAL: "/dev/null",
  GIT_CONFIG_COUNT: String(Object.keys(settings).length),
  ...Object.fromEntries(
    Object.entries(settings).flatMap(([key, value], index) => [
      [`GIT_CONFIG_KEY_${index}`, key],
      [`GIT_CONFIG_VALUE_${index}`, value],
    ]),
  ),
};

function git(where: string, ...args: readonly string[]): string {
  return execFileSync("git", ["-C", where, ...args], { encoding: "utf8", env, stdio: ["ignore", "pipe", "pipe"] }).trim();
}

/** Runs the command of the program in a folder, from a folder. */
function fenestra(program: string, cwd: string, ...args: readonly string[]) {
  const { stdout, stderr, status } = spawnSync(process.execPath, [path.join(program, "cli/main.ts"), ...args], {
    cwd,
    env,
    encoding: "utf8",
  });
  return { out: stdout, err: stderr, code: status };
}

function fine(...args: Parameters<typeof fenestra>): string {
  const { out, err, code } = fenestra(...args);
  assert.equal(code, 0, `${err}${out}`);
  return out;
}

const link = (program: string) => symlinkSync(realpathSync(path.join(root, "node_modules")), path.join(program, "node_modules"));
const program = path.join(user, "fenestra");
const inUser = (...args: readonly string[]) => fine(program, user, ...args);
const textOf = (name: string) => readFileSync(path.join(user, name), "utf8");

/** A bare repository with two releases: in the second one a kernel setting of Linux machines is another. */
function makeReleases(): void {
  mkdirSync(source);
  const files = execFileSync("git", ["ls-files", "-z", "--cached", "--others", "--exclude-standard"], { cwd: root, encoding: "utf8" });
  for (const file of files.split("\0").filter((name) => name !== "" && existsSync(path.join(root, name))))
    cpSync(path.join(root, file), path.join(source, file));
  git(source, "init", "--quiet");
  const release = (version: string) => {
    for (const name of ["package.json", "package-lock.json"]) {
      const text = readFileSync(path.join(source, name), "utf8");
      writeFileSync(path.join(source, name), text.replace(/("name": "fenestra",\s+"version": )"[^"]+"/g, `$1"${version}"`));
    }
    git(source, "add", "--all");
    git(source, "commit", "--quiet", "--message", version);
    git(source, "tag", "--annotate", "--message", version, `v${version}`);
  };
  release("9.0.0");
  appendFileSync(path.join(source, "components/machine/linux/rootfs/etc/sysctl.d/90-fenestra.conf"), "\nvm.swappiness = 7\n");
  release("9.10.0");
  git(folder, "clone", "--quiet", "--bare", source, bare);
  // As GitHub does.
  git(bare, "config", "uploadpack.allowAnySHA1InWant", "true");
}

describe("a repository of one's own", function () {
  this.timeout(300_000);
  before(() => {
    makeReleases();
    git(folder, "init", "--quiet", user);
    git(user, "submodule", "--quiet", "add", bare, "fenestra");
    git(program, "checkout", "--quiet", "v9.0.0");
    link(program);
  });
  after(() => rmSync(folder, { recursive: true, force: true }));

  it("is nobody's stack files before it has a project file", () => {
    for (const args of [
      ["stacks"],
      ["stacks", "--deployable"],
      ["plan", "--stack", "aws-dev"],
      ["init", "--stack", "a"],
      ["pin", "--check"],
    ]) {
      const { out, err, code } = fenestra(program, user, ...args);
      assert.deepEqual([out, code], ["", 2], args.join(" "));
      assert.match(err, /^fenestra: no Pulumi\.yaml above \S+ has this program as its main; .* fenestra init --repository makes it\n$/);
    }
  });

  it("is made by one command, which leaves alone what is there", function () {
    writeFileSync(path.join(user, "README.md"), "mine\n");
    const said = inUser("init", "--repository", "--workflows", "o/fenestra");
    assert.match(said, /README\.md was there and is left as it is\n/);
    for (const line of said.split("\n").filter((each) => each.endsWith(" is made")))
      assert.ok(existsSync(path.join(user, line.split(" ")[0] ?? "")));
    const commit = git(program, "rev-parse", "HEAD");
    for (const name of ["preview", "preview-comment", "deploy", "drift"])
      assert.ok(textOf(`.github/workflows/${name}.yml`).includes(`uses: o/fenestra/.github/workflows/${name}.yml@${commit} # v9.0.0\n`));
    const workflows = ["preview", "preview-comment", "deploy", "drift"].map((name) => path.join(user, ".github/workflows", `${name}.yml`));
    const lint = goRun(this, "tools/readers", "github.com/rhysd/actionlint/cmd/actionlint", ["-no-color", ...workflows]);
    assert.equal(lint.status, 0, lint.stdout);
    const project = goRun(this, "tools/readers", "./pulumi", [user, "3.249.0"]);
    assert.equal(project.status, 0, project.stdout);
    assert.equal(textOf("README.md"), "mine\n");
  });

  it("has stacks of its own, whose files name schema and documents where they are, from any of its folders", () => {
    const options = ["--cloud", "aws", "--region", "eu-west-1", "--windows", "2022", "--account", "123456789012"];
    assert.match(inUser("init", "--stack", "shop", ...options), /^stacks\/Pulumi\.shop\.yaml is written\.\n/);
    const [, schema = ""] = /\$schema=(\S+)/.exec(textOf("stacks/Pulumi.shop.yaml")) ?? [];
    assert.ok(schema.startsWith("..") && existsSync(path.join(user, "stacks", schema)));
    assert.match(textOf("stacks/Pulumi.shop.yaml"), /: \.\.\/fenestra\/docs\/configuration\.md\n/);
    for (const cwd of [user, path.join(user, "ci"), folder]) assert.equal(fine(program, cwd, "stacks", "--deployable"), '["shop"]\n');
    assert.match(fine(program, path.join(user, "stacks"), "plan", "--stack", "shop"), /\bshop\b/);
    const inside = fenestra(program, program, "stacks", "--deployable");
    assert.match(inside.err, new RegExp(`^fenestra: these are the stack files of ${program} itself; for those of ${user} run it there\n`));
    const ci = { "fenestra-ci:repository": "o/r", "fenestra-ci:stacks": '["shop"]' };
    try {
      assert.equal(loadCiConfig(ci, path.join(user, "ci")).accountId, "123456789012");
    } finally {
      Reflect.deleteProperty(process.env, artifactsVariable);
    }
    git(user, "add", "--all");
    git(user, "commit", "--quiet", "--message", "one");
  });

  it("is compared with its own commits", () => {
    const file = path.join(user, "stacks/Pulumi.shop.yaml");
    const before = readFileSync(file, "utf8");
    writeFileSync(file, before.replace(/count: 2/, "count: 5"));
    assert.match(inUser("changes", "--since", "HEAD"), /^shop: changes\n[\s\S]*linux/);
    assert.match(inUser("plan", "--stack", "shop", "--diff", "HEAD"), /^(?![\s\S]*Nothing changes)[\s\S]*linux/);
    writeFileSync(file, before);
  });

  it("adds a Kubernetes release beside its stack files, not to the program", async () => {
    const release = `${minorOf(defaultRelease)}.99`;
    const server = createServer((_, response) => void response.end("a".repeat(64)));
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const address = server.address();
    assert.ok(typeof address === "object" && address !== null);
    const args = [path.join(program, "cli/main.ts"), "pin", release, "--via", `http://127.0.0.1:${address.port}`];
    await promisify(execFile)(process.execPath, args, { cwd: user, env });
    server.close();
    assert.equal(git(program, "status", "--porcelain"), "");
    const file = path.join(user, "stacks/Pulumi.shop.yaml");
    const before = readFileSync(file, "utf8");
    writeFileSync(file, `${before}  fenestra:kubernetes: { version: ${release} }\n`);
    assert.match(
      inUser("mirror", "--list", "--stack", "shop"),
      new RegExp(`${"a".repeat(64)}\\s+https://dl\\.k8s\\.io/release/v${release}/bin/linux/amd64/kubelet\n`),
    );
    git(user, "add", "--all");
    git(user, "commit", "--quiet", "--message", "two");
    assert.equal(inUser("changes", "--since", "HEAD"), "shop: no change\n");
    writeFileSync(file, before);
    rmSync(path.join(user, "stacks/artifacts.lock.json"));
    assert.match(inUser("changes", "--since", "HEAD"), /^shop: changes\n/);
    git(user, "commit", "--quiet", "--all", "--message", "three");
  });

  it("takes the newest release with its workflows, and says what that does to each stack", () => {
    assert.equal(fenestra(program, user, "update", "v9.9.9").code, 2);
    const said = inUser("update");
    assert.match(said, /^fenestra is at v9\.10\.0, and so are the workflows that are called\.\nshop: changes\n/);
    assert.match(said, /control-plane[\s\S]*is replaced/);
    assert.match(said, /git commit -m "Fenestra v9\.10\.0"/);
    const commit = git(program, "rev-parse", "v9.10.0^{commit}");
    assert.ok(textOf(".github/workflows/deploy.yml").includes(`deploy.yml@${commit} # v9.10.0\n`));
    assert.deepEqual(git(user, "diff", "--name-only", "--staged").split("\n").length, 5);
    git(user, "commit", "--quiet", "--message", "four");
    // The workflow that is called must be of the commit that is pinned.
    for (const [sha, status] of [
      [commit, 0],
      ["", 0],
      [git(program, "rev-parse", "v9.0.0^{commit}"), 1],
    ] as const) {
      const step = { cwd: user, env: { ...env, PROGRAM: "fenestra", WORKFLOW_SHA: sha }, encoding: "utf8" } as const;
      assert.equal(spawnSync("fenestra/ci/same-version.sh", step).status, status, sha);
    }
    // As a job of a pull request has it: the commit before, and only the newest of the submodule.
    const shallow = path.join(folder, "shallow");
    git(folder, "clone", "--quiet", "--depth", "2", `file://${user}`, shallow);
    git(shallow, "config", "submodule.fenestra.url", `file://${bare}`);
    git(shallow, "submodule", "--quiet", "update", "--init", "--depth", "1");
    link(path.join(shallow, "fenestra"));
    const again = fine(path.join(shallow, "fenestra"), shallow, "changes", "--since", "HEAD^1");
    assert.ok(said.includes(again), again);
  });

  it("tells a submodule that is not the one it pins, and packages of another version", () => {
    git(program, "checkout", "--quiet", "v9.0.0");
    assert.match(
      fenestra(program, user, "stacks").err,
      /^fenestra: fenestra is at \S+, and the repository pins \S+: git submodule update fenestra,/,
    );
    git(user, "submodule", "--quiet", "update");
    const lock = path.join(program, "package-lock.json");
    const text = readFileSync(lock, "utf8");
    writeFileSync(lock, text.replace(/("node_modules\/yaml": \{\s+"version": )"[^"]+"/, '$1"0.0.1"'));
    const { code, err } = fenestra(program, user, "stacks");
    assert.deepEqual([code, err], [2, "fenestra: the packages in fenestra are those of another version: run npm ci --prefix fenestra\n"]);
    writeFileSync(lock, text);
  });

  it("is made of a clone, whose stacks do not change by it", () => {
    git(folder, "clone", "--quiet", bare, clone);
    git(clone, "reset", "--quiet", "--hard", "v9.0.0");
    link(clone);
    fine(clone, clone, "init", "--stack", "mine", "--cloud", "azure");
    const edited = path.join(clone, "index.ts");
    appendFileSync(edited, "// mine\n");
    git(clone, "add", "--all");
    git(clone, "commit", "--quiet", "--message", "mine");
    const convert = () => fenestra(clone, clone, "init", "--from-clone", bare, "--workflows", "o/fenestra");
    assert.match(convert().err, /^fenestra: --from-clone: the program itself was edited: index\.ts; allowed: /);
    git(clone, "checkout", "--quiet", "v9.0.0", "--", "index.ts");
    git(clone, "commit", "--quiet", "--message", "not mine");
    const { code, out, err } = convert();
    assert.equal(code, 0, err);
    assert.match(out, /^\d{3,} files of the program are gone; fenestra has them, at [0-9a-f]{40}\n/);
    git(clone, "commit", "--quiet", "--message", "convert");
    assert.deepEqual(git(clone, "ls-files", "stacks").split("\n"), ["stacks/Pulumi.mine.yaml"]);
    assert.match(fine(path.join(clone, "fenestra"), clone, "changes", "--since", "HEAD^1"), /^mine: no change$/m);
  });
});
