import assert from "node:assert/strict";
import { gunzipSync } from "node:zlib";
import { etcdDevice } from "../../components/azure/controlPlaneMachine.ts";
import { storageAccountName, vaultName } from "../../components/azure/secretNames.ts";
import { securityRules } from "../../components/azure/securityRules.ts";
import { secretPlaceholder } from "../../components/model/secretsEncryption.ts";
import { nameOfUrn } from "../../plan/program/recorded.ts";
import { listOf, mapOf, reveal, textOf } from "../../plan/program/values.ts";
import { azureType, ofType, resource, runStack, specOf } from "../support/mocks.ts";

const prod = await runStack("azure-prod");
const dev = await runStack("azure-dev");

describe("the control plane on Azure", () => {
  it("has machines in zones at fixed addresses, with a disk and a card that outlive them", () => {
    for (const index of [0, 1, 2]) {
      const name = `azure-prod-control-plane-${index}`;
      const { inputs, options } = resource(prod, azureType("compute:VirtualMachine"), `${name}-instance`);
      const card = resource(prod, azureType("network:NetworkInterface"), `${name}-address`);
      const disk = resource(prod, azureType("compute:Disk"), `${name}-etcd`);
      assert.deepEqual([inputs.vmName, inputs.zones], [`azure-prod-cp-${index}`, [String(index + 1)]]);
      assert.deepEqual(disk.inputs.zones, inputs.zones);
      assert.deepEqual(mapOf(inputs.storageProfile).dataDisks, [
        { lun: 0, createOption: "Attach", managedDisk: { id: disk.id }, deleteOption: "Detach", caching: "None" },
      ]);
      assert.deepEqual(mapOf(inputs.networkProfile).networkInterfaces, [
        { id: card.id, primary: true, deleteOption: "Detach" },
      ]);
      assert.equal(mapOf(listOf(card.inputs.ipConfigurations)[0]).privateIPAddress, `10.20.${224 + 4 * index}.10`);
      assert.equal(card.inputs.enableAcceleratedNetworking, true);
      assert.deepEqual(options.replaceWith, [disk.urn, card.urn]);
      assert.match(textOf(options.replacementTrigger) ?? "", /^[0-9a-f]{64}$/);
      const others = resource(prod, "pulumi:index:Stash", `azure-prod-control-plane-before-${index}`);
      const machine = resource(prod, azureType("compute:VirtualMachine"), `${name}-instance`);
      // Disk and card too: either takes its machine along.
      for (const each of [machine, disk, card])
        assert.ok(each.dependencies.includes(others.urn), `${each.name} waits for ${others.name}`);
      const last = index === 0 ? "upgrade" : `gate-${index - 1}`;
      assert.ok(others.dependencies.some((urn) => urn.endsWith(`::azure-prod-control-plane-${last}`)));
    }
  });

  it("has gates that hold the machine's unique id, since name and resource id stay with a replacement", () => {
    const machine = resource(prod, azureType("compute:VirtualMachine"), "azure-prod-control-plane-1-instance");
    const gate = resource(prod, "pulumi:index:Stash", "azure-prod-control-plane-gate-1");
    assert.equal(textOf(gate.inputs.input), textOf(machine.outputs.vmId));
    assert.match(textOf(machine.outputs.vmId) ?? "", /^[0-9a-f-]{36}$/);
  });

  it("tells its machines of both vaults, the disk and the container, by name and never by value", () => {
    const { inputs } = resource(dev, azureType("compute:VirtualMachine"), "azure-dev-control-plane-0-instance");
    const packed = Buffer.from(textOf(mapOf(inputs.osProfile).customData) ?? "", "base64");
    const text = gunzipSync(packed).toString("utf8");
    const [ca, join] = ["ca", "join"].map(
      (purpose) => resource(dev, azureType("keyvault:Vault"), `azure-dev-secrets-${purpose}`).outputs.name,
    );
    for (const part of [
      `https://${textOf(ca)}.vault.azure.net/secrets/kubernetes-ca`,
      `https://${textOf(ca)}.vault.azure.net/secrets/initialised`,
      `https://${textOf(join)}.vault.azure.net/secrets/join`,
      "blob.core.windows.net/etcd",
      etcdDevice.split(" ")[0] ?? "?",
    ])
      assert.ok(text.includes(part), part);
  });

  it("waits for its secrets, its roles and its way out", () => {
    // By the gate before it.
    const { dependencies } = resource(dev, "pulumi:index:Stash", "azure-dev-control-plane-before-0");
    const names = dependencies.map(nameOfUrn);
    for (const before of [
      "azure-dev-secrets-kubernetes-ca",
      "azure-dev-secrets-read-keys",
      "azure-dev-secrets-write-join",
      "azure-dev-secrets-write-initialised",
      "azure-dev-snapshots-write",
      "azure-dev-control-plane-identity-machines",
      "azure-dev-control-plane-identity-networking",
      "azure-dev-network-control-plane-1",
      "azure-dev-security-control-plane-closed",
    ])
      assert.ok(names.includes(before), before);
  });
});

describe("the secrets on Azure", () => {
  it("are in two vaults; what machines write has no value that matters and is never updated", async () => {
    const recorded = await runStack("azure-prod");
    const secrets = [...ofType(recorded, azureType("keyvault:Secret"))].map(([name, { inputs, options }]) => {
      const value = textOf(reveal(mapOf(inputs.properties).value ?? null));
      return [
        name.replace("azure-prod-secrets-", ""),
        textOf(inputs.vaultName)?.split("-").at(-2),
        value === secretPlaceholder,
        options.ignoreChanges.join(),
        nameOfUrn(options.deletedWith ?? ""),
        ...(options.retainOnDelete === true ? ["retained"] : []),
      ];
    });
    const fixed = ["etcd-ca", "front-proxy-ca", "kubernetes-ca", "service-account"];
    const pools = [...ofType(recorded, "fenestra:azure:Pool").keys()];
    assert.deepEqual(secrets.sort(), [
      ...pools.map((name) => [`${name}-join`, "join", true, "properties,tags", "", "retained"]).sort(),
      ["encryption-key", "ca", false, "", "azure-prod-secrets-ca", "retained"],
      ...fixed.map((name) => [name, "ca", false, "", "azure-prod-secrets-ca"]).slice(0, 2),
      ["initialised", "ca", true, "properties,tags", "azure-prod-secrets-ca"],
      ["join", "join", true, "properties,tags", "azure-prod-secrets-join"],
      ...fixed.map((name) => [name, "ca", false, "", "azure-prod-secrets-ca"]).slice(2),
    ]);
    const purge = [...ofType(recorded, azureType("keyvault:Vault")).values()].map(
      ({ inputs }) => mapOf(inputs.properties).enablePurgeProtection,
    );
    assert.deepEqual(purge, [true, true]);
  });

  it("have names within Azure's limits for every cluster's name", () => {
    for (const cluster of ["a", "a--b", "a-b-c-d-e-f-g-h-i-jk", "a".repeat(20)]) {
      for (const purpose of ["ca", "join"] as const)
        assert.match(vaultName(cluster, purpose, "x".repeat(8)), /^[a-z](?!.*--)[a-z0-9-]{1,22}[a-z0-9]$/);
      assert.match(storageAccountName(cluster, "oidc", "x".repeat(8)), /^[a-z0-9]{3,24}$/);
    }
  });
});

// `fenestra plan` prints the rules.
describe("the security rules on Azure", () => {
  it("let peered networks call a private API, and none but our own where a default route could open the public one", () => {
    const peer = (stack: string) => securityRules(specOf(stack)).find(({ priority }) => priority === 110)?.peer;
    assert.deepEqual(peer("azure-prod"), { tag: "VirtualNetwork" });
    assert.deepEqual(peer("azure-dev"), { cidrs: ["10.0.0.0/16"] });
  });
});
