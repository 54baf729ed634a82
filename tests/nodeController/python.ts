import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { text } from "node:stream/consumers";

const start = `import sys, unittest; sys.path.insert(0, "."); unittest.main(None, argv=["tests", "--failfast", *sys.argv[1:]])`;

/**
 * Runs Python's tests of these names as the program runs, isolated and with the standard library alone, and asserts that
 * they pass.
 *
 * @param env such as `PROGRAM`, a folder in place of the controller's
 */
export async function pythonTests(names: readonly string[], env: Readonly<Record<string, string>> = {}) {
  const run = spawn("python3", ["-I", "-S", "-B", "-c", start, ...names], {
    cwd: import.meta.dirname,
    env: { PATH: process.env.PATH, ...env },
  });
  const [output, code] = await Promise.all([
    text(run.stderr),
    new Promise<number | null>((resolve) => run.on("close", resolve)),
  ]);
  assert.equal(code, 0, output);
  assert.match(output, /^Ran [1-9]\d* tests? in .*\n\nOK\n$/m, output);
}
