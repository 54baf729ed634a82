import assert from "node:assert/strict";
import { gunzipSync } from "node:zlib";
import { volumePath } from "../../components/aws/controlPlaneMachine.ts";
import { etcdDevice } from "../../components/azure/controlPlaneMachine.ts";
import { hintKey } from "../../components/azure/poolGroup.ts";
import { storageAccountName, vaultName } from "../../components/azure/secrets.ts";
import { mapOf, type PropertyValue, Secret, textOf } from "../../components/gates/values.ts";
import { nameOfUrn, type RecordedProgram, type RecordedResource } from "../../plan/program/recorded.ts";
import { joinSecretName } from "../../rehearsal/clouds/cloud.ts";
import { simulateCloud } from "../../rehearsal/clouds/clouds.ts";
import { azureType, ofType, type Recorded, resource, runStack, specOf } from "../support/mocks.ts";

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
      assert.deepEqual(
        (await runStack(`${cloud}-prod`)).program.resources.filter(
          ({ options: { hooks } }) => hooks.beforeDelete ?? hooks.afterDelete,
        ),
        [],
      );
    });

    it("hands every resource its one provider, and exports these outputs, the kubeconfig as a secret", async () => {
      const { program, hooks } = await runStack(`${cloud}-dev`);
      const [only, ...more] = ofType({ program, hooks }, provider).values();
      assert.deepEqual(more, []);
      for (const each of program.resources) if (each.type.startsWith(own)) assert.equal(each.provider, only?.urn);
      const { outputs } = program;
      assert.deepEqual(Object.keys(outputs).sort(), [
        ...["apiEndpoint", "clusterName", "kubeconfig", "kubernetesVersion", "pools", "publicEndpoint"],
        "resources",
      ]);
      assert.ok(outputs.kubeconfig instanceof Secret);
      assert.match(textOf(outputs.publicEndpoint) ?? "", endpoint);
      assert.ok((textOf(outputs.kubeconfig) ?? "").includes(textOf(outputs.publicEndpoint) ?? "?"));
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

const stash = "pulumi:index:Stash";
const volume = "aws:ebs/volume:Volume";
const vault = azureType("keyvault:Vault");

interface Kinds {
  readonly machine: string;
  readonly group: string;
  /** What a gate keeps of a machine: another value for each machine of the same name. */
  readonly id: (machine: RecordedResource) => PropertyValue | undefined;
  /** Of a machine's resources those that wait for the gate before it, and those that the gate behind it waits for. */
  readonly before: readonly string[];
  readonly behind: readonly string[];
  /** What the first machine of the development cluster waits for. */
  readonly first: readonly string[];
  readonly pools: readonly string[];
  readonly size: string;
  readonly userData: (machine: Recorded) => PropertyValue | undefined;
  /** What the machine must know, by what the cloud answered. */
  readonly told: (dev: Recorded) => readonly (PropertyValue | undefined)[];
}

const awsKinds: Kinds = {
  machine: "aws:ec2/instance:Instance",
  group: "aws:autoscaling/group:Group",
  id: ({ id }) => id,
  before: ["instance"],
  behind: ["instance", "etcd"],
  first: [
    ...["secrets-kubernetes-ca", "secrets-encryption-key", "secrets-initialised", "secrets-join", "api-internal"],
    ...[
      "control-plane-identity-machine",
      "security-control-plane-etcd",
      "network-private-a",
      "network-control-plane-a",
      "scripts-object",
    ],
  ],
  pools: ["network-private-a", "identity-worker", "scripts-object"],
  size: "desiredCapacity",
  userData: (dev) =>
    resource(dev, "aws:ec2/launchTemplate:LaunchTemplate", "aws-dev-control-plane-0-template").inputs.userData,
  told: (dev) => {
    const output = (type: string, name: string, key: string) => resource(dev, type, `aws-dev-${name}`).outputs[key];
    return [
      output("aws:kms/key:Key", "secrets-key", "arn"),
      output("aws:s3/bucket:Bucket", "snapshots-bucket", "bucket"),
      output("aws:lb/loadBalancer:LoadBalancer", "api-internal", "dnsName"),
      output("aws:lb/loadBalancer:LoadBalancer", "api-public", "dnsName"),
      volumePath(resource(dev, volume, "aws-dev-control-plane-0-etcd").id ?? ""),
    ];
  },
};

const azureKinds: Kinds = {
  machine: azureType("compute:VirtualMachine"),
  group: azureType("compute:VirtualMachineScaleSet"),
  // Name and resource id stay with a replacement.
  id: ({ outputs }) => outputs.vmId,
  // Disk and card take their machine along.
  before: ["instance", "etcd", "address"],
  behind: ["instance"],
  first: [
    ...["secrets-kubernetes-ca", "secrets-read-keys", "secrets-write-join", "secrets-write-initialised"],
    ...["snapshots-write", "control-plane-identity-machines", "control-plane-identity-networking"],
    ...["network-control-plane-1", "security-control-plane-closed"],
  ],
  // The controllers' right outlives the set.
  pools: ["network-private-1", "identity-read-join", "controllers"],
  size: "sku.capacity",
  userData: (dev) =>
    mapOf(resource(dev, azureType("compute:VirtualMachine"), "azure-dev-control-plane-0-instance").inputs.osProfile)
      .customData,
  told: (dev) => {
    const [ca, join] = ["ca", "join"].map((of) => textOf(resource(dev, vault, `azure-dev-secrets-${of}`).outputs.name));
    return [
      `https://${ca}.vault.azure.net/secrets/kubernetes-ca`,
      `https://${ca}.vault.azure.net/secrets/initialised`,
      `https://${join}.vault.azure.net/secrets/join`,
      "blob.core.windows.net/etcd",
      etcdDevice.split(" ")[0],
    ];
  },
};

for (const [cloud, kinds] of Object.entries({ aws: awsKinds, azure: azureKinds })) {
  const name = (rest: string) => `${cloud}-prod-control-plane-${rest}`;
  const namesBefore = ({ dependencies }: RecordedResource) => dependencies.map(nameOfUrn);

  describe(`machines on ${cloud}`, () => {
    let prod: Recorded;
    let dev: Recorded;
    before(async () => {
      prod = await runStack(`${cloud}-prod`);
      dev = await runStack(`${cloud}-dev`);
    });
    const gateOf = (rest: string) => resource(prod, stash, name(rest));
    const partOf = (index: number, part: string) => {
      const found = prod.program.resources.filter((each) => each.name === name(`${index}-${part}`));
      return found.find(({ type }) => type !== volume) ?? assert.fail(part);
    };

    it("of the control plane are a chain: gate, machine, gate, next machine; the last gate is the API's, and behind it the release is kept that was reached", () => {
      for (const [index, last] of ["upgrade", "gate-0", "gate-1"].entries()) {
        const others = gateOf(`before-${index}`);
        assert.ok(namesBefore(others).includes(name(last)), `${index} after ${last}`);
        for (const part of kinds.before) assert.ok(partOf(index, part).dependencies.includes(others.urn), part);
        const gate = gateOf(`gate-${index}`);
        for (const part of kinds.behind) assert.ok(gate.dependencies.includes(partOf(index, part).urn), part);
      }
      assert.ok(namesBefore(gateOf("api")).includes(name("gate-2")));
      assert.deepEqual(namesBefore(gateOf("reached")), [name("api")]);
    });

    it("have gates that hold what they are made of, and run before the state is saved", () => {
      const ids = [0, 1, 2].map((index) => textOf(kinds.id(partOf(index, "instance"))) ?? assert.fail());
      assert.equal(new Set(ids).size, 3);
      for (const [index, id] of ids.entries()) {
        const { inputs, options } = gateOf(`gate-${index}`);
        assert.deepEqual(inputs, { input: id });
        assert.deepEqual(options.hooks, { beforeUpdate: [name(`gate-${index}`)] });
        const fingerprint = partOf(index, "instance").options.replacementTrigger;
        assert.match(textOf(fingerprint) ?? "", /^[0-9a-f]{64}$/);
        const before = gateOf(`before-${index}`);
        assert.partialDeepStrictEqual(before.inputs, { input: { fingerprint, replicas: 3 } });
        assert.deepEqual(before.options.hooks, { beforeUpdate: [before.name] });
      }
      assert.deepEqual(gateOf("api").inputs, { input: ids });
      const both = [name("api")];
      assert.deepEqual(gateOf("api").options.hooks, { beforeCreate: both, beforeUpdate: both });
      assert.deepEqual(gateOf("upgrade").options.hooks, { beforeUpdate: [name("upgrade")] });
    });

    it("of the control plane wait for secrets, rights, rules and a way out, and are told where these are", () => {
      const names = namesBefore(resource(dev, stash, `${cloud}-dev-control-plane-before-0`));
      for (const each of kinds.first)
        assert.ok(
          names.some((one) => one.startsWith(`${cloud}-dev-${each}`)),
          each,
        );
      const text = gunzipSync(Buffer.from(textOf(kinds.userData(dev)) ?? "", "base64")).toString("utf8");
      for (const each of kinds.told(dev)) assert.ok(text.includes(textOf(each) ?? "?"), textOf(each));
    });

    // What they wait for is deleted after them: they drain by the API, and leave by a right of their own.
    it("of pools wait for the gate of the API, their rights and the join secret", () => {
      for (const { name: group, dependencies } of ofType(dev, kinds.group).values()) {
        const names = dependencies.map(nameOfUrn);
        for (const each of ["control-plane-api", "secrets-join", ...kinds.pools]) {
          assert.ok(
            names.includes(group.replace(/group$/, each)) ||
              names.some((one) => one.startsWith(`${cloud}-dev-${each}`)),
            `${group} after ${each}`,
          );
        }
      }
    });

    it("of pools are as many as the autoscaler wants, where there is one", () => {
      const left = [...ofType(prod, kinds.group)].map(([group, { options }]) => [
        group,
        options.ignoreChanges.includes(kinds.size),
        options.hooks.beforeUpdate?.includes(group.replace(/group$/, "size")) ?? false,
      ]);
      // An update of a scale set sends its size nevertheless, and its guard compares.
      const wanted = specOf(`${cloud}-prod`).pools.map(({ name: pool, autoscale }) => [
        `${cloud}-prod-pool-${pool}-group`,
        autoscale !== undefined,
        autoscale !== undefined && cloud === "azure",
      ]);
      assert.deepEqual(left.sort(), wanted.sort());
    });
  });
}

describe("tags of a scale set", () => {
  it("spell labels as the autoscaler reads them", () => assert.equal(hintKey("example.com/a_b"), "example.com_a~2b"));
});
