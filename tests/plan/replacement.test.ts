import assert from "node:assert/strict";
import {
  ComponentResource,
  type ComponentResourceOptions,
  CustomResource,
  type CustomResourceOptions,
  rootStackResource,
} from "@pulumi/pulumi";
import { type Compared, findOperations } from "../../plan/diff/operations.ts";
import { withMocks } from "../support/mocks.ts";

describe("what a change does", () => {
  const resource = (type: string, inputs: object, options: Compared["options"] = {}, name = "now"): Compared => ({
    ...{ urn: `urn:pulumi:s::p::${type}::${name}`, type, name, custom: true, inputs, options },
    ...{ propertyDependencies: {}, provider: null },
  });
  const set = (name: string, mode = "Rolling") => ({ sku: { name }, upgradePolicy: { mode } });
  const sizes = (size: string, expected: string) =>
    ["compute:VirtualMachineScaleSet", set("Standard_D2s_v5"), set(size), expected] as const;
  const balancer = (subnets: string, more: string, expected: string) =>
    ["aws:lb/loadBalancer:LoadBalancer", { subnets: [...subnets] }, { subnets: [...more] }, expected] as const;

  for (const [type, old, now, expected] of [
    sizes("Standard_D16s_v5", "rolled"),
    ...["Standard_D2ds_v5", "Standard_D2s_v6", "Standard_E2s_v5"].map((size) =>
      sizes(size, "rolled sku.name may be refused:"),
    ),
    ["compute:VirtualMachineScaleSet", set("a"), set("a", "Manual"), "changed"] as const,
    balancer("ab", "acd", "changed"),
    balancer("ab", "ac", "replaced subnets"),
    balancer("ab", "a", "replaced subnets"),
  ])
    it(`${JSON.stringify(now)}: ${expected}`, () => {
      const name = type.startsWith("aws:") ? type : `azure-native:${type}`;
      const [found] = findOperations({ resources: [resource(name, old)] }, [resource(name, now)]);
      assert.equal(`${found?.change} ${found?.because.join().slice(0, 24)}`.trim(), expected);
    });

  class Home extends ComponentResource {
    constructor(name: string, options: ComponentResourceOptions = {}, type = "t:index:Home") {
      super(type, name, {}, options);
    }
  }
  class Network extends CustomResource {}
  const orphan = {};
  Reflect.set(orphan, "parent", undefined);
  const network = (name: string, options: CustomResourceOptions = {}, type = "aws:ec2/vpc:Vpc") =>
    new Network(type, name, { cidrBlock: "10.0.0.0/16" }, options);
  const recorded = async (build: () => unknown) => {
    const { program } = await withMocks(build, { simulate: () => ({ id: "a", outputs: {} }) });
    return program.resources.map((each) => ({
      ...each,
      parent: each.parent ?? null,
      provider: null,
      options: { ...each.options },
    }));
  };
  const home = (name: string, options?: ComponentResourceOptions) =>
    network(`${name}-a`, { parent: new Home(name, options) });

  // As pulumi/pulumi v3.276 does: pkg/resource/deploy/step_generator.go, `generateAliases`.
  for (const [title, old, now, expected] of [
    ["a name", () => network("old"), () => network("now", { aliases: [{ name: "old" }] }), ""],
    [
      "the other name",
      () => network("old"),
      () => network("now", { aliases: [{ name: "else" }] }),
      "old removed now added",
    ],
    [
      "a URN",
      () => network("old"),
      () => network("now", { aliases: ["urn:pulumi:test::fenestra::aws:ec2/vpc:Vpc::old"] }),
      "",
    ],
    [
      "a type",
      () => network("a", {}, "aws:ec2/vpc:Old"),
      () => network("a", { aliases: [{ type: "aws:ec2/vpc:Old" }] }),
      "",
    ],
    ["no parent", () => network("a"), () => network("a", { parent: new Home("h"), aliases: [orphan] }), ""],
    [
      "the stack",
      () => network("a"),
      () => network("a", { parent: new Home("h"), aliases: [{ parent: rootStackResource }] }),
      "",
    ],
    [
      "a parent",
      () => network("a", { parent: new Home("h") }),
      () => network("a", { aliases: [{ parent: new Home("h") }] }),
      "",
    ],
    [
      "a parent and a name",
      () => network("old", { parent: new Home("h") }),
      () => network("a", { aliases: [{ name: "old", parent: new Home("h") }] }),
      "",
    ],
    [
      "the present parent",
      () => network("a"),
      () => network("a", { parent: new Home("h"), aliases: [{ name: "b" }] }),
      "a removed a added",
    ],
    ["a parent's name", () => home("old"), () => home("now", { aliases: [{ name: "old" }] }), ""],
    [
      "a parent's type",
      () => network("a", { parent: new Home("h", {}, "t:index:Old") }),
      () => network("a", { parent: new Home("h", { aliases: [{ type: "t:index:Old" }] }) }),
      "",
    ],
    [
      "a parent's parent's type, and its own",
      () => network("a", { parent: new Home("i", { parent: new Home("h", {}, "t:index:Old") }) }, "aws:ec2/vpc:Old"),
      () =>
        network("a", {
          aliases: [{ type: "aws:ec2/vpc:Old" }],
          parent: new Home("i", { parent: new Home("h", { aliases: [{ type: "t:index:Old" }] }) }),
        }),
      "",
    ],
    [
      "another parent, which has one",
      () => network("a", { parent: new Home("h", {}, "t:index:Old") }),
      () => network("a", { aliases: [{ parent: new Home("h", { aliases: [{ type: "t:index:Old" }] }) }] }),
      "",
    ],
    [
      "a parent's, which the state does not have",
      () => home("now"),
      () => home("now", { aliases: [{ name: "old" }] }),
      "",
    ],
    ["another stack", () => network("a"), () => network("a", { aliases: [{ stack: "b" }] }), ""],
    [
      "the stack before",
      () => network("b"),
      () => network("a", { aliases: [{ name: "b", stack: "b" }] }),
      "b removed a added",
    ],
  ] as const)
    it(`by an alias that is ${title}: ${expected || "nothing"}`, async () => {
      const [before, after] = [await recorded(old), await recorded(now)];
      const found = findOperations({ resources: before }, after);
      assert.equal(
        found
          .map(({ name, change }) => `${name} ${change}`)
          .toSorted()
          .join(" "),
        expected
          .split(/(?<=d) /)
          .toSorted()
          .join(" "),
      );
      const [first, ...more] = findOperations(
        { resources: before },
        after.map((each) => ({ ...each, inputs: { cidrBlock: "a" } })),
      );
      if (expected === "") assert.deepEqual([first?.change, more], ["replaced", []]);
    });
});
