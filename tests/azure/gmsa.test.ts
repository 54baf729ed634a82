import assert from "node:assert/strict";
import { roles } from "../../components/azure/roles.ts";
import { listOf, mapOf, textOf } from "../../plan/program/values.ts";
import { gmsa, gmsaSecrets } from "../kubernetes/switches.ts";
import { azureType, ofType, resource, runSpec, runStack, specOf } from "../support/mocks.ts";

const identityType = azureType("managedidentity:UserAssignedIdentity");

const stack = specOf("azure-dev");
const [windows] = stack.pools.filter((pool) => pool.os === "windows");
const pools = stack.pools.map((pool) => ({ ...pool, ccgPlugin: pool === windows }));
const recorded = await runSpec({ ...stack, pools, addons: { ...stack.addons, gmsa: gmsa("azure") } });

describe("secrets of gMSA accounts on Azure", () => {
  it("are read by one identity, each by its own role, which only pools with the plug-in have beside their own", () => {
    const identity = resource(recorded, identityType, "azure-dev-gmsa-identity");
    const assigned = [...ofType(recorded, azureType("authorization:RoleAssignment")).values()].filter(({ name }) =>
      name.startsWith("azure-dev-gmsa-read"),
    );
    const scopes = assigned.map(({ inputs }) => textOf(inputs.scope));
    assert.deepEqual(scopes, [gmsaSecrets.azure]);
    assert.match(textOf(assigned[0]?.inputs.roleDefinitionId) ?? "", new RegExp(`${roles.keyVaultSecretsUser}$`));
    for (const { name, ccgPlugin } of pools) {
      const { inputs, dependencies } = resource(
        recorded,
        azureType("compute:VirtualMachineScaleSet"),
        `azure-dev-pool-${name}-group`,
      );
      const held = listOf(mapOf(inputs.identity).userAssignedIdentities);
      assert.equal(held.includes(identity.id ?? "none"), ccgPlugin, name);
      assert.equal(held.length, ccgPlugin ? 2 : 1);
      // The controllers' right to hand it on outlives the set.
      const handsOn = dependencies.some((urn) => urn.endsWith("::azure-dev-gmsa-controllers"));
      assert.equal(handsOn, ccgPlugin, name);
    }
  });

  it("may be handed to machines by the controllers, and is named in the credential specification", () => {
    const identity = resource(recorded, identityType, "azure-dev-gmsa-identity");
    const operator = resource(recorded, azureType("authorization:RoleAssignment"), "azure-dev-gmsa-controllers");
    assert.equal(textOf(operator.inputs.scope), identity.id);
    assert.match(textOf(operator.inputs.roleDefinitionId) ?? "", new RegExp(`${roles.managedIdentityOperator}$`));
    const account = resource(recorded, "kubernetes:windows.k8s.io/v1:GMSACredentialSpec", "azure-dev-in-gmsa-web");
    const host = mapOf(mapOf(mapOf(account.inputs.credspec).ActiveDirectoryConfig).HostAccountConfig);
    const reader = resource(recorded, azureType("authorization:RoleAssignment"), "azure-dev-gmsa-read-0");
    assert.equal(
      textOf(host.PluginInput),
      `ObjectId=${textOf(reader.inputs.principalId)};SecretUri=https://domain-vault.vault.azure.net/secrets/gmsa-web`,
    );
  });

  it("need no identity where no pool has the plug-in", async () => {
    const plain = await runStack("azure-dev");
    assert.ok(![...ofType(plain, identityType).values()].some(({ name }) => name.includes("gmsa")));
  });
});
