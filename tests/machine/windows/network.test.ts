import assert from "node:assert/strict";
import { readWindowsScript, windowsScripts } from "../../../components/machine/windows/worker.ts";
import { flannel, flannelConflist } from "../../../components/podNetworks/flannel/network.ts";
import { exampleSpec } from "../../support/stacks.ts";

/**
 * Keys that each type of policy may have below `Settings` in HCN version 2, from microsoft/hcsshim, hcn/hcnpolicy.go.
 */
const settingsOf: Readonly<Record<string, readonly string[]>> = {
  OutBoundNAT: ["VirtualIP", "Exceptions", "Destinations", "Flags"],
  SDNRoute: ["DestinationPrefix", "NextHop", "NeedEncap"],
  ProviderAddress: ["ProviderAddress"],
  ACL: [
    "Protocols",
    "Action",
    "Direction",
    "LocalAddresses",
    "RemoteAddresses",
    "LocalPorts",
    "RemotePorts",
    "RuleType",
    "Priority",
  ],
};

/** What is wrong with policies in the eyes of version 2, which itself skips such a policy without a word. */
function wrongForm(policies: readonly { name: string; value: Record<string, unknown> }[]): readonly string[] {
  return policies.flatMap(({ name, value }) => {
    const { Type, Settings, ...rest } = value;
    const known = settingsOf[String(Type)];
    if (name !== "EndpointPolicy") return [`name ${name}`];
    if (known === undefined) return [`type ${String(Type)}`];
    if (Object.keys(rest).length > 0) return [`${String(Type)} has ${Object.keys(rest)} outside Settings`];
    if (typeof Settings !== "object" || Settings === null) return [`${String(Type)} has no Settings`];
    return Object.keys(Settings)
      .filter((key) => !known.includes(key))
      .map((key) => `${String(Type)} has no ${key}`);
  });
}

describe("the CNI configuration of a Windows node", () => {
  for (const stack of ["aws-prod", "azure-prod"] as const)
    it(`${stack}: has policies of the exact form of version 2`, () => {
      const { plugins } = JSON.parse(flannelConflist(exampleSpec(stack), { metadataAcl: true }));
      assert.deepEqual(wrongForm(plugins[0].delegate.policies), []);
    });
});

describe("the network of a Windows node", () => {
  it("is made by flanneld alone: no script names an adapter to HNS, which refuses one that is in a virtual switch already", () => {
    for (const name of windowsScripts(flannel))
      assert.doesNotMatch(readWindowsScript(name, flannel), /NetworkAdapterName/i, name);
    // Where a switch stayed behind, flanneld's own entry makes the network, and nothing else makes one.
    const making = windowsScripts(flannel).filter((name) => /Invoke-Hns POST/.test(readWindowsScript(name, flannel)));
    assert.deepEqual(making, ["start-flanneld.ps1"]);
  });
});
