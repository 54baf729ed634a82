import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import type { RecordedResource } from "../../plan/program/recorded.ts";
import { deployAws } from "../../stacks/aws.ts";
import { specOf, withMocks } from "../support/mocks.ts";
import { matchSnapshot } from "../support/snapshot.ts";

/**
 * What the provider's Read puts into the state although the program gave nothing, for inputs that are optional and not computed. The next
 * update compares it with the program's nothing and removes it from the live resource. An input that is also computed makes no difference.
 */
const readBack: Readonly<Record<string, { readonly field: string; readonly source: string }>> = {
  "aws:ec2/instance:Instance": {
    field: "userData",
    source: "terraform-provider-aws, internal/service/ec2/ec2_instance.go: set from DescribeInstanceAttribute; #48795",
  },
  "aws:ec2/networkInterface:NetworkInterface": {
    field: "enaSrdSpecification",
    source: "EC2 API Reference, NetworkInterfaceAttachment: answered for attached interfaces",
  },
};

/** Whether the second update of a resource would remove what the provider has read back. */
function removedNextTime({ type, inputs, options }: RecordedResource): boolean {
  const field = readBack[type]?.field;
  return field !== undefined && inputs[field] === undefined && !options.ignoreChanges.includes(field);
}

/** Inputs of a type that are optional and not computed: only these are `undefined` among the outputs (pulumi-terraform-bridge, pkg/tfgen). */
function plainInputs(type: string): readonly string[] {
  const [, module = ""] = type.split(":");
  const file = fileURLToPath(import.meta.resolve(`@pulumi/aws/${module}.js`)).replace(/\.js$/, ".d.ts");
  const text = readFileSync(file, "utf8");
  const args = text.slice(text.search(/export interface \w+Args /));
  const outputs = text.slice(text.indexOf("export declare class"), text.indexOf("constructor(name"));
  return [...outputs.matchAll(/readonly (\w+): pulumi\.Output<.*\| undefined>;/g)]
    .map(([, name = ""]) => name)
    .filter((name) => new RegExp(`^ {4}${name}\\??:`, "m").test(args));
}

describe("what AWS reads back", () => {
  let resources: readonly RecordedResource[];
  before(async () => {
    const runs = ["aws-dev", "aws-prod", "aws-restricted"].map((stack) => withMocks(() => deployAws(specOf(stack))));
    resources = (await Promise.all(runs)).flatMap(({ program }) => program.resources);
    resources = resources.filter(({ type }) => type.startsWith("aws:"));
  });

  it("is set or ignored, so that a second update changes nothing", () => {
    for (const type of Object.keys(readBack))
      assert.ok(
        resources.some((each) => each.type === type),
        type,
      );
    assert.deepEqual(
      resources.filter(removedNextTime).map(({ name }) => name),
      [],
    );
  });

  it("would be found where it is neither", () => {
    const bare = resources.map((each) => ({ ...each, options: { ...each.options, ignoreChanges: [] } }));
    const found = new Set(bare.filter(removedNextTime).map(({ type }) => type));
    assert.deepEqual([...found].sort(), Object.keys(readBack).sort());
  });

  // Another version of the package may bring more of these inputs: whoever accepts a new line here has looked into the provider's Read.
  it("is nothing else among the inputs that are optional, not computed and not set", () => {
    const lines = [...Map.groupBy(resources, ({ type }) => type)].map(([type, all]) => {
      const unset = plainInputs(type).filter((field) => all.some(({ inputs }) => inputs[field] === undefined));
      return `${type.split(":")[1]}: ${unset.sort().join(" ")}`.trim();
    });
    matchSnapshot(path.join(import.meta.dirname, "snapshots", "unset-inputs.txt"), `${lines.sort().join("\n")}\n`);
  });
});
