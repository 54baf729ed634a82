import assert from "node:assert/strict";
import { reveal, textOf } from "../../components/gates/resources.ts";
import { exampleControlPlane, fileOf } from "../machine/examples.ts";
import { type Recorded, resource, runSpec, specOf } from "../support/mocks.ts";

const name = "api.shop.example.com";
const issuer = { name: "corp", issuer: "https://id.example.com", clientId: "kubernetes" };
const azureZone = (kind: string): string =>
  `/subscriptions/00000000-0000-4000-8000-000000000000/resourceGroups/dns/providers/Microsoft.Network/${kind}/example.com`;
const open = { allow: ["203.0.113.0/24"] };

function run(cloud: "aws" | "azure", zone: string, access: object = {}): Promise<Recorded> {
  const settings = { dns: { name, zone }, signIn: [issuer], ...access };
  const spec = specOf(`${cloud}-dev`, { access: settings });
  return runSpec(spec);
}

function recordOf({ program }: Recorded, type: string): unknown {
  const found = program.resources.filter((each) => each.type === type && each.name.endsWith("-api-name"));
  assert.equal(found.length, 1, type);
  return found.map(({ inputs }) => reveal(inputs))[0];
}

describe("the API's own name", () => {
  for (const role of ["internal", "public"] as const)
    it(`leads to the ${role} load balancer on AWS`, async () => {
      const made = await run("aws", "Z0123456789ABCDEFGHIJ", role === "public" ? { public: open } : {});
      const target = resource(made, "aws:lb/loadBalancer:LoadBalancer", `aws-dev-api-${role}`).outputs;
      assert.deepEqual(recordOf(made, "aws:route53/record:Record"), {
        zoneId: "Z0123456789ABCDEFGHIJ",
        name,
        type: "A",
        aliases: [{ name: textOf(target.dnsName), zoneId: textOf(target.zoneId), evaluateTargetHealth: false }],
      });
      const kubeconfigs = JSON.stringify(reveal(made.program.outputs.signInKubeconfigs ?? null));
      assert.match(kubeconfigs, /server: https:\/\/api\.shop\.example\.com:6443/);
      assert.equal(textOf(made.program.outputs.namedEndpoint), `https://${name}:6443`);
    });

  it("leads to each kind of load balancer on Azure", async () => {
    const entry = { resourceGroupName: "dns", relativeRecordSetName: "api.shop", ttl: 300 };
    const inside = { recordType: "A", aRecords: [{ ipv4Address: "10.0.224.4" }] };
    const own = await run("azure", azureZone("privateDnsZones"), { public: open });
    assert.deepEqual(recordOf(own, "azure-native:privatedns:PrivateRecordSet"), {
      ...entry,
      privateZoneName: "example.com",
      ...inside,
    });
    const zone = { ...entry, zoneName: "example.com" };
    assert.deepEqual(recordOf(await run("azure", azureZone("dnszones")), "azure-native:dns:RecordSet"), {
      ...zone,
      ...inside,
    });
    const made = await run("azure", azureZone("dnszones"), { public: open });
    const publicHost = (textOf(made.program.outputs.publicEndpoint) ?? "").replace(/^https:\/\/(.*):6443$/, "$1");
    assert.deepEqual(recordOf(made, "azure-native:dns:RecordSet"), {
      ...zone,
      recordType: "CNAME",
      cnameRecord: { cname: publicHost },
    });
  });

  it("is in the certificate, with the other names", () => {
    const access = { dns: { name }, names: ["api.corp.example", "10.99.0.7"] };
    const kubeadm = fileOf(exampleControlPlane(specOf("aws-dev", { access })), "/etc/fenestra/kubeadm.yaml");
    assert.match(kubeadm, /- localhost\n {4}- api\.shop\.example\.com\n {4}- api\.corp\.example\n {4}- 10\.99\.0\.7\n/);
  });
});
