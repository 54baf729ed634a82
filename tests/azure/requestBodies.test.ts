import assert from "node:assert/strict";
import { mapOf, type PropertyMap } from "../../plan/program/values.ts";
import { runStack } from "../support/mocks.ts";
import { bodyProblems, bodyRules } from "./bodyRules.ts";

const set = "compute:VirtualMachineScaleSet";
const withInputs =
  (more: PropertyMap) =>
  (inputs: PropertyMap): PropertyMap => ({ ...inputs, ...more });
const unguarded = { provisionVMAgent: true, patchSettings: { patchMode: "Manual" } };

/**
 * Bodies that Azure refuses, each a good one with a change: the kind, the change, and words of the rule that must
 * report it.
 */
const broken: readonly (readonly [kind: string, change: (inputs: PropertyMap) => PropertyMap, rule: RegExp])[] = [
  [set, osProfile({ computerNamePrefix: "windows2022" }), /computer name has 15/],
  [set, osProfile({ adminUsername: "administrator" }), /administrator's name/],
  [set, osProfile({ customData: "not base64" }), /customData is base64/],
  [set, osProfile({ windowsConfiguration: unguarded }), /patchMode Manual/],
  [set, profile({ extensionProfile: { extensions: [] } }), /one source of health/],
  [set, profile({ extensionProfile: { extensions: [] } }), /one CustomScriptExtension/],
  [set, profile({ priority: "Spot" }), /terminate notification/],
  [set, profile({ evictionPolicy: "Delete" }), /eviction policy/],
  [set, withInputs({ automaticRepairsPolicy: { enabled: true } }), /nothing but the node controller/],
  [set, withInputs({ platformFaultDomainCount: 2 }), /fault domains/],
  [set, profile({ storageProfile: { osDisk: { deleteOption: "Delete" } } }), /what becomes of its machines' disks/],
  ["compute:VirtualMachine", withInputs({ vmName: "other-name" }), /a VM's name/],
  ["compute:VirtualMachine", withInputs({ zones: ["3"] }), /its own zone/],
  ["network:LoadBalancer", withInputs({ probes: [{ protocol: "Https", port: 6443 }] }), /has a path/],
  ["network:SecurityRule", withInputs({ priority: 500 }), /between 100 and 499/],
  ["network:Subnet", ({ defaultOutboundAccess: _, ...rest }) => rest, /no implicit way out/],
  ["network:PublicIPAddress", withInputs({ sku: { name: "Basic" } }), /Standard public address/],
  ["keyvault:Vault", withInputs({ vaultName: "a--b" }), /a vault's name/],
  [
    "keyvault:Vault",
    ({ properties, ...rest }) => ({ ...rest, properties: { ...mapOf(properties), enablePurgeProtection: false } }),
    /by roles/,
  ],
];

function profile(change: PropertyMap) {
  return (inputs: PropertyMap): PropertyMap => ({
    ...inputs,
    virtualMachineProfile: { ...mapOf(inputs.virtualMachineProfile), ...change },
  });
}

function osProfile(change: PropertyMap) {
  return (inputs: PropertyMap): PropertyMap =>
    profile({ osProfile: { ...mapOf(mapOf(inputs.virtualMachineProfile).osProfile), ...change } })(inputs);
}

const dev = await runStack("azure-dev");
const prod = await runStack("azure-prod");
const special = await runStack("azure-dev", {
  name: "a",
  encryptionAtHost: "true",
  access: { serviceAccountKeys: ["rsa-1"], workloadIdentity: {} },
  pools: [{ name: "win2025xx", os: "windows-2025", spot: true, autoscale: { min: 0, max: 100 } }],
});

describe("the request bodies for Azure", () => {
  it("break no rule that the types miss", () => {
    for (const { program } of [dev, prod, special]) assert.deepEqual(bodyProblems(program), []);
  });

  it("are met by every rule of the table at least once", () => {
    const types = new Set([dev, special].flatMap(({ program }) => program.resources.map(({ type }) => type)));
    for (const kind of Object.keys(bodyRules)) assert.ok(types.has(`azure-native:${kind}`), kind);
  });

  it("would be told of a cloud controller that writes scale sets", () => {
    const resources = dev.program.resources.map((each) =>
      each.name.endsWith("azure-cloud-provider") ? { ...each, inputs: { ...each.inputs, stringData: {} } } : each,
    );
    const told = bodyProblems({ ...dev.program, resources });
    const sets = told.map((text) => text.split(":")[0]);
    const wanted = ["linux", "win2019", "win2022"].map((pool) => `azure-dev-pool-${pool}-group`);
    assert.deepEqual(sets, wanted);
  });

  for (const [index, [kind, change, rule]] of broken.entries())
    it(`would be told when broken, ${index + 1}: ${rule.source}`, () => {
      const type = `azure-native:${kind}`;
      // A Windows scale set, which most rules are about.
      const target = dev.program.resources.findLast((each) => each.type === type);
      assert.ok(target !== undefined);
      const resources = dev.program.resources.map((each) =>
        each === target ? { ...each, inputs: change(each.inputs) } : each,
      );
      const told = bodyProblems({ ...dev.program, resources });
      const isTold = told.some((text) => rule.test(text) && text.startsWith(`${target.name}:`));
      assert.ok(isTold, told.join("\n"));
    });
});
