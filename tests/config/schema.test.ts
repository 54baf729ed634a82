import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
import { renderSchema, schemaFile } from "../../cli/schema.ts";
import { schemaOf } from "../../components/config/cloudSchema.ts";
import { configJsonSchema, type JsonSchema, schemaAt } from "../../components/config/jsonSchema.ts";
import { stackSchema } from "../../components/config/schema.ts";
import { cloudFacts } from "../../components/model/cloudFacts/cloudFacts.ts";
import { matchSnapshot } from "../support/snapshot.ts";

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

  it("of a cloud takes its own settings and values, and those of no other", () => {
    for (const { name, settings, disks } of Object.values(cloudFacts)) {
      const own = new Set(fields(configJsonSchema(schemaOf(name))).map(([at]) => at.slice(1)));
      assert.deepEqual(
        Object.values(cloudFacts)
          .flatMap((other) => other.settings)
          .filter((at) => own.has(at))
          .sort(),
        [...settings].sort(),
      );
      assert.deepEqual(schemaAt(configJsonSchema(schemaOf(name)), ["pools", 0, "disk", "type"])?.enum, disks.types);
    }
  });

  it("describes every field in at least a sentence", () => {
    const all = fields(schema);
    assert.ok(all.length > 40, `${all.length} fields`);
    assert.deepEqual(
      all.filter(([, { description }]) => !/^.{8,}\.$/.test(description ?? "")).map(([path]) => path),
      [],
    );
  });

  it("refuses unknown keys at each level", () => {
    assert.deepEqual(
      fields({ type: "object", properties: { config: schema } })
        .filter(
          ([, { properties, additionalProperties }]) => properties !== undefined && additionalProperties !== false,
        )
        .map(([path]) => path),
      [],
    );
  });

  it("says every pattern in words", () => {
    assert.deepEqual(
      fields(schema)
        .filter(
          ([, { pattern, patternErrorMessage, format }]) =>
            pattern !== undefined && patternErrorMessage === undefined && format === undefined,
        )
        .map(([path]) => path),
      [],
    );
  });

  it("has patterns that take their examples without flags, as editors read them", () => {
    assert.deepEqual(
      fields(schema).flatMap(([path, { pattern = "", examples = [] }]) =>
        examples.filter((each) => typeof each === "string" && !new RegExp(pattern, "u").test(each)).map(() => path),
      ),
      [],
    );
  });
});
