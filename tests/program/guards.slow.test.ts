// Sees what nothing faster does: all example stacks with every add-on against what the providers declare.
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { filledIn } from "../../components/azure/keepsOthers.ts";
import { isPropertyList, isPropertyMap, type PropertyMap } from "../../components/gates/values.ts";
import type { Owners } from "../../components/model/cloudFacts/facts.ts";
import { at } from "../../components/model/json.ts";
import type { RecordedResource } from "../../plan/program/recorded.ts";
import { declaredResource, pathsOf } from "../../plan/providers/declared.ts";
import { ownersOf } from "../../plan/replacement/table.ts";
import { withEveryAddOn } from "../../rehearsal/run/everyAddOn.ts";
import { runConfig } from "../support/mocks.ts";
import { stackConfig, testStacks } from "../support/stacks.ts";

const stacks = readdirSync(testStacks).flatMap((file) => /^Pulumi\.(.+)\.yaml$/.exec(file)?.[1] ?? []);
const azureFolder = new URL("../../components/azure/", import.meta.url);
const known = /^(pulumi:providers:)?(aws|azure-native)(:|$)/;

/** Types of the ids that the program hands out. */
const handedOut = new Set<string>();

async function recorded(): Promise<readonly RecordedResource[]> {
  const all: RecordedResource[] = [];
  for (const stack of stacks) {
    const { program } = await runConfig(stack, withEveryAddOn(stackConfig(stack)), "known-outputs");
    const given = JSON.stringify(program.outputs.resources);
    for (const { type, id, outputs } of program.resources)
      if ([id, outputs.arn].some((each) => typeof each === "string" && each !== "" && given.includes(`"${each}"`)))
        handedOut.add(type);
    all.push(...program.resources.filter(({ type, read }) => known.test(type) && read === undefined));
  }
  return all;
}

const azureTexts = ["network/virtualNetwork", "network/networkSecurityGroup", "network/loadBalancer", "types/input"]
  .map((name) => readFileSync(fileURLToPath(import.meta.resolve(`@pulumi/azure-native/${name}.d.ts`)), "utf8"))
  .join("");

/**
 * Whether the provider leaves alone what the program leaves out: a computed input, or one that azure-native documents
 * so.
 */
function keptIfUnset(type: string, path: string) {
  if (type.startsWith("aws:")) return declaredResource(type).outputs.get(path)?.optional === false;
  return new RegExp(`available as standalone resources[^?]*\\n +${path.split(".").at(-1)}\\?:`).test(azureTexts);
}

const azureSources = new Map(
  readdirSync(fileURLToPath(azureFolder)).map((file) => [file, readFileSync(new URL(file, azureFolder), "utf8")]),
);

/** Whether a file that makes resources of a type, or one that it imports, writes that key. */
function mayBeSent(type: string, key: string) {
  const makers = [...azureSources.values()].filter((text) => text.includes(`new ${type.split(":").at(-1)}(`));
  const imported = makers.flatMap((text) => [...text.matchAll(/from "\.\/([\w.]+)"/g)].map(([, file = ""]) => file));
  return [...makers, ...imported.filter((file) => file !== "owners.ts").map((file) => azureSources.get(file))].some(
    (text = "") => new RegExp(`\\b${key}\\b *[:,}]`).test(text),
  );
}

/**
 * Inputs that Azure's provider leaves out of every request, and Azure so takes off: what the provider declares and no
 * example and no line of the program sends.
 */
function neverSent(type: string, resources: readonly Pick<RecordedResource, "inputs">[]) {
  if (!type.startsWith("azure-native:")) return [];
  const { inputs, outputs } = declaredResource(type);
  return [...inputs.keys()].filter(
    (key) =>
      outputs.has(key) &&
      !/^(id|name|type)$/.test(key) &&
      !resources.some((each) => each.inputs[key] !== undefined) &&
      !mayBeSent(type, key),
  );
}

/** Where a type's owners and resources differ. */
function differences(
  type: string,
  { ours = [], contested = {}, shared = {}, theirs = {}, left, detaching = {} }: Owners,
  resources: readonly Pick<RecordedResource, "inputs" | "options">[],
  types: ReadonlySet<string>,
) {
  const own = [...ours, ...Object.keys(contested)];
  const others = [...Object.keys(theirs), ...(left?.inputs ?? [])];
  // Lists, and mappings of the user's names.
  const lists = (type: string, inputs: PropertyMap) =>
    pathsOf(type, inputs, ({ value, inside }) => isPropertyList(value) || (isPropertyMap(value) && inside.size === 0));
  const sent = new Set(resources.flatMap(({ inputs }) => lists(type, inputs)));
  const unsent = neverSent(type, resources).filter((path) => !(path in shared));
  const ignored = new Set(resources.flatMap(({ options }) => options.ignoreChanges));
  const lines: readonly (readonly [string, readonly string[]])[] = [
    ["whose is", [...sent, ...unsent].filter((path) => !own.includes(path) && !others.includes(path))],
    [
      "nothing sends",
      own.filter((path) => path !== "tags" && !sent.has(path) && !unsent.includes(path) && !mayBeSent(type, path)),
    ],
    [
      "a setting sends, and left to others:",
      (left?.inputs ?? []).filter(
        (path) =>
          !unsent.includes(path) &&
          (!(path in filledIn) || resources.some(({ inputs }) => at(inputs, path) !== filledIn[path])),
      ),
    ],
    ["ours, and ignored:", own.filter((path) => !others.includes(path) && ignored.has(path))],
    ["theirs, and not ignored:", others.filter((path) => !ignored.has(path))],
    ["shared, and sent:", Object.keys(shared).filter((path) => sent.has(path))],
    ["not kept when unset:", Object.keys(shared).filter((path) => !keptIfUnset(type, path))],
    ["no", Object.values(shared).flatMap(({ by }) => (by === undefined || types.has(by) ? [] : [by]))],
    ["does not set", Object.keys(detaching).filter((key) => resources.some(({ inputs }) => inputs[key] !== true))],
  ];
  return lines.flatMap(([words, paths]) => paths.map((path) => `${type}: ${words} ${path}`));
}

describe("the table of who owns an input", () => {
  it("leaves tags of `ignoreTags` alone on both clouds, and takes none that the program sends", async function () {
    this.timeout(600_000);
    const run = async (stack: string, ignoreTags: readonly string[]) => {
      const config = { ...stackConfig(stack), "fenestra:ignoreTags": JSON.stringify(ignoreTags) };
      return (await runConfig(stack, config, "known-outputs")).program.resources.filter(({ type }) => known.test(type));
    };
    const aws = await run("aws-dev", ["CostCentre", "org:*"]);
    assert.equal(
      aws.find(({ type }) => type === "pulumi:providers:aws")?.inputs.ignoreTags,
      '{"keyPrefixes":["org:"],"keys":["CostCentre"]}',
    );
    const azure = (await run("azure-dev", ["created on"])).filter(({ inputs }) => inputs.tags !== undefined);
    assert.ok(azure.length > 20);
    assert.deepEqual(
      azure.filter(({ options }) => !options.ignoreChanges.includes('tags["created on"]')),
      [],
    );

    const names = (tags: unknown) =>
      Array.isArray(tags) ? tags.map(({ key }) => String(key)) : Object.keys(Object(tags));
    for (const [stack, resources] of Object.entries({ "aws-dev": aws, "azure-dev": azure }))
      for (const name of new Set(resources.flatMap(({ inputs }) => names(inputs.tags))))
        await assert.rejects(run(stack, [name]), /is a tag that the program sets/, name);
  });

  it("has every list and mapping of every example, and what updates and deletions do about it", async function () {
    this.timeout(600_000);
    const all = Map.groupBy(await recorded(), ({ type }) => type);
    const types = new Set(all.keys());
    assert.deepEqual(
      [...all].flatMap(([type, each]) => differences(type, ownersOf(type), each, types)),
      [],
    );
    // A role or identity goes whatever has it.
    const unheld = [...handedOut].filter((type) => known.test(type) && ownersOf(type).heldBy === undefined);
    assert.deepEqual(unheld.toSorted(), ["aws:iam/role:Role", "azure-native:managedidentity:UserAssignedIdentity"]);
  });
});
