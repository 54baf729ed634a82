import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import type { Server } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { main } from "../../cli/main.ts";

/** Exit code and output of the command, and what it wrote to in turn. */
export async function fenestra(...args: readonly string[]) {
  const [out, err, order]: [string[], string[], string[]] = [[], [], []];
  const code = await main(args, {
    out: (text) => order.push("out") && out.push(text),
    err: (text) => order.push("err") && err.push(text),
    progress: (doing) => order.push(doing === undefined ? "cleared" : "progress"),
  });
  return { code, out: out.join(""), err: err.join(""), order };
}

/** A folder that goes with the suite that makes it. */
export function suiteFolder() {
  const folder = mkdtempSync(path.join(tmpdir(), "fenestra-test-"));
  after(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** Has a server listen on a free port, which it returns. */
export async function listening(server: Server, host = "127.0.0.1") {
  await once(server.listen(0, host), "listening");
  const address = server.address();
  assert.ok(typeof address === "object" && address !== null);
  return address.port;
}
