import assert from "node:assert/strict";
import { storageAccountName, vaultName } from "../../components/azure/secrets.ts";
import { loadConfig } from "../../components/config/load.ts";
import type { Cloud } from "../../components/config/schema.ts";
import { Secret, textOf } from "../../components/gates/values.ts";
import { type ClusterSpec, clusterSpec } from "../../components/model/clusterSpec.ts";
import type { RecordedProgram } from "../../plan/program/recorded.ts";
import { joinSecretName, simulateCloud } from "../../rehearsal/testkit/clouds.ts";
import { planOf } from "../kubernetes/switches.ts";
import type { PlainConfig } from "../support/changedAt.ts";
import { ofType, type Recorded, runSpec, runStack, specOf } from "../support/mocks.ts";
import { configTexts } from "../support/stacks.ts";

/** The same cluster on both clouds; only what each cloud spells in its own way differs. */
function configOf(cloud: Cloud, more: PlainConfig = {}): PlainConfig {
  const zones = cloud === "aws" ? ["eu-central-1a", "eu-central-1b", "eu-central-1c"] : ["1", "2", "3"];
  return {
    cloud,
    name: "same",
    region: cloud === "aws" ? "eu-central-1" : "westeurope",
    network: { zones },
    controlPlane: { replicas: 3 },
    access: { public: { allow: ["203.0.113.0/24"] } },
    pools: [
      { name: "linux", os: "linux", count: 2, labels: { "example.com/a": "b" } },
      { name: "win2019", os: "windows-2019" },
      { name: "w22", os: "windows-2022", perZone: true, autoscale: { min: 0, max: 3 } },
      { name: "w25", os: "windows-2025", spot: true, taints: [{ key: "x", value: "y", effect: "NoSchedule" }] },
    ],
    ...more,
  };
}

const sameOn = (cloud: Cloud, more: PlainConfig = {}): ClusterSpec =>
  clusterSpec(loadConfig(configTexts(configOf(cloud, more))));

const { program: aws } = await runSpec(sameOn("aws"));
const { program: azure } = await runSpec(sameOn("azure"));

/** A text without what the clouds call the zones of the divided pool. */
const plain = (text: string) => text.replaceAll(/w22-[abc123]/g, "w22-zone");

/** Components with names and parents, `azure` and `aws` alike. */
function components({ resources }: RecordedProgram): readonly string[] {
  const types = new Map(resources.map(({ urn, name }) => [urn, name]));
  return resources
    .filter(({ custom, type }) => !custom && type !== "pulumi:pulumi:Stack")
    .map(({ type, name, parent }) =>
      plain(`${type.replace(/:(aws|azure):/, ":cloud:")} ${name} in ${types.get(parent ?? "") ?? "the stack"}`),
    )
    .sort();
}

/** Objects of Kubernetes by kind and name. */
const objects = (spec: ClusterSpec, addOn?: string) =>
  planOf(spec)
    .filter(({ name }) => addOn === undefined || name === addOn)
    .flatMap(({ manifests }) => manifests.map(({ kind, metadata }) => `${kind} ${metadata.name}`))
    .sort();

/** Add-ons that speak to the cloud, so that each cloud has its own. */
const cloudAddOns = ["cloud-controller", "storage"];

/** AWS alone: a bucket for machines' scripts, for which its user data has no room. */
const awsOnly = ["Scripts"];

describe("parity of the clouds", () => {
  it("the same outputs, with the same parts", () => {
    const shapeOf = ({ outputs }: RecordedProgram): unknown =>
      JSON.parse(
        JSON.stringify(outputs, (key, value) =>
          key === "" || key === "pools" || /^\d+$/.test(key) ? value : typeof value,
        ),
      );
    assert.deepEqual(shapeOf(azure), shapeOf(aws));
  });

  it("the same components, with the same names and parents", () => {
    const own = components(azure);
    const alone = new RegExp(`^fenestra:cloud:(${awsOnly.join("|")}) `);
    const wanted = components(aws).filter((each) => !alone.test(each));
    assert.deepEqual(own, wanted);
    assert.ok(!own.some((each) => alone.test(each)));
    assert.ok(own.length > 30);
    assert.ok(own.includes("fenestra:cloud:Pool same-pool-linux in same"));
  });

  it("the same labels, taints and sizes of every pool", () => {
    const scheduling = (spec: ClusterSpec): unknown =>
      spec.pools.map(({ path, size, zones, image, diskGb, ...same }) =>
        JSON.parse(plain(JSON.stringify({ ...same, name: plain(same.name), release: same.release.name }))),
      );
    const own = scheduling(sameOn("azure"));
    assert.deepEqual(own, scheduling(sameOn("aws")));
    assert.ok(JSON.stringify(own).includes('"w22-zone"'));
  });

  it("the same objects in the cluster, but for each cloud's own add-ons", () => {
    const names = (spec: ClusterSpec) => planOf(spec).map(({ name }) => name);
    const specs = { aws: sameOn("aws"), azure: sameOn("azure") };
    assert.deepEqual(names(specs.azure), names(specs.aws));
    for (const name of names(specs.aws)) {
      if (cloudAddOns.includes(name)) assert.notDeepEqual(objects(specs.azure, name), objects(specs.aws, name), name);
      else assert.deepEqual(objects(specs.azure, name), objects(specs.aws, name), name);
    }
    assert.ok(objects(specs.aws).length > 40);
  });
});

const clouds = {
  aws: { own: "aws:", provider: "pulumi:providers:aws", endpoint: /^https:\/\/.*:6443$/ },
  azure: {
    own: "azure-native:",
    provider: "pulumi:providers:azure-native",
    endpoint: /^https:\/\/azure-dev-[a-z0-9]{8}\.westeurope\.cloudapp\.azure\.com:6443$/,
  },
} as const;
for (const cloud of ["aws", "azure"] as const)
  describe(`the program on ${cloud}`, () => {
    const { own, provider, endpoint } = clouds[cloud];

    it("has no hook on deletion: a plain `pulumi destroy` must work", async () => {
      const { program } = await runStack(`${cloud}-prod`);
      const deleting = program.resources.filter(({ options: { hooks } }) => hooks.beforeDelete ?? hooks.afterDelete);
      assert.deepEqual(deleting, []);
    });

    it("hands every resource its one provider, and exports these outputs, the kubeconfig as a secret", async () => {
      const { program, hooks } = await runStack(`${cloud}-dev`);
      const [only, ...more] = ofType({ program, hooks }, provider).values();
      assert.deepEqual(more, []);
      for (const each of program.resources) if (each.type.startsWith(own)) assert.equal(each.provider, only?.urn);
      const { outputs } = program;
      const wanted = ["apiEndpoint", "clusterName", "kubeconfig", "kubernetesVersion", "pools", "publicEndpoint"];
      assert.deepEqual(Object.keys(outputs).sort(), [...wanted, "resources"]);
      assert.ok(outputs.kubeconfig instanceof Secret);
      assert.match(textOf(outputs.publicEndpoint) ?? "", endpoint);
      assert.ok((textOf(outputs.kubeconfig) ?? "").includes(textOf(outputs.publicEndpoint) ?? "?"));
      assert.deepEqual(outputs.pools, [
        { name: "linux", os: "linux", group: `${cloud}-dev-linux` },
        { name: "win2019", os: "windows-2019", group: `${cloud}-dev-win2019` },
        { name: "win2022", os: "windows-2022", group: `${cloud}-dev-win2022` },
      ]);
    });
  });

describe("names on Azure", () => {
  it("are within its limits for every cluster's name", () => {
    for (const cluster of ["a", "a--b", "a-b-c-d-e-f-g-h-i-jk", "a".repeat(20)]) {
      for (const purpose of ["ca", "join"] as const)
        assert.match(vaultName(cluster, purpose, "x".repeat(8)), /^[a-z](?!.*--)[a-z0-9-]{1,22}[a-z0-9]$/);
      assert.match(storageAccountName(cluster, "oidc", "x".repeat(8)), /^[a-z0-9]{3,24}$/);
    }
  });
});

/** Other secrets of the cluster that workers read, but logins; `undefined` where one cannot read its own. */
async function foreignReads(stack: string, program: RecordedProgram): Promise<readonly string[] | undefined> {
  const cloud = simulateCloud(program, specOf(stack));
  const workers = cloud.machines.filter(({ group }) => group !== undefined);
  // Workers may read logins for downloads too.
  const places = cloud.secretNames().filter((name) => !/\/(credentials(-[a-z0-9]{8})?|join)$/.test(name));
  assert.ok(places.length > new Set(workers.map((worker) => joinSecretName(cloud, worker))).size);
  const found: string[] = [];
  for (const worker of workers)
    for (const place of places) {
      const own = place === joinSecretName(cloud, worker);
      const reads = await cloud.readSecret(worker, place).then(
        () => true,
        () => false,
      );
      if (own && !reads) return undefined;
      if (reads && !own) found.push(`${worker.name}: ${place}`);
    }
  return found;
}

type Change = readonly [name: RegExp, change: (inputs: string) => string];

/** The program with inputs changed as text. */
function changed({ program }: Recorded, [name, change]: Change): RecordedProgram {
  const resources = program.resources.map((each) =>
    name.test(each.name) ? { ...each, inputs: JSON.parse(change(JSON.stringify(each.inputs))) } : each,
  );
  return { ...program, resources };
}

const wider: Readonly<Record<"aws-dev" | "azure-dev", Change>> = {
  "aws-dev": [/-pool-linux-identity-worker$/, (text) => text.replaceAll(/\/join\/linux/g, "/join/*")],
  "azure-dev": [/-pool-linux-identity-read-join$/, (text) => text.replace(/\/secrets\/join-[^"]*/, "")],
};

describe("join secrets", () => {
  for (const stack of ["aws-dev", "azure-dev"] as const) {
    it(`of ${stack} are read by machines of their pool alone, which a wider right would show`, async () => {
      const recorded = await runStack(stack);
      assert.deepEqual(await foreignReads(stack, recorded.program), []);
      assert.ok(((await foreignReads(stack, changed(recorded, wider[stack]))) ?? []).length > 0);
    });
  }
});
