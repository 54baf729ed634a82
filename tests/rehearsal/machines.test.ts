import assert from "node:assert/strict";
import {
  commandLine,
  parseEnvironmentFile,
  parseUnit,
  setting,
  settings,
  splitWords,
  timeSpanSeconds,
} from "../../rehearsal/machines/units.ts";
import { onLinux } from "../../rehearsal/machines/windowsKubelet.ts";

describe("a systemd unit", () => {
  const main = `# comment
; comment too
[Unit]
Description=Fetches = and keeps equals signs

[Service]
Type=oneshot
ExecStart=/opt/a.sh --one \\
  --two
ExecStart=/opt/b.sh
Environment=A=1
`;

  it("is read by section and key, several values in order", () => {
    const unit = parseUnit([main]);
    assert.equal(setting(unit, "Unit", "Description"), "Fetches = and keeps equals signs");
    assert.deepEqual(settings(unit, "Service", "ExecStart"), ["/opt/a.sh --one    --two", "/opt/b.sh"]);
    assert.equal(setting(unit, "Service", "ExecStart"), "/opt/b.sh");
    assert.deepEqual(settings(unit, "Service", "Restart"), []);
    assert.equal(setting(unit, "Install", "WantedBy"), undefined);
  });

  it("is added to by a drop-in, which clears a list by an empty value", () => {
    const added = parseUnit([main, "[Service]\nExecStart=/opt/c.sh\n"]);
    assert.deepEqual(settings(added, "Service", "ExecStart").slice(1), ["/opt/b.sh", "/opt/c.sh"]);
    const replaced = parseUnit([main, "[Service]\nExecStart=\nExecStart=/opt/c.sh\n"]);
    assert.deepEqual(settings(replaced, "Service", "ExecStart"), ["/opt/c.sh"]);
    assert.equal(setting(replaced, "Service", "Type"), "oneshot");
  });
});

describe("a command line of systemd", () => {
  const braced = (name: string) => `$\{${name}}`;

  it("is split at blanks outside of quotes", () => {
    assert.deepEqual(splitWords(`a  "b c" 'd "e"' f"g h"i "x\\"y"`), ["a", "b c", 'd "e"', "fg hi", 'x"y']);
    assert.deepEqual(splitWords(""), []);
  });

  it("gets its variables: a word of its own is split, one in braces is not", () => {
    const environment = { ARGS: "--a --b", PATHS: "/x y" };
    assert.deepEqual(
      commandLine(`-+/usr/bin/kubelet $ARGS --c=${braced("PATHS")} $NONE ${braced("NONE")}`, environment),
      ["/usr/bin/kubelet", "--a", "--b", "--c=/x y", ""],
    );
  });
});

describe("an environment file", () => {
  it("gives variables without their quotes; other lines are passed by", () => {
    const text = `# comment\nA=1\n  export B='two words'\nC="a \\"b\\""\nnot a line\nD=\n`;
    assert.deepEqual(parseEnvironmentFile(text), { A: "1", B: "two words", C: 'a "b"', D: "" });
  });
});

describe("a time span", () => {
  it("is so many seconds", () => {
    const seconds = ["90", "5s", "100ms", "1h 30min", "1h30m", "2d", "1w", "1.5h"].map(timeSpanSeconds);
    assert.deepEqual(seconds, [90, 5, 0.1, 5400, 5400, 172_800, 604_800, 5400]);
  });

  it("in another unit is refused", () =>
    assert.throws(() => timeSpanSeconds("3 fortnights"), /3 fortnights is not a time span/));
});

describe("files of a Windows machine for the Linux build of the kubelet", () => {
  it("name its paths, in whatever notation", () => {
    const found = ["a: C:\\etc\\kubernetes\\pki\\ca.crt", '"C:\\\\var\\\\lib"', "--config=C:/etc/a.yaml,b"].map(
      onLinux,
    );
    assert.deepEqual(found, ["a: /etc/kubernetes/pki/ca.crt", '"/var/lib"', "--config=/etc/a.yaml,b"]);
  });

  it("keep what is no path", () => {
    const text = "npipe:////./pipe/containerd-containerd arc: x";
    assert.equal(onLinux(text), text);
  });
});
