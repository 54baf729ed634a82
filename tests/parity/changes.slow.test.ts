import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import type { Cloud } from "../../components/config/schema.ts";
import { type ClusterState, plannedProblems, stateOf } from "../../components/model/upgrade.ts";
import { newAuthority } from "../../plan/fakes/certificates.ts";
import type { RecordedProgram, RecordedResource } from "../../plan/program/recorded.ts";
import { mapOf, type PropertyMap, type PropertyValue, reveal } from "../../plan/program/values.ts";
import { deployAws } from "../../stacks/aws.ts";
import { deployAzure } from "../../stacks/azure.ts";
import { logs } from "../kubernetes/switches.ts";
import { specOf, withMocks } from "../support/mocks.ts";

const pool = { name: "w", os: "windows-2022", count: 2 };
const sizes = { aws: "m7i.2xlarge", azure: "Standard_D8s_v5" } as const;
const podRights = {
  aws: { namespace: "shop", name: "orders", policies: ["arn:aws:iam::aws:policy/AmazonSQSReadOnlyAccess"] },
  azure: {
    namespace: "shop",
    name: "orders",
    roles: [
      {
        role: "2a2b9908-6ea1-4ae2-8e65-a410df84e7d1",
        scope: "/subscriptions/00000000-0000-4000-8000-000000000000/resourceGroups/shop",
      },
    ],
  },
} as const;
const images = { aws: "ami-0123456789abcdef0", azure: "20348.5499.260809" } as const;

const shared = "/subscriptions/01234567-89ab-cdef-0123-456789abcdef/resourceGroups/shared/providers";
/** What a user has already. */
const owned = {
  aws: {
    reservation: "arn:aws:resource-groups:eu-central-1:123456789012:group/reserved",
    hosts: "arn:aws:resource-groups:eu-central-1:123456789012:group/hosts",
    group: "sg-0123456789abcdef0",
    key: "arn:aws:kms:eu-central-1:123456789012:key/01234567-89ab-cdef-0123-456789abcdef",
  },
  azure: {
    reservation: `${shared}/Microsoft.Compute/capacityReservationGroups/reserved`,
    hosts: `${shared}/Microsoft.Compute/hostGroups/hosts`,
    group: `${shared}/Microsoft.Network/applicationSecurityGroups/agents`,
    key: `${shared}/Microsoft.Compute/diskEncryptionSets/own`,
  },
} as const;

/** What is changed, as the first column of docs/changes.md names it, and the config afterwards. */
const changes: Readonly<Record<string, (cloud: Cloud) => Readonly<Record<string, unknown>>>> = {
  "`pools[].count`": () => ({ pools: [{ ...pool, count: 5 }] }),
  "`pools[].image`": (cloud) => ({ pools: [{ ...pool, image: images[cloud] }] }),
  "`pools[].size`": (cloud) => ({ pools: [{ ...pool, size: sizes[cloud] }] }),
  "`pools[].diskGb`": () => ({ pools: [{ ...pool, diskGb: 200 }] }),
  "`pools[].labels`, `pools[].taints`": () => ({ pools: [{ ...pool, labels: { a: "b" } }] }),
  "`pools[].spot`": () => ({ pools: [{ ...pool, spot: true }] }),
  "`pools[].disk`": (cloud) => ({
    pools: [{ ...pool, disk: cloud === "aws" ? { throughput: 250 } : { type: "StandardSSD_LRS" } }],
  }),
  "`pools[].furtherSizes`, `pools[].onDemand`": (cloud) =>
    cloud === "aws" ? { pools: [{ ...pool, size: "m7i.large", furtherSizes: ["m6i.large"] }] } : {},
  "`pools[].hybridBenefit`": (cloud) => (cloud === "azure" ? { pools: [{ ...pool, hybridBenefit: true }] } : {}),
  "`pools[].capacityReservation`": (cloud) => ({ pools: [{ ...pool, capacityReservation: owned[cloud].reservation }] }),
  "`pools[].dedicatedHosts`": (cloud) => ({
    pools: [{ ...pool, ...(cloud === "azure" ? { zones: ["1"] } : {}), dedicatedHosts: owned[cloud].hosts }],
  }),
  "`pools[].securityGroups`": (cloud) => ({ pools: [{ ...pool, securityGroups: [owned[cloud].group] }] }),
  "`pools[].instanceProfile`": (cloud) =>
    cloud === "aws" ? { pools: [{ ...pool, instanceProfile: "arn:aws:iam::123456789012:instance-profile/own" }] } : {},
  "`iam.rolePath`": (cloud) => (cloud === "aws" ? { iam: { rolePath: "/kubernetes/" } } : {}),
  "`pools[].timeZone`, `pools[].beforeJoin`, `pools[].afterJoin`, `pools[].annotations`": () => ({
    pools: [{ ...pool, annotations: { team: "web" } }],
  }),
  "`pools[].waitForNodes`": () => ({ pools: [{ ...pool, waitForNodes: false }] }),
  "`pools[].kubelet`": () => ({ pools: [{ ...pool, kubelet: { maxPods: 60 } }] }),
  "a new pool": () => ({ pools: [pool, { ...pool, name: "x" }] }),
  "`controlPlane.size`": (cloud) => ({ controlPlane: { size: sizes[cloud] } }),
  "`controlPlane.image`": (cloud) => ({ controlPlane: { image: images[cloud] } }),
  "`controlPlane.osDisk`": (cloud) => ({
    controlPlane: { osDisk: cloud === "aws" ? { iops: 4000 } : { type: "StandardSSD_LRS" } },
  }),
  "`controlPlane.etcdDisk.iops`": (cloud) => (cloud === "aws" ? { controlPlane: { etcdDisk: { type: "io2", iops: 4000 } } } : {}),
  "`controlPlane.etcdDisk.encryptionKey`": (cloud) => ({
    controlPlane: { etcdDisk: { encryptionKey: owned[cloud].key } },
  }),
  "`controlPlane.extraArgs`, `controlPlane.auditPolicy`, `controlPlane.admission`": () => ({
    controlPlane: { auditPolicy: { rules: [{ level: "Metadata" }] } },
  }),
  "`controlPlane.backup.everyHours`": () => ({ controlPlane: { backup: { everyHours: 2 } } }),
  "`controlPlane.backup.keepDays`": () => ({ controlPlane: { backup: { keepDays: 90 } } }),
  "`access.public.allow`, `access.private`": () => ({
    access: { public: { allow: ["198.18.0.0/15"] }, private: { allow: ["192.0.2.0/24"] } },
  }),
  "`access.signIn`": () => ({
    access: { signIn: [{ name: "corp", issuer: "https://id.example.com", clientId: "kubernetes" }] },
  }),
  "`access.workloadIdentity`": (cloud) => ({
    access: { serviceAccountKeys: ["rsa-1"], workloadIdentity: { serviceAccounts: [podRights[cloud]] } },
  }),
  "`access.serviceAccountKeys`": () => ({ access: { serviceAccountKeys: ["ecdsa", "rsa-1"] } }),
  "`secretsEncryption`": () => ({ secretsEncryption: { keys: ["key1", "key2"] } }),
  "`addons.logs`, Windows pools": () => ({
    addons: {
      logs: { otlp: { endpoint: "https://otlp.test/v1/logs" }, windowsCollector: logs("aws").windowsCollector },
    },
  }),
  "`certificateAuthorities`, `noProxy`": () => ({ certificateAuthorities: [newAuthority("Own").certificate] }),
  "`proxyCredentials`, or a host in `registryCredentials`, when it comes or goes": () => ({
    registryCredentials: { "registry.example.com": { username: "[secret]", password: "[secret]" } },
  }),
  "`access.names`, `access.dns.name`": () => ({ access: { names: ["api.example.com"] } }),
  "`kubernetes.version`": () => ({ kubernetes: { version: "1.37.0" } }),
  "`tags`": () => ({ tags: { owner: "me" } }),
  "`network.pods`": (cloud) => (cloud === "azure" ? onInterface(30, "1") : {}),
  "`network.azureCni.podsPerNode`": (cloud) => (cloud === "azure" ? onInterface(40, "1") : {}),
  "`network.azureCni.plugin`": (cloud) => (cloud === "azure" ? onInterface(30, "2") : {}),
};

/** A network on Azure whose pods have addresses of interfaces. */
const onInterface = (podsPerNode: number, digit: string) => {
  const file = { url: "https://files.example.com/a.tgz", sha256: digit.repeat(64) };
  const azureCni = { podsPerNode, plugin: { linux: file, windows: file } };
  return { network: { zones: ["1"], pods: "azure-cni", azureCni } };
};

/** Changes that begin with another config than most. */
const from: typeof changes = {
  "`access.workloadIdentity`": () => ({ access: { serviceAccountKeys: ["rsa-1"] } }),
  "`network.azureCni.podsPerNode`": changes["`network.pods`"] ?? assert.fail(),
  "`network.azureCni.plugin`": changes["`network.pods`"] ?? assert.fail(),
};

const machineTypes = {
  group: /(autoscaling\/group:Group|:VirtualMachineScaleSet)$/,
  machine: /(ec2\/instance:Instance|:VirtualMachine)$/,
};

interface Run extends RecordedProgram {
  readonly state: ClusterState;
}

async function run(cloud: Cloud, more: Readonly<Record<string, unknown>>): Promise<Run> {
  const config = Object.entries({ pools: [pool], ...more }).map(([key, value]) => [key, JSON.stringify(value)]);
  const spec = specOf(`${cloud}-dev`, Object.fromEntries(config));
  const deploy = cloud === "aws" ? deployAws : deployAzure;
  return { ...(await withMocks(() => deploy(spec), { region: spec.region })).program, state: stateOf(spec) };
}

function find({ resources }: RecordedProgram, type: RegExp): RecordedResource {
  const found = resources.find((each) => type.test(each.type));
  assert.ok(found !== undefined, type.source);
  return found;
}

/** A value below a path of `replaceOnChanges`. */
const at = (inputs: PropertyMap, path: string): PropertyValue | undefined =>
  path.split(".").reduce<PropertyValue | undefined>((value, step) => mapOf(value)[step], inputs);
const text = (value: PropertyValue | undefined): string => JSON.stringify(reveal(value ?? null));

/** What Pulumi would do to a resource, by the program's own settings. */
function effect(before: Run, after: Run, type: RegExp): string {
  if (plannedProblems(before.state, after.state).length > 0) return "refused";
  const [old, own] = [find(before, type), find(after, type)];
  if (text(old.options.replacementTrigger) !== text(own.options.replacementTrigger)) return "replaced";
  if (own.options.replaceOnChanges.some((path) => text(at(old.inputs, path)) !== text(at(own.inputs, path)))) return "replaced";
  // The policy of a group with several sizes starts a refresh like the template (hashicorp/terraform-provider-aws, autoscaling/group.go).
  const policy = (group: RecordedResource) => Object.keys(mapOf(group.inputs.mixedInstancesPolicy)).length;
  const template = ({ resources }: RecordedProgram): string =>
    text(resources.find(({ name }) => name === own.name.replace(/(group|instance)$/, "template"))?.inputs ?? null);
  const { instanceRefresh, upgradePolicy } = own.inputs;
  const model = text(own.inputs.virtualMachineProfile) + text(mapOf(own.inputs.sku).name);
  const oldModel = text(old.inputs.virtualMachineProfile) + text(mapOf(old.inputs.sku).name);
  const rolls = mapOf(instanceRefresh).strategy === "Rolling" || mapOf(upgradePolicy).mode === "Rolling";
  if (rolls && (template(before) !== template(after) || policy(old) !== policy(own) || model !== oldModel)) return "rolled";
  // The provider puts its default tags on every resource.
  const defaultTags = ({ resources }: RecordedProgram, { provider }: RecordedResource): string =>
    text(resources.find(({ urn }) => urn === provider)?.inputs.defaultTags ?? null);
  const same = text(old.inputs) === text(own.inputs) && defaultTags(before, old) === defaultTags(after, own);
  return same ? "-" : "updated";
}

/** The rows of the table in docs/changes.md. */
function documented(): Readonly<Record<string, readonly string[]>> {
  const page = readFileSync(new URL("../../docs/changes.md", import.meta.url), "utf8");
  const rows = page.split("\n").filter((line) => line.startsWith("| ") && !line.startsWith("| Setting"));
  return Object.fromEntries(
    rows.map((line) => {
      const [setting = "", ...cells] = line
        .split("|")
        .slice(1, -1)
        .map((cell) => cell.trim());
      return [setting, cells];
    }),
  );
}

describe("what a change does", () => {
  const before = new Map<Cloud, Run>();
  for (const cloud of ["aws", "azure"] as const)
    it(`is known of the beginning on ${cloud}`, async () => {
      before.set(cloud, await run(cloud, {}));
      assert.ok((before.get(cloud)?.resources.length ?? 0) > 80);
    });

  for (const [setting, change] of Object.entries(changes))
    it(`to ${setting} is what docs/changes.md says`, async () => {
      const found: string[] = [];
      for (const cloud of ["aws", "azure"] as const) {
        const start = from[setting];
        const old = start === undefined ? before.get(cloud) : await run(cloud, start(cloud));
        assert.ok(old !== undefined);
        const now = await run(cloud, change(cloud));
        found.push(effect(old, now, machineTypes.group), effect(old, now, machineTypes.machine));
      }
      assert.deepEqual(documented()[setting], found);
    });

  it("is documented for these settings and no others", () => {
    assert.deepEqual(Object.keys(documented()).sort(), Object.keys(changes).sort());
  });
});
