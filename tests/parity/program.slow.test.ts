// Sees what nothing faster does: names and tags of whole programs.
import assert from "node:assert/strict";
import { inDns } from "../../components/azure/roles.ts";
import type { Cloud } from "../../components/config/schema.ts";
import { mapOf, reveal, textOf } from "../../components/gates/values.ts";
import { awsObjects, storedObjects } from "../../plan/fakes/awsAccess.ts";
import { collectAwsMachines } from "../../plan/fakes/awsMachines.ts";
import { exampleControlPlane, fileOf } from "../machine/examples.ts";
import { azureType, ofType, type Recorded, resource, runSpec, runStack, specOf } from "../support/mocks.ts";

const name = "api.shop.example.com";
const issuer = { name: "corp", issuer: "https://id.example.com", clientId: "kubernetes" };
const azureZone = (kind: string) =>
  `/subscriptions/00000000-0000-4000-8000-000000000000/resourceGroups/dns/providers/Microsoft.Network/${kind}/example.com`;
const open = { allow: ["203.0.113.0/24"] };

const run = (cloud: Cloud, zone: string, access: object = {}) =>
  runSpec(specOf(`${cloud}-dev`, { access: { dns: { name, zone }, signIn: [issuer], ...access } }));

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
      assert.match(
        JSON.stringify(reveal(made.program.outputs.signInKubeconfigs ?? null)),
        /server: https:\/\/api\.shop\.example\.com:6443/,
      );
      assert.equal(textOf(made.program.outputs.namedEndpoint), `https://${name}:6443`);
    });

  it("leads to each kind of load balancer on Azure", async () => {
    const entry = { resourceGroupName: "dns", relativeRecordSetName: "api.shop", ttl: 300 };
    const inside = { recordType: "A", aRecords: [{ ipv4Address: "10.0.224.4" }] };
    assert.deepEqual(
      recordOf(
        await run("azure", azureZone("privateDnsZones"), { public: open }),
        "azure-native:privatedns:PrivateRecordSet",
      ),
      { ...entry, privateZoneName: "example.com", ...inside },
    );
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
    assert.match(
      fileOf(
        exampleControlPlane(specOf("aws-dev", { access: { dns: { name }, names: ["api.corp.example", "10.99.0.7"] } })),
        "/etc/fenestra/kubeadm.yaml",
      ),
      /- localhost\n {4}- api\.shop\.example\.com\n {4}- api\.corp\.example\n {4}- 10\.99\.0\.7\n/,
    );
  });
});

const stash = "pulumi:index:Stash";

const runGuard = (cloud: Cloud, changes: Readonly<Record<string, string>> = {}) =>
  runSpec(specOf(`${cloud}-dev`, changes));

/** The guard's refusal in an update of a stack that keeps this. */
function refusal({ hooks }: Recorded, kept: unknown) {
  const hook = hooks.get("fenestra-guard");
  assert.ok(hook !== undefined && "opts" in hook && hook.opts?.onDryRun === true);
  try {
    Reflect.apply(hook.callback, undefined, [{ oldInputs: { input: kept } }]);
    return "";
  } catch (error) {
    return String(error);
  }
}

describe("the guard of a stack", () => {
  for (const cloud of ["aws", "azure"] as const)
    it(`is one resource whatever the cluster on ${cloud} is called, and refuses another name`, async () => {
      const [before, after] = [await runGuard(cloud), await runGuard(cloud, { name: "other" })];
      const [old, now] = [before, after].map((each) => resource(each, stash, "fenestra-guard"));
      assert.ok(old !== undefined && now !== undefined);
      assert.equal(old.urn, now.urn);
      // No cloud resource is touched before it has looked.
      const [provider, ...more] = before.program.resources.filter(({ type }) =>
        /^pulumi:providers:(aws|azure-native)$/.test(type),
      );
      assert.deepEqual([provider?.dependencies, more], [[old.urn], []]);
      const kept = reveal(old.inputs.input ?? null);
      assert.equal(refusal(before, kept), "");
      assert.match(
        refusal(after, kept),
        new RegExp(`fenestra:name: cannot change(.|\\n)*found: +"other"\\n +allowed: ${cloud}-dev\\n`),
      );
    });

  it("refuses the other cloud", async () => {
    const { name } = specOf("aws-dev");
    const kept = reveal(resource(await runGuard("aws"), stash, "fenestra-guard").inputs.input ?? null);
    assert.match(refusal(await runGuard("azure", { name }), kept), /fenestra:cloud: cannot change/);
  });
});

describe("the program on AWS", () => {
  it("has names that fit AWS's limits, Pulumi's suffix included, with the longest names there can be", async () => {
    const pools = [{ name: "p".repeat(20), os: "linux", perZone: true }];
    const recorded = await runStack("aws-prod", { name: "c".repeat(20), pools: JSON.stringify(pools) });
    // A hyphen and seven random characters.
    const suffix = 8;
    const limits = {
      "aws:iam/role:Role": 64,
      "aws:s3/bucket:Bucket": 63,
      "aws:ec2/launchTemplate:LaunchTemplate": 128,
    };
    for (const [type, limit] of Object.entries(limits)) {
      const names = [...ofType(recorded, type).keys()];
      assert.ok(names.length > 0, type);
      assert.deepEqual(
        names.filter((name) => name.length + suffix > limit),
        [],
      );
    }
  });

  it("of GovCloud names everything in its own partition", async () => {
    const region = "us-gov-west-1";
    const { program } = await runStack("aws-dev", { region, network: { zones: [`${region}a`] } });
    const text = JSON.stringify(program.resources.map(({ inputs, outputs }) => [inputs, outputs]));
    assert.doesNotMatch(text, /arn:aws:/);
    assert.match(text, /arn:aws-us-gov:s3:::/);
    // The roles may read the machines' scripts.
    const machines = collectAwsMachines(program);
    for (const [object] of storedObjects(program)) {
      const [bucket = "", ...key] = object.split("/");
      assert.ok(
        machines.some(({ role }) => awsObjects(program, role)(bucket, key.join("/")) !== undefined),
        object,
      );
    }
  });
});

/** Kinds without tags (Azure documentation, tag support for resources). */
const untagged = [
  "authorization:RoleAssignment",
  "network:SecurityRule",
  "network:Subnet",
  "privatedns:PrivateRecordSet",
  "storage:BlobContainer",
  "storage:BlobServiceProperties",
  "storage:ManagementPolicy",
].map(azureType);

describe("the program on Azure", () => {
  it("tags every resource that Azure has tags for, and places it in the group and the region", async () => {
    const { program } = await runStack("azure-prod");
    const azure = program.resources.filter(({ type }) => type.startsWith("azure-native:"));
    assert.ok(azure.length > 80);
    for (const { name, type, inputs } of azure) {
      const tagged = !untagged.includes(type);
      const inDns = type.includes(":privatedns:");
      assert.equal(
        mapOf(inputs.tags)[inDns ? "fenestra_cluster" : "fenestra:cluster"],
        tagged ? "azure-prod" : undefined,
        name,
      );
      if (type !== azureType("authorization:RoleAssignment"))
        assert.equal(inputs.resourceGroupName, "fenestra-azure-prod", name);
      if (tagged && type !== azureType("keyvault:Secret"))
        assert.equal(inputs.location, inDns ? "global" : "westeurope", name);
    }
  });

  it("spells names of tags as Azure's DNS keeps them", () => {
    assert.deepEqual(
      inDns({
        name: "g",
        subscriptionId: "s",
        location: "westeurope",
        tags: { "fenestra:cluster": "a", "cost centre": "b", "2nd-owner": "c", plain_1: "d" },
      }).tags,
      { fenestra_cluster: "a", cost_centre: "b", _2nd_owner: "c", plain_1: "d" },
    );
  });

  it("has the cloud controller tag what it makes too: load balancers of Services and their addresses", async () => {
    const spec = specOf("azure-dev");
    const recorded = await runSpec({ ...spec, tags: { ...spec.tags, owner: "a, b = c" } });
    const { inputs } = resource(recorded, azureType("network:NetworkSecurityGroup"), "azure-dev-security-workers");
    const config = [...ofType(recorded, "kubernetes:core/v1:Secret").values()].find(
      ({ inputs: { metadata } }) => mapOf(metadata).name === "azure-cloud-provider",
    );
    const { tagsMap } = JSON.parse(textOf(mapOf(config?.inputs.stringData)["cloud-config"]) ?? "");
    assert.deepEqual(tagsMap, {
      "fenestra:cluster": "azure-dev",
      "fenestra:environment": "development",
      owner: "a, b = c",
    });
    // The controller tags that group as well: other tags would be undone by each update.
    assert.deepEqual(mapOf(inputs.tags), tagsMap);
  });
});
