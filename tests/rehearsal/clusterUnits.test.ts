import assert from "node:assert/strict";
import fc from "fast-check";
import {
  commandLine,
  parseEnvironmentFile,
  parseUnit,
  setting,
  settings,
  splitWords,
  timeSpanSeconds,
} from "../../rehearsal/machines/units.ts";

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

  it("gives back every setting that was written, in any number", () => {
    const name = fc.stringMatching(/^[A-Z][A-Za-z]{0,8}$/);
    const value = fc.stringMatching(/^[a-z0-9/=.-]{1,12}$/);
    fc.assert(
      fc.property(fc.dictionary(name, fc.array(value, { minLength: 1, maxLength: 3 })), (wanted) => {
        const lines = Object.entries(wanted).flatMap(([key, values]) => values.map((item) => `${key}=${item}`));
        const unit = parseUnit([`[Service]\n${lines.join("\n")}\n`]);
        for (const [key, values] of Object.entries(wanted)) assert.deepEqual(settings(unit, "Service", key), values);
      }),
    );
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
    assert.deepEqual(commandLine(`/usr/bin/kubelet $ARGS --c=${braced("PATHS")} $NONE ${braced("NONE")}`, environment), [
      "/usr/bin/kubelet",
      "--a",
      "--b",
      "--c=/x y",
      "",
    ]);
  });

  it("loses the marks before its program", () => {
    for (const mark of ["-", "@", "+", "!", "!!", "-+"]) {
      assert.deepEqual(commandLine(`${mark}/bin/true --x`, {}), ["/bin/true", "--x"]);
    }
  });

  it("keeps words without blanks, quotes and dollars as they are", () => {
    const word = fc.stringMatching(/^[a-z0-9/.=,:-]{1,12}$/).filter((text) => !/^[-@+!:|]/.test(text));
    fc.assert(
      fc.property(fc.array(word, { minLength: 1 }), (words) => {
        assert.deepEqual(commandLine(words.join(" "), {}), words);
      }),
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
  const spans: readonly (readonly [text: string, seconds: number])[] = [
    ["90", 90],
    ["5s", 5],
    ["100ms", 0.1],
    ["1h 30min", 5400],
    ["1h30m", 5400],
    ["2d", 172_800],
    ["1w", 604_800],
    ["1.5h", 5400],
  ];
  for (const [text, seconds] of spans) {
    it(`${text} is ${seconds} s`, () => assert.equal(timeSpanSeconds(text), seconds));
  }

  it("in another unit is refused", () => {
    assert.throws(() => timeSpanSeconds("3 fortnights"), /3 fortnights is not a time span/);
  });
});
