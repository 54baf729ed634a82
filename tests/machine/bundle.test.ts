import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { writeFileSync } from "node:fs";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { gunzipSync } from "node:zlib";
import { gzip } from "../../components/machine/bundle.ts";
import { readScript } from "../../components/machine/script.ts";
import { suiteFolder } from "../support/temporary.ts";

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

describe("reading a script", () => {
  const folder = suiteFolder();
  const read = (name: string, text: string): string => {
    writeFileSync(path.join(folder, name), text);
    return readScript(pathToFileURL(path.join(folder, name)));
  };

  it("leaves nothing of what only people read, so that an edit of a comment replaces no machine", () => {
    const bash = read("a.sh", "#!/usr/bin/env bash\n# Why.\n\nif true; then\n  # because\n  echo '#' # in short\nfi\n");
    assert.equal(bash, "#!/usr/bin/env bash\nif true; then\n  echo '#' # in short\nfi\n");
    assert.equal(read("a.sh", "#!/usr/bin/env bash\n# Wherefore.\nif true; then\n\n  echo '#' # in short\nfi\n"), bash);
    const powershell = read("a.ps1", "# Why.\n\nif ($a) {\n    # more\n    b '#'\n}\n");
    assert.equal(powershell, "if ($a) {\nb '#'\n}\n");
  });
});
