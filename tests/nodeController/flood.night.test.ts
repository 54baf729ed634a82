import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import path from "node:path";
import { promisify } from "node:util";
import type { ApiServer } from "../support/apiServer.ts";
import { administrator, boundedApiServer } from "./python.ts";

const count = Number(process.env.FLOOD ?? 10_000);
/** Seconds that an honest request may wait beside another worker's, and each of 1,000 machines that join; MiB. */
const limits = { wait: 2, join: 60, mib: 128 } as const;

for (const kind of ["stranger", "first", "renewal", "serving"])
  describe(`a flood of ${count} requests for certificates of the kind ${kind}`, function () {
    this.timeout(1_800_000);
    let server: ApiServer;
    // Deleting so many would take twenty minutes.
    before(async function () {
      server = await boundedApiServer(this);
    });

    it("keeps no other machine waiting", async () => {
      const env = { ...process.env, ...(await administrator(server)), KIND: kind, COUNT: String(count) };
      const script = path.join(import.meta.dirname, "live_flood.py");
      const { stdout } = await promisify(execFile)("python3", ["-S", "-B", script], { env });
      console.log(`      ${stdout.trim()}`);
      const found: Readonly<Record<string, number>> = JSON.parse(stdout.trim().split("\n").at(-1) ?? "{}");
      const { decided = 1000, joined = 0, first = 0, renewal = 0, mib = Number.NaN } = found;
      assert.equal(decided, 1000, "a hostile one was decided, or an honest one was not");
      assert.ok(joined <= limits.join && Math.max(first, renewal) <= limits.wait && mib <= limits.mib, stdout);
    });
  });
