import assert from "node:assert/strict";
import fc from "fast-check";
import { packLinux } from "../../components/machine/linux/cloudConfig.ts";
import { packWindowsAzure } from "../../components/machine/windows/userData.ts";
import { decodeUserData, decodeWindows, fileContent } from "../../plan/decode/userData.ts";

const unit = "[Service]\nExecStart=/opt/fenestra/run.sh now\n";

describe("user data of a Linux machine", () => {
  it("is what packLinux packs, for any files", () => {
    const text = fc.string({ unit: "grapheme-ascii" });
    fc.assert(
      fc.property(fc.array(text, { maxLength: 5 }), (contents) => {
        const files = [
          { path: "/opt/fenestra/run.sh", content: "#!/bin/sh\ntrue\n", mode: "0755" },
          { path: "/etc/systemd/system/fenestra-bootstrap.service", content: unit, mode: "0644" },
          ...contents.map((content, index) => ({ path: `/etc/file${index}`, content, mode: "0600" })),
        ];
        const packed = packLinux({ kind: "linux", files, entry: "/opt/fenestra/run.sh" });
        const decoded = decodeUserData(Buffer.from(packed, "base64"));
        assert.deepEqual(decoded.files, files);
        assert.equal(decoded.entry, "/opt/fenestra/run.sh");
        assert.equal(decoded.system, "linux");
      }),
    );
  });
});

describe("user data of a Windows machine", () => {
  const first = ["fetch", "lib", "sigv4", "identity"].map((name) => ({
    path: `C:\\fenestra\\${name}.ps1`,
    content: `Write-Output '${name}'\n`,
  }));
  const rest = [
    { path: "C:\\fenestra\\bootstrap.ps1", content: "Write-Output 'a'\n" },
    { path: "C:\\fenestra\\notes.txt", content: "grüße\n" },
  ];
  const payload = { kind: "windows", files: [...first, ...rest], entry: "C:\\fenestra\\bootstrap.ps1" } as const;

  it("is what packWindowsAzure packs", () => {
    const decoded = decodeWindows(Buffer.from(packWindowsAzure(payload), "base64"));
    assert.equal(fileContent(decoded, "C:\\fenestra\\notes.txt"), "grüße\n");
    assert.deepEqual(decoded.commands, [["C:\\fenestra\\bootstrap.ps1"]]);
  });
});
