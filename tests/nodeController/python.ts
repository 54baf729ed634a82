import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import path from "node:path";
import { text } from "node:stream/consumers";
import type { Context } from "mocha";
import { type ApiServer, startApiServer } from "../support/apiServer.ts";

const folder = import.meta.dirname;
const start = `import sys, unittest; sys.path.insert(0, "."); unittest.main(None, argv=["tests", "--failfast", *sys.argv[1:]])`;

/**
 * Runs Python's tests of these files as the program runs: isolated, with the standard library alone.
 *
 * @param env such as `PROGRAM`, a folder in place of the controller's
 */
export async function pythonTests(files: readonly string[], env: Readonly<Record<string, string>> = {}) {
  const names = files.map((name) => name.replace(/\.py$/, ""));
  const run = spawn("python3", ["-I", "-S", "-B", "-c", start, ...names], {
    cwd: folder,
    env: { PATH: process.env.PATH, ...env },
  });
  const [output, code] = await Promise.all([
    text(run.stderr),
    new Promise<number | null>((resolve) => run.on("close", resolve)),
  ]);
  return { code, output };
}

/** A test's API server and its administrator's token, as the Python programs take them. */
export async function administrator({
  kubectl,
}: ApiServer): Promise<{ readonly ORIGIN: string; readonly TOKEN: string }> {
  const view: {
    readonly clusters: readonly [{ readonly cluster: { readonly server: string } }];
    readonly users: readonly [{ readonly user: { readonly token: string } }];
  } = JSON.parse((await kubectl(["config", "view", "--raw", "--output", "json"])).stdout);
  return { ORIGIN: view.clusters[0].cluster.server, TOKEN: view.users[0].user.token };
}

/** An API server with what machines apply to bound workers. `suite` is `this` of a `before` hook. */
export async function boundedApiServer(suite: Context): Promise<ApiServer> {
  const server = await startApiServer(suite);
  const bindings = path.join(folder, "../../components/machine/linux/rootfs/etc/fenestra/bindings.yaml");
  const { code, stderr } = await server.kubectl(["apply", "--server-side", "--filename", bindings]);
  assert.equal(code, 0, stderr);
  return server;
}
