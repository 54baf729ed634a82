import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { gunzipSync } from "node:zlib";
import { gzip } from "../../components/machine/bundle.ts";

describe("packing of user data", () => {
  it("gives these very bytes, whatever Node runs it: other ones replace machines", () => {
    const text = Array.from({ length: 2000 }, (_, line) => `${line} ${(line * line) % 97} grüße\n`).join("");
    const packed = Buffer.from(gzip(text), "base64");
    assert.equal(gunzipSync(packed).toString("utf8"), text);
    // RFC 1952: no flags, no time, and a system that does not depend on the one that packs.
    assert.equal(packed.subarray(0, 10).toString("hex"), "1f8b0800000000000203");
    assert.deepEqual(
      [packed.length, createHash("sha256").update(packed).digest("hex")],
      [6820, "6c75a0366da825f04dc45a1f32cf8678617318d2dd122d9a2d564dfb7c30e474"],
    );
  });
});
