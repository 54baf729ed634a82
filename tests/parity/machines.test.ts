import assert from "node:assert/strict";
import { gunzipSync } from "node:zlib";
import { volumePath } from "../../components/aws/controlPlaneMachine.ts";
import { etcdDevice } from "../../components/azure/controlPlaneMachine.ts";
import { hintKey } from "../../components/azure/poolGroup.ts";
import { mapOf, type PropertyValue, textOf } from "../../components/gates/values.ts";
import type { RecordedResource } from "../../plan/program/recorded.ts";
import { nameOfUrn } from "../../plan/program/recorded.ts";
import { azureType, ofType, type Recorded, resource, runStack, specOf } from "../support/mocks.ts";

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

const aws: Kinds = {
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

const azure: Kinds = {
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

for (const [cloud, kinds] of Object.entries({ aws, azure })) {
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
    const partOf = (index: number, part: string): RecordedResource => {
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
      const packed = Buffer.from(textOf(kinds.userData(dev)) ?? "", "base64");
      const text = gunzipSync(packed).toString("utf8");
      for (const each of kinds.told(dev)) assert.ok(text.includes(textOf(each) ?? "?"), textOf(each));
    });

    // What they wait for is deleted after them: they drain by the API, and leave by a right of their own.
    it("of pools wait for the gate of the API, their rights and the join secret", () => {
      for (const { name: group, dependencies } of ofType(dev, kinds.group).values()) {
        const names = dependencies.map(nameOfUrn);
        for (const each of ["control-plane-api", "secrets-join", ...kinds.pools]) {
          const own = names.includes(group.replace(/group$/, each));
          assert.ok(own || names.some((one) => one.startsWith(`${cloud}-dev-${each}`)), `${group} after ${each}`);
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
