import assert from "node:assert/strict";
import { gzipSync } from "node:zlib";
import fc from "fast-check";
import { scriptsObject } from "../../components/machine/bundle.ts";
import { packLinux } from "../../components/machine/linux/cloudConfig.ts";
import { packWindowsAws, packWindowsAzure } from "../../components/machine/windows/userData.ts";
import { decodeLinux, decodeUserData, decodeWindows, fileContent, UserDataError } from "../../plan/decode/userData.ts";

const unit = "[Service]\nExecStart=/opt/fenestra/run.sh now\n";
const config = [
  "#cloud-config",
  "write_files:",
  "  - path: /opt/fenestra/run.sh",
  '    permissions: "0755"',
  "    content: |",
  "      #!/bin/sh",
  "      echo hello",
  "  - path: /etc/plain",
  "    content: plain text",
  "runcmd:",
  "  - [sh, /opt/fenestra/run.sh]",
  "",
].join("\n");

describe("user data of a Linux machine", () => {
  it("is read with its files, modes, commands and entry", () => {
    const { source, ...decoded } = decodeLinux(gzipSync(config));
    assert.equal(source, config);
    assert.deepEqual(decoded, {
      system: "linux",
      files: [
        { path: "/opt/fenestra/run.sh", content: "#!/bin/sh\necho hello\n", mode: "0755" },
        { path: "/etc/plain", content: "plain text", mode: undefined },
      ],
      fetched: [],
      entry: "/opt/fenestra/run.sh",
      commands: [["sh", "/opt/fenestra/run.sh"]],
    });
  });

  it("may be plain as well", () => assert.deepEqual(decodeLinux(Buffer.from(config)).files.length, 2));

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

  const broken: readonly (readonly [why: string, userData: Buffer, message: RegExp])[] = [
    ["damaged gzip", gzipSync(config).subarray(0, 40), /its gzip is damaged/],
    [
      "another first line",
      Buffer.from(config.replace("#cloud-config", "#!/bin/sh")),
      /its first line is not #cloud-config/,
    ],
    ["broken YAML", Buffer.from("#cloud-config\nwrite_files: [\n"), /the user data is not what a machine can read/],
    [
      "a key of a file that is never written",
      Buffer.from(config.replace("permissions", "encoding")),
      /Unrecognized key: "encoding"/,
    ],
    ["an unquoted mode", Buffer.from(config.replace('"0755"', "0755")), /permissions/],
    ["no started file", Buffer.from(config.replace("- [sh, /opt/fenestra/run.sh]", "- [true]")), /user data is not/],
  ];
  for (const [why, userData, message] of broken)
    it(`is refused: ${why}`, () => {
      assert.throws(
        () => decodeLinux(userData),
        (error) => {
          assert.ok(error instanceof UserDataError);
          assert.match(error.message, message);
          return true;
        },
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
  const object = scriptsObject(payload);
  const objects = (bucket: string, key: string): Buffer | undefined =>
    bucket === "scripts" && key === object.key ? Buffer.from(object.content) : undefined;
  const packed = packWindowsAws(payload, object, "scripts");

  it("is what packWindowsAws packs, with the object that it names", () => {
    const decoded = decodeUserData(Buffer.from(packed), objects);
    assert.equal(decoded.system, "windows");
    assert.equal(decoded.entry, "C:\\fenestra\\bootstrap.ps1");
    assert.deepEqual(decoded.commands, [["C:\\fenestra\\fetch.ps1"]]);
    for (const { path, content } of payload.files) assert.equal(fileContent(decoded, path), content);
    assert.equal(decoded.files.length, payload.files.length + 1);
    assert.throws(() => fileContent(decoded, "C:\\none"), /it has no file C:\\none/);
  });

  it("is what packWindowsAzure packs", () => {
    const decoded = decodeWindows(Buffer.from(packWindowsAzure(payload), "base64"));
    assert.equal(fileContent(decoded, "C:\\fenestra\\notes.txt"), "grüße\n");
    assert.deepEqual(decoded.commands, [["C:\\fenestra\\bootstrap.ps1"]]);
  });

  it("is refused when the object is missing or another", () => {
    const userData = Buffer.from(packed);
    assert.throws(() => decodeWindows(userData), /the object windows\/[0-9a-f]{64}\.json is not in the bucket scripts/);
    assert.throws(() => decodeWindows(userData, () => Buffer.from("{}")), /has the digest [0-9a-f]{64} in place of/);
  });

  const archive = /'([A-Za-z0-9+/=]{40,})'/.exec(packed)?.[1] ?? "";
  const withArchive = (content: unknown): string =>
    packed.replace(archive, gzipSync(JSON.stringify(content)).toString("base64"));
  const broken: readonly (readonly [why: string, userData: string, message: RegExp])[] = [
    ["no archive", "<powershell>\nWrite-Output 1\n</powershell>\n", /holds no archive/],
    ["a damaged archive", packed.replace(archive, archive.slice(0, 60)), /its archive is damaged/],
    [
      "an entry that is no file",
      withArchive({ entry: "C:\\x.ps1", files: {} }),
      /the entry C:\\x\.ps1 is not one of its files/,
    ],
    ["another form", withArchive({ files: [] }), /the user data is not what a machine can read/],
  ];
  for (const [why, userData, message] of broken)
    it(`is refused: ${why}`, () => assert.throws(() => decodeWindows(Buffer.from(userData), objects), message));
});
