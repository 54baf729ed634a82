import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { renderSchema, schemaFile } from "../../cli/schema.ts";
import { schemaOf } from "../../components/config/cloudSchema.ts";
import {
  configJsonSchema,
  describeAllowed,
  type JsonSchema,
  propertyOf,
  schemaAt,
} from "../../components/config/jsonSchema.ts";
import { loadConfig } from "../../components/config/load.ts";
import { stackSchema } from "../../components/config/schema.ts";
import { readStackFile, stackNames, stacksFolder } from "../../components/config/stackFile.ts";
import { cloudFacts } from "../../components/model/cloudFacts/cloudFacts.ts";
import { clusterSpec } from "../../components/model/clusterSpec.ts";
import { ConfigError } from "../../components/model/problem.ts";
import { matchSnapshot } from "../support/snapshot.ts";
import { stackConfig, testStacks } from "../support/stacks.ts";

function fields(schema: JsonSchema, path = ""): readonly (readonly [string, JsonSchema])[] {
  const own = Object.entries(schema.properties ?? {}).flatMap(([key, value]): [string, JsonSchema][] => [
    [`${path}.${key}`, value],
    ...fields(value, `${path}.${key}`).map(([at, below]): [string, JsonSchema] => [at, below]),
  ]);
  const { items, additionalProperties: values } = schema;
  return [
    ...own,
    ...(items === undefined ? [] : fields(items, `${path}[]`)),
    ...(typeof values === "object" ? fields(values, `${path}.*`) : []),
  ];
}

describe("schema of a stack file", () => {
  const schema = configJsonSchema();

  it("is stacks/schema.json, byte for byte", () => {
    matchSnapshot(fileURLToPath(schemaFile), renderSchema());
  });

  it("has every top-level key with the project's prefix, those of another cloud left out, and refuses others", () => {
    type Part = { properties: object; required: string[]; propertyNames: object };
    const file: { properties: { config: { allOf: readonly { then: Part }[] } } } = JSON.parse(renderSchema());
    const foreign = [["encryptionAtHost"], ["iam"]];
    for (const [index, { then }] of file.properties.config.allOf.entries()) {
      const keys = Object.keys(then.properties);
      const all = Object.keys(stackSchema.shape).filter((key) => foreign[index]?.includes(key) !== true);
      assert.deepEqual([...keys].sort(), all.map((key) => `fenestra:${key}`).sort());
      const needed = ["cloud", "name", "region", "network", "pools"].map((key) => `fenestra:${key}`);
      assert.deepEqual(then.required, needed);
      assert.deepEqual(keys.slice(0, needed.length), needed, "what is needed comes first");
      assert.deepEqual(then.propertyNames, { anyOf: [{ enum: keys }, { not: { pattern: "^fenestra:" } }] });
    }
  });

  it("has each setting that belongs to one cloud, once", () => {
    const known = new Set(fields(schema).map(([path]) => path.slice(1)));
    const named = Object.values(cloudFacts).flatMap(({ settings }) => settings);
    assert.deepEqual(
      named.filter((path) => !known.has(path)),
      [],
    );
  });

  it("of a cloud takes its own settings and values, and those of no other", () => {
    const path = ["pools", 0, "disk", "type"];
    for (const { name, settings, disks } of Object.values(cloudFacts)) {
      const own = new Set(fields(configJsonSchema(schemaOf(name))).map(([at]) => at.slice(1)));
      const all = Object.values(cloudFacts).flatMap((other) => other.settings);
      assert.deepEqual(all.filter((at) => own.has(at)).sort(), [...settings].sort());
      assert.deepEqual(schemaAt(configJsonSchema(schemaOf(name)), path)?.enum, disks.types);
    }
  });

  it("describes every field in at least a sentence", () => {
    const all = fields(schema);
    assert.ok(all.length > 40, `${all.length} fields`);
    const undescribed = all.filter(([, { description }]) => !/^.{8,}\.$/.test(description ?? "")).map(([path]) => path);
    assert.deepEqual(undescribed, []);
  });

  it("refuses unknown keys at each level", () => {
    const open = fields({ type: "object", properties: { config: schema } })
      .filter(([, { properties, additionalProperties }]) => properties !== undefined && additionalProperties !== false)
      .map(([path]) => path);
    assert.deepEqual(open, []);
  });

  it("says every pattern in words", () => {
    const silent = fields(schema).filter(
      ([, { pattern, patternErrorMessage, format }]) =>
        pattern !== undefined && patternErrorMessage === undefined && format === undefined,
    );
    const unsaid = silent.map(([path]) => path);
    assert.deepEqual(unsaid, []);
  });

  it("has patterns that take their examples without flags, as editors read them", () => {
    const refused = fields(schema).flatMap(([path, { pattern = "", examples = [] }]) =>
      examples.filter((each) => typeof each === "string" && !new RegExp(pattern, "u").test(each)).map(() => path),
    );
    assert.deepEqual(refused, []);
  });

  it("finds its own parts, and no inherited ones", () => {
    assert.equal(schemaAt(schema, ["pools", 3, "labels", "any"])?.type, "string");
    assert.equal(schemaAt(schema, ["pools", "x"]), undefined);
    assert.equal(schemaAt(schema, ["nothing", "below"]), undefined);
    assert.equal(propertyOf(schema, "constructor"), undefined);
    assert.equal(propertyOf(schema, "__proto__"), undefined);
  });

  for (const [part, words] of [
    [{ type: "integer", minimum: 1, maximum: 3 }, "a whole number from 1 to 3"],
    [{ type: "number", exclusiveMinimum: 0 }, "a number above 0"],
    [{ type: "integer", minimum: 1, maximum: Number.MAX_SAFE_INTEGER }, "a whole number of at least 1"],
    [{ type: "array", minItems: 1, maxItems: 3 }, "a list of 1 to 3 items"],
    [{ type: "boolean", description: "Words." }, "true or false. Words."],
    [{ type: "string", pattern: "^a$", format: "uuid" }, "a text, in the form of a uuid"],
    [{ type: "string", pattern: "^a$", patternErrorMessage: "an a", examples: ["a"] }, "a text, an a, such as a"],
    [{ anyOf: [{ const: 1 }, { const: 3 }] }, "1 or 3"],
    [{ type: "string", enum: ["x", "y"] }, "one of x, y"],
    [{ type: "object", properties: { a: {}, b: {} } }, "a mapping with the keys a, b"],
    [undefined, "nothing here"],
  ] as const satisfies readonly (readonly [JsonSchema | undefined, string])[])
    it(`says ${JSON.stringify(part)} as "${words}"`, () => assert.equal(describeAllowed(part), words));
});

describe("the example stack files", () => {
  for (const stack of stackNames(testStacks))
    it(`${stack} names the schema for editors, says in three lines what it is for, is short and valid`, () => {
      const text = readFileSync(new URL(`Pulumi.${stack}.yaml`, testStacks), "utf8");
      const lines = text.trimEnd().split("\n");
      assert.equal(lines[0], "# yaml-language-server: $schema=../../stacks/schema.json");
      assert.ok(
        lines.length <= 48 && lines.findIndex((line) => !line.startsWith("#")) === 4,
        "three lines say what it is for",
      );
      const config = loadConfig(stackConfig(stack));
      const spec = clusterSpec(config);
      assert.equal(spec.name, stack);
      assert.equal(spec.cloud, stack.split("-")[0]);
    });
});

// What users keep there is theirs: no name, value or number of files is expected, and mistakes are no failure of the
// project.
describe("whatever lies in stacks/", () => {
  it("is either a cluster that can be planned, or refused with what is allowed", () => {
    for (const stack of stackNames(stacksFolder))
      try {
        const spec = clusterSpec(loadConfig(readStackFile(stack, stacksFolder)));
        assert.ok(spec.controlPlane.members.length > 0, stack);
        assert.equal(new Set(spec.pools.map(({ name }) => name)).size, spec.pools.length, stack);
      } catch (error) {
        assert.ok(error instanceof ConfigError, `${stack}: ${error}`);
        for (const { path, allowed } of error.problems) assert.ok(path !== "" && allowed !== "", stack);
      }
  });
});
