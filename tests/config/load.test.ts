import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { loadConfig } from "../../components/config/load.ts";
import { readProjectFile, readStackFile, transformsVariable } from "../../components/config/stackFile.ts";
import { artifactsVariable, readArtifactLock } from "../../components/model/artifacts.ts";
import { ConfigError } from "../../components/model/problem.ts";
import { registerTransforms } from "../../stacks/userTransforms.ts";
import { suiteFolder } from "../support/suite.ts";

const texts = {
  "fenestra:cloud": "azure",
  "fenestra:name": "test",
  "fenestra:region": "westeurope",
  "fenestra:network": '{"zones":["1"]}',
  "fenestra:pools": '[{"name":"linux","os":"linux"}]',
} as const;

function problemsOf(run: () => unknown): readonly (readonly [path: string, value: unknown, message: string])[] {
  try {
    run();
  } catch (error) {
    assert.ok(error instanceof ConfigError, String(error));
    return error.problems.map(({ path: at, value, message }) => [at, value, message]);
  }
  return [];
}

describe("loading a stack's config", () => {
  it("takes scalars as they are written and structured values as JSON", () => {
    const config = loadConfig({
      ...texts,
      "fenestra:accountId": "01234567-89ab-cdef-0123-456789abcdef",
      "fenestra:controlPlane": '{"replicas":3}',
      "fenestra:tags": '{"on":"1"}',
    });
    assert.equal(config.accountId, "01234567-89ab-cdef-0123-456789abcdef");
    assert.equal(config.controlPlane.replicas, 3);
    assert.deepEqual(config.tags, { on: "1" });
    assert.deepEqual(config.network, { cidr: "10.0.0.0/16", zones: ["1"], nat: "single", natAddresses: 1 });
  });

  it("keeps a text that looks like a number or like JSON a text", () => {
    assert.equal(
      loadConfig({
        ...texts,
        "fenestra:cloud": "aws",
        "fenestra:region": "eu-central-1",
        "fenestra:network": '{"zones":["eu-central-1a"]}',
        "fenestra:accountId": "012345678901",
      }).accountId,
      "012345678901",
    );
    assert.deepEqual(
      problemsOf(() => loadConfig({ ...texts, "fenestra:name": "[1]" })),
      [["config.fenestra:name", "[1]", "is not a lower-case name"]],
    );
  });

  it("leaves keys of other namespaces to others", () => {
    assert.equal(loadConfig({ ...texts, "aws:region": "x", "pulumi:tags": "{", "shop:tags": "y" }).name, "test");
  });

  it("takes a namespace that is a slip away for a mistyped one", () => {
    const given = {
      "fenstra:tags": "{}",
      "FENESTRA:tags": "{}",
      fenestra: '{"tags":{}}',
      tags: "{}",
      name: "b",
      a: "",
    };
    assert.deepEqual(
      problemsOf(() => loadConfig({ ...texts, ...given })),
      [
        ["config.a", "", "is fenestra:a to Pulumi"],
        ["config.fenestra", '{"tags":{}}', "holds settings that nothing reads"],
        ["config.FENESTRA:tags", "{}", "looks like a fenestra: key"],
        ["config.fenstra:tags", "{}", "looks like a fenestra: key"],
        ["config.name", "b", "is fenestra:name to Pulumi, which is there too, and either counts"],
        ["config.tags", "{}", "is fenestra:tags to Pulumi"],
      ],
    );
  });

  it("tells broken JSON, and JSON of the wrong kind, by its key", () => {
    assert.deepEqual(
      problemsOf(() =>
        loadConfig({
          ...texts,
          "fenestra:network": '{"zones":["1"]',
          "fenestra:pools": "linux",
          "fenestra:addons": "",
        }),
      ),
      [
        ["config.fenestra:addons", "", "has the wrong type"],
        ["config.fenestra:network", '{"zones":["1"]', "is not well-formed JSON"],
        ["config.fenestra:pools", "linux", "has the wrong type"],
      ],
    );
  });
});

describe("reading a stack file", () => {
  const folder = suiteFolder();
  const url = pathToFileURL(`${folder}/`);
  const read = (text: string): ReturnType<typeof readStackFile> => {
    writeFileSync(path.join(folder, "Pulumi.own.yaml"), text);
    return readStackFile("own", url);
  };

  it("gives what Pulumi gives a program", () => {
    assert.deepEqual(
      read(
        [
          "secretsprovider: passphrase",
          "config:",
          "  fenestra:accountId: '012345678901'",
          "  fenestra:name: on",
          "  fenestra:tags: { a: 1, b: 'x' }",
          "  fenestra:list: [1.50, two, !!str 5, null]",
          // One key with a text alone is a ciphertext (pulumi/pulumi: config/object.go, `isSecureValue`).
          "  fenestra:labels: { secure: 'true', team: a, b: { secure: 5 }, c: !!omap [x: 1] }",
          '  fenestra:quoted: "a: b"',
          "  fenestra:nothing:",
          "  fenestra:password: { secure: AAABsecret }",
          "  fenestra:httpProxy: { secure: AAABsecret }",
          "  fenestra:mirror: { artifacts: { secure: AAABsecret } }",
          "  aws:region: eu-central-1",
        ].join("\n"),
      ),
      {
        "fenestra:accountId": "012345678901",
        "fenestra:name": "on",
        "fenestra:tags": '{"a":1,"b":"x"}',
        "fenestra:list": '[1.5,"two","5",null]',
        "fenestra:labels": '{"secure":"true","team":"a","b":{"secure":5},"c":[{"x":1}]}',
        "fenestra:quoted": "a: b",
        // go-yaml calls no `UnmarshalYAML` for null (v3.0.1, decode.go, `prepare`), so a Value keeps its empty text.
        "fenestra:nothing": "",
        "fenestra:password": "[secret]",
        "fenestra:httpProxy": "http://secret-41b3521e.invalid:3128",
        "fenestra:mirror": '{"artifacts":"[secret]"}',
        "aws:region": "eu-central-1",
      },
    );
  });

  it("merges a mapping, as Pulumi does", () => {
    assert.deepEqual(
      read("config:\n  fenestra:a: &a { x: 1, y: 2 }\n  fenestra:b:\n    - { y: 3, <<: *a }\n    - { <<: *a, x: 4 }\n"),
      { "fenestra:a": '{"x":1,"y":2}', "fenestra:b": '[{"y":3,"x":1},{"x":4,"y":2}]' },
    );
    assert.deepEqual(read("x: &x { fenestra:name: a, fenestra:cloud: aws }\nconfig:\n  fenestra:name: b\n  <<: *x\n"), {
      "fenestra:name": "b",
      "fenestra:cloud": "aws",
    });
    // Of a list the first has it (go-yaml/yaml v3.0.1, decode.go, `merge`), and what is merged may merge.
    const several = "x: &x { fenestra:name: a }\ny: &y { fenestra:name: b, fenestra:cloud: aws }\n";
    const merged = { "fenestra:name": "a", "fenestra:cloud": "aws" };
    assert.deepEqual(read(`${several}config: { <<: [*x, *y] }\n`), merged);
    assert.deepEqual(read(`${several}z: &z { <<: *y, fenestra:name: a }\nconfig: { <<: *z }\n`), merged);
  });

  it("refuses what Pulumi reads otherwise, all at once, and nothing else", () => {
    // What yaml.v3 v3.0.1 makes of them: 1402433619, 1.5, true, 8, a time, 1000, 3, -31, an octal key, a time.
    const odd = [
      "  fenestra:accountId: 012345670123",
      "  fenestra:name: 1.50",
      "  fenestra:region: True",
      "  fenestra:pools:",
      "    - { count: 010, labels: { since: 2026-01-01, n: 1_000, b: 0b11, h: -0x1F, i: .inf, 010: x, at: 2026-1-2T3:4:5Z } }",
    ];
    const label = "config.fenestra:pools[0].labels";
    assert.deepEqual(
      problemsOf(() => read(["config:", ...odd].join("\n"))).map(([where, value]) => [where, value]),
      [
        ["config.fenestra:accountId", "012345670123"],
        ["config.fenestra:name", "1.50"],
        ["config.fenestra:pools[0].count", "010"],
        [`${label}.at`, "2026-1-2T3:4:5Z"],
        [`${label}.b`, "0b11"],
        [`${label}.h`, "-0x1F"],
        [`${label}.i`, ".inf"],
        [`${label}.n`, "1_000"],
        [`${label}.since`, "2026-01-01"],
        [`${label}["10"]`, "010"],
        ["config.fenestra:region", "True"],
      ],
    );
    // 7.0, a text of bytes, a time, 5; keys "<nil>", "12345678901234567890", "1e-05" and none at all.
    const tagged = "a: !!float 7, b: !!binary aGk=, c: !!timestamp 2026-01-01, d: ! 5";
    const keys = "~: a, 12345678901234567890: b, 0.00001: c, [x]: d";
    assert.deepEqual(
      problemsOf(() =>
        read(`config:\n  fenestra:a: { ${tagged} }\n  fenestra:b: { ${keys} }\n  fenestra:c: !!int "7"\n`),
      ).map(([where]) => where),
      [
        ...["a", "b", "c", "d"].map((name) => `config.fenestra:a.${name}`),
        "config.fenestra:b.null",
        ...['["x"]', "0.00001", "12345678901234567000"].map((name) => `config.fenestra:b[${JSON.stringify(name)}]`),
        "config.fenestra:c",
      ],
    );
    const plain = {
      a: "01234567-89ab-cdef-0123-456789abcdef",
      b: "10.0.0.0/16",
      c: "0",
      d: "1.50",
      e: "yes",
      f: "0x1F",
    };
    const dates = { k: "2026-01", l: "2026-12-31T23:59", m: "2026-11-22 3 nodes", n: "_1" };
    const text = Object.entries({ ...plain, ...dates, g: '"010"', h: "0123a", i: "1.36.4", j: "0b2" })
      .map(([name, value]) => `${name}: ${value}`)
      .join(", ");
    assert.deepEqual(
      problemsOf(() => read(`config:\n  fenestra:id: ${plain.a}\n  fenestra:a: { ${text} }\n`)),
      [],
    );
  });

  it("tells what else is wrong beside what Pulumi reads otherwise", () => {
    writeFileSync(
      path.join(folder, "Pulumi.own.yaml"),
      "config:\n  fenestra:cloud: aws\n  fenestra:accountId: 012345670123\n  fenestra:nodes: 1\n  fenestra:pools: [{ count: .inf }]\n",
    );
    assert.deepEqual(
      problemsOf(() => readStackFile("own", url, loadConfig))
        .map(([where]) => where.slice(16))
        .sort(),
      ["accountId", "pools[0].count", "nodes", "name", "network", "pools[0].name", "pools[0].os", "region"].sort(),
    );
  });

  for (const [title, text, message] of [
    ["a config that is a text", "config: x", "has no mapping named config"],
    [
      "broken YAML",
      "config:\n  fenestra:a: [secret\n",
      "is not valid YAML: Flow sequence in block collection must be sufficiently indented and end with a ] at line 3, column 1",
    ],
    [
      "a key twice",
      "config:\n  fenestra:a: 1\n  fenestra:a: 2\n",
      "is not valid YAML: Map keys must be unique at line 3, column 3",
    ],
    [
      "a merge of no mapping",
      "config:\n  fenestra:a: { <<: 5, b: 1 }\n",
      "is not valid YAML: Merge sources must be maps or map aliases",
    ],
    [
      "a merge of no mapping into all",
      "config:\n  <<: [~]\n  fenestra:b: 1\n",
      "is not valid YAML: Merge sources must be maps or map aliases",
    ],
    [
      "an alias within what it stands for",
      "config:\n  fenestra:a: &a { b: *a }\n",
      "is not valid YAML: an alias within what it stands for",
    ],
  ] as const)
    it(`refuses ${title}`, () => {
      const problems = problemsOf(() => read(text));
      const [, said, where] = /^(.*?)(?: at (line .*))?$/.exec(message) ?? [];
      assert.deepEqual(problems, [[path.join(folder, "Pulumi.own.yaml"), where, said]]);
    });

  it("reads an alias as what it stands for, which is held to Pulumi's reading too", () => {
    const text =
      "x: { n: &n 010 }\nconfig:\n  fenestra:name: &t aws-dev\n  fenestra:region: *t\n  fenestra:repair: { a: *t }\n";
    assert.deepEqual(read(text), {
      "fenestra:name": "aws-dev",
      "fenestra:region": "aws-dev",
      "fenestra:repair": '{"a":"aws-dev"}',
    });
    assert.deepEqual(
      problemsOf(() => read(`${text}  fenestra:pools: [{ count: *n }]\n`)).map(([where, value]) => [where, value]),
      [["config.fenestra:pools[0].count", "010"]],
    );
    assert.deepEqual(
      problemsOf(() => read("x: &x { fenestra:name: 1.50 }\nconfig: { <<: *x }\n")).map(([where, value]) => [
        where,
        value,
      ]),
      [["config.fenestra:name", "1.50"]],
    );
  });

  it("refuses a file that is not UTF-8, as Pulumi does", () => {
    for (const encoding of ["latin1", "utf16le"] as const) {
      writeFileSync(path.join(folder, "Pulumi.own.yaml"), Buffer.from("config: {} # K\u00f6ln", encoding));
      assert.deepEqual(
        problemsOf(() => readStackFile("own", url)),
        [[`${folder}/Pulumi.own.yaml`, undefined, "is not UTF-8: save it anew as that"]],
      );
    }
  });

  it("refuses by its name what is no file, has no end, or leads nowhere, and waits for nothing", async () => {
    const own = path.join(folder, "odd");
    mkdirSync(own);
    const at = (name: string) => path.join(own, name);
    const env = { [artifactsVariable]: at("artifacts.lock.json"), [transformsVariable]: at("transforms.ts") };
    execFileSync("mkfifo", [at("Pulumi.x.yaml")]);
    mkdirSync(at("Pulumi.yaml"));
    execFileSync("truncate", ["--size=100M", at("artifacts.lock.json")]);
    symlinkSync("nowhere", at("transforms.ts"));
    const before = { ...process.env };
    Object.assign(process.env, env);
    try {
      for (const [name, why, read] of [
        ["Pulumi.x.yaml", "it is no plain file", () => readStackFile("x", pathToFileURL(`${own}/`))],
        ["Pulumi.yaml", "it is no plain file", () => readProjectFile(own)],
        ["artifacts.lock.json", "it has 104857600 bytes, more than 4194304", () => readArtifactLock()],
        ["transforms.ts", "ENOENT", () => registerTransforms()],
      ] as const)
        await assert.rejects(
          async () => await read(),
          (error: Error) => error.message.includes(`${name}: cannot be read: ${why}`),
          name,
        );
    } finally {
      for (const key of Object.keys(env)) delete process.env[key];
      Object.assign(process.env, before);
    }
  });

  it("is of a stack, not of a path", () => {
    assert.deepEqual(
      problemsOf(() => readStackFile("../own", url)),
      [[`${folder}/Pulumi.../own.yaml`, "../own", "there is no such stack file"]],
    );
  });

  it("name the option that makes dots a path", () => {
    assert.throws(
      () => loadConfig({ "fenestra:kubernetes.version": "1.36.4" }),
      /pulumi config rm 'fenestra:kubernetes\.version', then pulumi config set --path 'fenestra:kubernetes\.version' VALUE/,
    );
  });
});
