import assert from "node:assert/strict";
import { hostRoutes, windowsNetwork } from "../../../components/machine/windows/network.ts";
import { readWindowsScript, windowsScripts } from "../../../components/machine/windows/worker.ts";
import { flannel, flannelConflist } from "../../../components/podNetworks/flannel/network.ts";
import { podAcls } from "../../../components/podNetworks/podAcls.ts";
import { exampleSpec } from "../../support/stacks.ts";

/** Keys that each type of policy may have below `Settings` in HCN version 2, from microsoft/hcsshim, hcn/hcnpolicy.go. */
const settingsOf: Readonly<Record<string, readonly string[]>> = {
  OutBoundNAT: ["VirtualIP", "Exceptions", "Destinations", "Flags"],
  SDNRoute: ["DestinationPrefix", "NextHop", "NeedEncap"],
  ProviderAddress: ["ProviderAddress"],
  ACL: ["Protocols", "Action", "Direction", "LocalAddresses", "RemoteAddresses", "LocalPorts", "RemotePorts", "RuleType", "Priority"],
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
  for (const stack of ["aws-prod", "azure-prod"] as const) {
    const conflist = JSON.parse(flannelConflist(exampleSpec(stack), { metadataAcl: true }));
    const [flannel] = conflist.plugins;

    it(`${stack}: bears the name of the HNS network and delegates to win-overlay, version 2`, () => {
      assert.equal(conflist.name, "flannel.4096");
      assert.equal(conflist.cniVersion, "1.0.0");
      assert.deepEqual(Object.keys(flannel), ["type", "subnetFile", "capabilities", "delegate"]);
      assert.equal(flannel.type, "flannel");
      assert.deepEqual(flannel.capabilities, { dns: true });
      assert.deepEqual(Object.keys(flannel.delegate), ["type", "apiVersion", "loopbackDSR", "policies"]);
      assert.equal(flannel.delegate.loopbackDSR, true);
      assert.equal(flannel.delegate.type, "win-overlay");
      assert.equal(flannel.delegate.apiVersion, 2);
    });

    it(`${stack}: has policies of the exact form of version 2`, () => {
      assert.deepEqual(wrongForm(flannel.delegate.policies), []);
      assert.deepEqual(flannel.delegate.policies.slice(0, 3), [
        {
          name: "EndpointPolicy",
          value: { Type: "OutBoundNAT", Settings: { Exceptions: ["10.244.0.0/16", "10.96.0.0/16"] } },
        },
        {
          name: "EndpointPolicy",
          value: { Type: "SDNRoute", Settings: { DestinationPrefix: "10.96.0.0/16", NeedEncap: true } },
        },
        { name: "EndpointPolicy", value: { Type: "ProviderAddress", Settings: { ProviderAddress: "@NODE_IP@" } } },
      ]);
    });
  }

  it("has no ACL where a pool switches them off", () => {
    const { plugins } = JSON.parse(flannelConflist(exampleSpec("aws-prod"), { metadataAcl: false }));
    const types = plugins[0].delegate.policies.map(({ value }: { value: { Type: string } }) => value.Type);
    assert.deepEqual(types, ["OutBoundNAT", "SDNRoute", "ProviderAddress"]);
  });

  it("policies in the form of version 1 are found out", () => {
    const old = [
      { name: "EndpointPolicy", value: { Type: "OutBoundNAT", ExceptionList: ["10.244.0.0/16"] } },
      { name: "EndpointPolicy", value: { Type: "ROUTE", DestinationPrefix: "10.96.0.0/16", NeedEncap: true } },
      { name: "EndpointPolicy", value: { Type: "ACL", Settings: { Protocol: 6 } } },
    ];
    assert.deepEqual(wrongForm(old), ["OutBoundNAT has ExceptionList outside Settings", "type ROUTE", "ACL has no Protocol"]);
  });

  it("blocks the metadata service on AWS and lets everything else through", () => {
    assert.deepEqual(podAcls("aws"), [
      {
        Action: "Block",
        Direction: "Out",
        Protocols: "6",
        RemoteAddresses: "169.254.169.254/32",
        RemotePorts: "80",
        Priority: 200,
        RuleType: "Switch",
      },
      { Action: "Allow", Direction: "In", Priority: 65500 },
      { Action: "Allow", Direction: "Out", Priority: 65500 },
    ]);
  });

  it("blocks on Azure also the two ports of the platform's address", () => {
    const blocked = podAcls("azure").filter(({ Action }) => Action === "Block");
    assert.deepEqual(
      blocked.map(({ RemoteAddresses, RemotePorts, Protocols }) => [RemoteAddresses, RemotePorts, Protocols]),
      [
        ["169.254.169.254/32", "80", "6"],
        ["168.63.129.16/32", "80", "6"],
        ["168.63.129.16/32", "32526", "6"],
      ],
    );
  });

  it("allows both directions whenever it blocks anything, since the first ACL denies all else", () => {
    for (const cloud of ["aws", "azure"] as const) {
      const allowed = podAcls(cloud).filter(({ Action }) => Action === "Allow");
      assert.deepEqual(allowed.map(({ Direction }) => Direction).sort(), ["In", "Out"]);
      for (const acl of allowed) assert.ok(!("RemoteAddresses" in acl));
    }
  });
});

describe("the network of a Windows node", () => {
  for (const stack of ["aws-prod", "azure-prod"] as const) {
    it(`${stack}: has one name in the scripts, the CNI configuration and the folder of the pods' addresses`, () => {
      const spec = exampleSpec(stack);
      const network = JSON.parse(JSON.stringify(windowsNetwork(spec)));
      assert.equal(network.name, "flannel.4096");
      assert.equal(JSON.parse(flannelConflist(spec, { metadataAcl: true })).name, network.name);
      assert.equal(network.reservations.split("\\").at(-1), network.name);
      assert.equal(network.reservations, `${network.hostLocal}\\${network.name}`);
      assert.equal(network.name, `flannel.${network.vni}`);
    });
  }

  it("is made by flanneld alone: no script names an adapter to HNS, which refuses one that is in a virtual switch already", () => {
    for (const name of windowsScripts(flannel)) assert.doesNotMatch(readWindowsScript(name, flannel), /NetworkAdapterName/i, name);
    // Where a switch stayed behind, flanneld's own entry makes the network, and nothing else makes one.
    const making = windowsScripts(flannel).filter((name) => /Invoke-Hns POST/.test(readWindowsScript(name, flannel)));
    assert.deepEqual(making, ["start-flanneld.ps1"]);
  });

  it("is Ready only after the routes that the virtual switch cost were repaired", () => {
    const script = readWindowsScript("start-flanneld.ps1", flannel);
    const places = ["Wait-Until { Test-VirtualSwitch }", "Repair-Routes $Network.routes", "Write-Text $Network.conflist"].map((step) =>
      script.indexOf(step),
    );
    assert.ok(places.every((place) => place > 0));
    assert.deepEqual(
      places,
      places.toSorted((a, b) => a - b),
    );
  });

  it("keeps these host routes", () => {
    assert.deepEqual(hostRoutes("aws"), [
      "169.254.169.254/32",
      "169.254.169.123/32",
      "169.254.169.249/32",
      "169.254.169.250/32",
      "169.254.169.251/32",
      "169.254.169.253/32",
    ]);
    assert.deepEqual(hostRoutes("azure"), ["169.254.169.254/32"]);
  });
});
