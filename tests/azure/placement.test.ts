import assert from "node:assert/strict";
import { rolesAllow, rolesOf } from "../../plan/fakes/azureAccess.ts";
import { mapOf, textOf } from "../../plan/program/values.ts";
import { azureType, resource, runStack } from "../support/mocks.ts";

const shared = "/subscriptions/01234567-89ab-cdef-0123-456789abcdef/resourceGroups/shared/providers";
const key = `${shared}/Microsoft.Compute/diskEncryptionSets/own`;
const etcdKey = `${shared}/Microsoft.Compute/diskEncryptionSets/etcd`;
const agents = `${shared}/Microsoft.Network/applicationSecurityGroups/agents`;

const pools = [
  { name: "win", os: "windows-2022", securityGroups: [agents], disk: { type: "StandardSSD_LRS", encryptionKey: key } },
  { name: "cheap", os: "linux", disk: { encryptionKey: key.replace("/own", "/OWN") } },
];

const controlPlane = { osDisk: { type: "StandardSSD_LRS", encryptionKey: key }, etcdDisk: { encryptionKey: etcdKey } };
const network = { zones: ["1", "2"], natAddresses: 2 };
const made = await runStack("azure-dev", { pools, controlPlane, network });

describe("purchase and placement of pools on Azure", () => {
  const group = (pool: string) =>
    resource(made, azureType("compute:VirtualMachineScaleSet"), `azure-dev-pool-${pool}-group`).inputs;
  const profile = (pool: string) => mapOf(group(pool).virtualMachineProfile);

  it("let the disk driver attach volumes, for which Azure asks that it may read the set of each disk of the machine", () => {
    const identity = resource(
      made,
      azureType("managedidentity:UserAssignedIdentity"),
      "azure-dev-control-plane-identity-identity",
    );
    const roles = rolesOf(made.program, textOf(identity.outputs.principalId) ?? "");
    const may = (action: string, set: string) =>
      rolesAllow(roles, { action: `Microsoft.Compute/diskEncryptionSets/${action}`, plane: "control", resource: set });
    for (const set of [key, etcdKey]) assert.deepEqual([may("read", set), may("write", set)], [true, false], set);
    assert.equal(may("read", `${key}-of-others`), false);
  });

  it("are members of further application security groups", () => {
    const own = resource(made, azureType("network:ApplicationSecurityGroup"), "azure-dev-security-workers").id;
    assert.ok(JSON.stringify(profile("win").networkProfile).includes(JSON.stringify([{ id: own }, { id: agents }])));
  });

  it("leave the network by as many addresses as the stack file says", () => {
    const addresses = made.program.resources.filter(({ name }) => /-nat-1(-2)?$/.test(name)).slice(0, 2);
    const [gateway] = made.program.resources.filter(({ type }) => type === azureType("network:NatGateway"));
    assert.deepEqual(
      addresses.map(({ name, type }) => [name, type]),
      ["azure-dev-network-nat-1", "azure-dev-network-nat-1-2"].map((name) => [
        name,
        azureType("network:PublicIPAddress"),
      ]),
    );
    assert.deepEqual(
      gateway?.inputs.publicIpAddresses,
      addresses.map(({ id }) => ({ id })),
    );
  });
});
