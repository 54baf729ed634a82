// Sees what nothing faster does: bash itself, shellcheck, and that a machine fetches its own scripts, whole ones alone.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { isFetched, type ScriptsObject, scriptsObject } from "../../../components/machine/bundle.ts";
import { withFetchedScripts } from "../../../components/machine/linux/cloudConfig.ts";
import { shellQuote } from "../../../components/machine/linux/rootfs.ts";
import { readScript } from "../../../components/machine/script.ts";
import { commandFolder } from "../../../rehearsal/host/rootScripts.ts";
import { skipIf } from "../../support/skip.ts";
import { exampleControlPlane, scriptsBucket } from "../examples.ts";
import { describeOnMachine, entry, machine, type Run, type Sandbox, spec } from "./machine.ts";

const linux = path.join(import.meta.dirname, "../../../components/machine/linux/scripts");

/** What bash prints for a script; the locale is plain, so that bytes stay bytes. */
function bash(script: string, input = ""): { code: number | null; output: string } {
  const { status, stdout } = spawnSync("bash", ["-c", script], {
    input,
    encoding: "utf8",
    env: { PATH: process.env.PATH ?? "", LC_ALL: "C.UTF-8" },
  });
  return { code: status, output: stdout };
}

describe("shell words", () => {
  it("come back from bash as they were", () => {
    const words = ["", "it's", "a b\t\n", '"$(x)` \\', "-n", "grüße ☃", "\u0001*?[~"];
    assert.deepEqual(
      bash(`printf '%s\\0' ${words.map(shellQuote).join(" ")}`)
        .output.split("\0")
        .slice(0, -1),
      words,
    );
  });
});

describe("scripts as the machine gets them", () => {
  const scripts = readdirSync(linux, { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".sh"))
    .map((name) => new URL(name, pathToFileURL(`${linux}/`)));
  /** How bash itself writes down what it has read, which is without comments. */
  const read = (texts: readonly string[]) => {
    const { code, output } = bash(`${texts.map((text, at) => `script${at}() {\n${text}\n}\n`).join("")}declare -f`);
    assert.equal(code, 0);
    return output;
  };

  it("are to bash what is written, without comments", () => {
    const given = scripts.map(readScript);
    assert.equal(read(given), read(scripts.map((url) => readFileSync(url, "utf8"))));
    for (const script of given) {
      assert.match(script, /^#!\/usr\/bin\/env bash\n/);
      const [, ...lines] = script.trimEnd().split("\n");
      assert.deepEqual(
        lines.filter((line) => /^\s*(#|$)/.test(line)),
        [],
      );
    }
  });
});

describe("shell scripts", () => {
  it("are without a finding of shellcheck", function () {
    // Thirty seconds on a machine with nothing else to do.
    this.timeout(300_000);
    const installed = spawnSync("shellcheck", ["--version"]).status === 0;
    skipIf(this, installed ? undefined : "shellcheck is missing: apt-get install shellcheck");
    const root = path.join(import.meta.dirname, "../../..");
    const files = readdirSync(path.join(root, "components"), { recursive: true, encoding: "utf8" })
      .filter((name) => name.endsWith(".sh"))
      .map((name) => path.join("components", name));
    const fakes = ["call", ...readdirSync(path.join(import.meta.dirname, "fakes/bin")).map((name) => `bin/${name}`)];
    const { status, stdout } = spawnSync(
      "shellcheck",
      [
        "--external-sources",
        "--source-path=SCRIPTDIR",
        ...files,
        ".ci/run",
        "examples/ci/same-version.sh",
        "cli/fenestra",
        "cli/with-node",
        "tests/prepare",
        ...fakes.map((name) => path.join(import.meta.dirname, "fakes", name)),
      ],
      { cwd: root, encoding: "utf8" },
    );
    assert.equal(status, 0, stdout);
  });
});

describe("JSON in bash", () => {
  // Only the functions: sourcing the library needs a machine.
  const library = readFileSync(path.join(linux, "lib.sh"), "utf8");
  const functions = ["json_text", "json_quote"]
    .map((name) => new RegExp(`^${name}\\(\\) \\{[\\s\\S]*?^\\}`, "m").exec(library)?.[0] ?? "")
    .join("\n");
  const odd = 'abcXYZ019 {}[]:,"\\/\n\t\'-_+=&$`\\n\\"';

  it("reads the strings that JSON.stringify writes", () => {
    for (const space of [undefined, 2])
      for (const value of [odd, "", '":{', '\\"Value":"x']) {
        assert.equal(
          bash(
            `${functions}\njson_text Value; printf .`,
            JSON.stringify({ first: 1, Other: odd.replaceAll('"', ""), Value: value }, undefined, space),
          ).output,
          `${value}.`,
        );
      }
  });
  it("writes lines of text as JSON.parse reads them", () => {
    assert.equal(JSON.parse(bash(`${functions}\njson_quote`, `${odd}\n`).output), `${odd}\n`);
  });
  it("decodes escapes of ASCII and fails on a missing key", () => {
    assert.equal(bash(`${functions}\njson_text a`, '{"a":"\\u0041\\/\\u003c"}').output, "A/<");
    assert.equal(bash(`${functions}\njson_text b`, '{"a":"x"}').code, 1);
    assert.equal(bash(`${functions}\njson_text a`, '{"a":"unfinished').code, 1);
  });
});

const payload = exampleControlPlane(spec);
const object = scriptsObject(payload);
const identityStage = "/opt/fenestra/stages/identity.sh";

/** Puts an object into the bucket, with other bytes than its own when they are given. */
function store(here: Sandbox, { key, content: text }: ScriptsObject, content?: Buffer) {
  here.artifact(path.basename(key), content ?? Buffer.from(text));
}

/** A machine that has nothing but its user data, and the bucket with its scripts. */
function fetching(content?: Buffer) {
  const here = machine(withFetchedScripts(payload, object, scriptsBucket));
  store(here, object, content);
  return here;
}

const requests = ({ matching }: Run) => matching(/s3\..*\.json( |$)/);

describeOnMachine("fetching scripts from the bucket on AWS", () => {
  it("brings a control-plane machine up from its user data, and is done once", () => {
    const here = fetching();
    assert.equal(here.has(identityStage), false);
    const first = here.runOrFail(entry);
    const { output, calls } = first;
    assert.match(
      output,
      /bootstrap scripts: begins\n[\s\S]*bootstrap scripts: done[\s\S]*bootstrap identity: begins\n/,
    );
    for (const file of payload.files.filter(isFetched)) assert.equal(here.read(file.path), file.content, file.path);
    assert.deepEqual(
      here.list("/opt/fenestra").filter((name) => name.endsWith(".new")),
      [],
    );
    const [request, ...more] = requests(first);
    assert.deepEqual(more, []);
    assert.match(request ?? "", /--aws-sigv4 aws:amz:eu-central-1:s3 /);
    assert.ok(request?.endsWith(` https://${scriptsBucket}.s3.eu-central-1.amazonaws.com/${object.key}`), request);
    assert.equal(`${output}${calls.join("\n")}`.includes("SECRETKEY"), false);
    // What services start comes from the object too.
    here.runOrFail("test", "-x", "/opt/fenestra/node-controller-identity.sh");

    const again = here.runOrFail(entry);
    assert.match(again.output, /bootstrap scripts: already done/);
    assert.deepEqual(requests(again), []);
  });

  it("unpacks nothing of an object of another content, and ends with 16", () => {
    const here = fetching(Buffer.from("something else"));
    assert.equal(
      requests(
        here.fails(16, new RegExp(`error: ${object.key} from ${scriptsBucket} has the SHA-256 [0-9a-f]{64}\n`), entry),
      ).length,
      2,
    );
    assert.equal(here.has(identityStage), false);
  });

  it("survives being cut off while it fetches and while it unpacks", () => {
    const here = fetching();
    here.breaks("cut", "^curl.*s3.*\\.json$");
    assert.equal(here.run(entry).code, 137);
    here.writeScript(`${commandFolder}/python3`, `#!/bin/bash\necho half >${identityStage}.new\nkill -KILL 0\n`);
    const cut = here.run(entry);
    assert.equal(cut.code, 137, cut.output);
    assert.equal(here.has(identityStage), false);
    here.remove(`${commandFolder}/python3`);
    here.runOrFail(entry);
    assert.deepEqual(
      here.list("/opt/fenestra/stages").filter((name) => name.endsWith(".new")),
      [],
    );
  });

  it("fetches again for another object", () => {
    const here = fetching();
    here.runOrFail(entry);
    const changed = {
      ...payload,
      files: payload.files.map((file) =>
        file.path.endsWith("/renew-certificates.sh") ? { ...file, content: `${file.content}true\n` } : file,
      ),
    };
    const other = scriptsObject(changed);
    here.install(withFetchedScripts(changed, other, scriptsBucket));
    store(here, other);
    here.runOrFail(entry);
    assert.match(here.read("/opt/fenestra/renew-certificates.sh"), /\ntrue\n$/);
  });
});
