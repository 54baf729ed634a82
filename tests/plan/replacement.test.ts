import assert from "node:assert/strict";
import { type Compared, findOperations } from "../../plan/diff/operations.ts";

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
});
