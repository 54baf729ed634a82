// Sees what nothing faster does: inputs of resources by Microsoft's own types, at each change of a setting.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { z } from "zod";
import { stackNames } from "../../components/config/stackFile.ts";
import { type PropertyMap, reveal } from "../../components/gates/values.ts";
import type { RecordedProgram } from "../../plan/program/recorded.ts";
import { changedConfigs } from "../plan/changedConfigs.ts";
import { runConfig, runStack } from "../support/mocks.ts";
import { stackConfig, testStacks } from "../support/stacks.ts";

describe("what Microsoft's own types say of the program's inputs", function () {
  this.timeout(60 * 60_000);
  type Config = Readonly<Record<string, string>>;
  const told = async (stack: string, config: Config) =>
    armProblems((await runConfig(stack, config, "known-outputs")).program);

  for (const stack of stackNames(testStacks).filter((name) => name.startsWith("azure")))
    it(`nothing of ${stack}`, async () => assert.deepEqual(await told(stack, stackConfig(stack)), []));

  it("nothing of any setting's change", async () => {
    for (const { what, cloud, after } of changedConfigs)
      if (cloud === "azure") assert.deepEqual(await told("changed", after), [], what);
  });

  const changes: readonly (readonly [kind: string, change: () => PropertyMap, says: RegExp])[] = [
    ["azure-native:compute:VirtualMachine", () => ({ zones: "1" }), /zones: Invalid input/],
    ["azure-native:network:SecurityRule", () => ({ sourceAddresPrefix: "*" }), /Unrecognized key/],
  ];
  for (const [kind, change, says] of changes)
    it(`but of ${says.source} in ${kind}`, async () => {
      const { program } = await runStack("azure-dev");
      assert.match(
        armProblems({
          ...program,
          resources: program.resources.map((each) =>
            each.type === kind ? { ...each, inputs: { ...each.inputs, ...change() } } : each,
          ),
        }).join("\n"),
        says,
      );
    });
});

/** Beside an `anyOf`, which says what is required flattened or nested, zod forgets which properties there are. */
function strict(value: unknown): unknown {
  if (typeof value !== "object" || value === null || !("anyOf" in value && "properties" in value)) return value;
  const { anyOf: _, ...own } = value;
  return own;
}

/**
 * Azure's resource types as JSON Schema, at the versions that the SDK sends: reduced from Azure.Bicep.Types.Az 0.2.972
 * (MIT), which Microsoft makes of its OpenAPI specifications. A new version of the SDK needs a new reduction.
 */
const types = z
  .object({
    resources: z.record(z.string(), z.object({ notInBody: z.array(z.string()), schema: z.looseObject({}) })),
    $defs: z.record(z.string(), z.looseObject({})),
  })
  .parse(JSON.parse(readFileSync(new URL("armTypes.schema.json", import.meta.url), "utf8"), (_, each) => strict(each)));

/** The SDK's own, no type of Azure's; and two that the reduction lacks. */
const unknown = new Set(["storage:Blob", "monitor:AutoscaleSetting", "dns:RecordSet"]);

const readers = new Map<string, z.ZodType>();

function readerOf(type: string): z.ZodType | undefined {
  const { [type]: found } = types.resources;
  if (found === undefined) return undefined;
  const reader = readers.get(type) ?? z.fromJSONSchema({ ...found.schema, $defs: types.$defs });
  readers.set(type, reader);
  return reader;
}

const asMap = (list: unknown) => (Array.isArray(list) ? Object.fromEntries(list.map((id) => [String(id), {}])) : list);

/** Extensions of a scale set, whose own type is not that of the envelope. */
const nested = (list: unknown) =>
  wired(Array.isArray(list) ? list.map(({ name, ...properties }) => ({ name, properties })) : list);

/** What the SDK changes on the way. */
const onWire: Readonly<Record<string, readonly [name: string, value?: (given: unknown) => unknown]>> = {
  enableHttpsTrafficOnly: ["supportsHttpsTrafficOnly"],
  networkRuleSet: ["networkAcls"],
  virtualNetworkResourceId: ["id"],
  userAssignedIdentities: ["userAssignedIdentities", asMap],
  extensions: ["extensions", nested],
  // Bicep, whose types these are, knows no fractions.
  maxPrice: ["maxPrice", (price) => (typeof price === "number" ? Math.round(price) : price)],
};

function wired(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(wired);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, each]) => {
      const [name = key, change = wired] = onWire[key] ?? [];
      return [name, change(each)];
    }),
  );
}

/** What Microsoft's types have against the inputs of a program's resources. */
function armProblems({ resources }: RecordedProgram) {
  return resources.flatMap(({ type, name, inputs, read }) => {
    const [, kind] = /^azure-native:(.+)$/.exec(type) ?? [];
    if (kind === undefined || read !== undefined || unknown.has(kind)) return [];
    const reader = readerOf(kind);
    if (reader === undefined) return [`${name}: nobody has the type ${kind}`];
    const absent = types.resources[kind]?.notInBody ?? [];
    const body = Object.entries(inputs).flatMap(([key, value]) => (absent.includes(key) ? [] : [[key, reveal(value)]]));
    const found = reader.safeParse(wired(Object.fromEntries(body))).error?.issues ?? [];
    return found.map(({ path, message }) => `${name} ${path.join(".")}: ${message}`);
  });
}
