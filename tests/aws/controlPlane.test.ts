import assert from "node:assert/strict";
import path from "node:path";
import { gunzipSync } from "node:zlib";
import { volumePath } from "../../components/aws/controlPlaneMachine.ts";
import { imageId } from "../../components/aws/machineTemplate.ts";
import { operatingSystem } from "../../components/model/operatingSystems.ts";
import { nameOfUrn } from "../../plan/program/recorded.ts";
import { mapOf, textOf } from "../../plan/program/values.ts";
import { bodies, type Recorded, resource, runSpec, runStack, shortUrn, specOf } from "../support/mocks.ts";
import { matchSnapshot } from "../support/snapshot.ts";

const instanceType = "aws:ec2/instance:Instance";
const templateType = "aws:ec2/launchTemplate:LaunchTemplate";
const stashType = "pulumi:index:Stash";
const instanceName = (index: number): string => `aws-prod-control-plane-${index}-instance`;
const prod = await runStack("aws-prod");
const dev = await runStack("aws-dev");

describe("the control plane on AWS", () => {
  it("has instances that hold neither image nor disks nor user data, at fixed addresses", () => {
    for (const index of [0, 1, 2]) {
      const { inputs, options } = resource(prod, instanceType, instanceName(index));
      const card = resource(
        prod,
        "aws:ec2/networkInterface:NetworkInterface",
        `aws-prod-control-plane-${index}-address`,
      );
      const template = resource(prod, templateType, `aws-prod-control-plane-${index}-template`);
      assert.deepEqual(inputs, {
        launchTemplate: { id: template.id, version: "1" },
        primaryNetworkInterface: { networkInterfaceId: card.id },
        tags: { Name: `aws-prod-control-plane-${index}`, "kubernetes.io/cluster/aws-prod": "owned" },
      });
      assert.deepEqual(card.inputs.privateIps, [`10.20.${224 + 4 * index}.10`]);
      assert.equal(options.deleteBeforeReplace, true);
      assert.deepEqual(options.ignoreChanges, ["launchTemplate.version", "userData", "userDataBase64"]);
      assert.match(textOf(options.replacementTrigger) ?? "", /^[0-9a-f]{64}$/);
    }
  });

  it("puts image, disk, metadata service and names into the launch template", () => {
    const { inputs, options } = resource(dev, templateType, "aws-dev-control-plane-0-template");
    assert.ok(Buffer.from(textOf(inputs.userData) ?? "", "base64").byteLength > 1000);
    // The interface exists already: tags for one would fail the launch.
    const file = path.join(import.meta.dirname, "snapshots/control-plane.txt");
    matchSnapshot(file, bodies(dev, /:LaunchTemplate$|:Volume$/, /control-plane-0/));
    assert.deepEqual(options.hideDiffs, ["userData"]);
  });

  it("keeps etcd on an encrypted volume of its own, protected in production, without the cluster's tag", () => {
    const { inputs, options } = resource(prod, "aws:ebs/volume:Volume", "aws-prod-control-plane-1-etcd");
    assert.deepEqual([inputs.availabilityZone, inputs.size], ["eu-central-1b", 40]);
    assert.equal(options.protect, true);
    assert.equal(resource(dev, "aws:ebs/volume:Volume", "aws-dev-control-plane-0-etcd").options.protect, false);
    const attachment = resource(prod, "aws:ec2/volumeAttachment:VolumeAttachment", "aws-prod-control-plane-1-etcd");
    assert.deepEqual(
      [attachment.inputs.stopInstanceBeforeDetaching, attachment.options.deleteBeforeReplace],
      [true, true],
    );
    assert.equal(nameOfUrn(attachment.options.deletedWith ?? ""), "aws-prod-control-plane-1-instance");
  });

  it("finds the volume by its id", () => {
    assert.equal(volumePath("vol-0ab1"), "/dev/disk/by-id/nvme-Amazon_Elastic_Block_Store_vol0ab1");
    assert.equal(imageId(operatingSystem("windows-2022"), "ami-1"), "ami-1");
  });

  it("is a chain: gate, machine, gate, next machine; the last gate is the API's, and behind it the release is kept that was reached", () => {
    const gate = (index: number): string => `${stashType} aws-prod-control-plane-gate-${index}`;
    const dependencies = (type: string, name: string): readonly string[] =>
      resource(prod, type, name).dependencies.map(shortUrn);
    const upgrade = `${stashType} aws-prod-control-plane-upgrade`;
    for (const [index, before] of [upgrade, gate(0), gate(1)].entries()) {
      const others = `aws-prod-control-plane-before-${index}`;
      assert.ok(dependencies(stashType, others).includes(before), `${index} after ${before}`);
      assert.ok(dependencies(instanceType, instanceName(index)).includes(`${stashType} ${others}`));
      const own = dependencies(stashType, `aws-prod-control-plane-gate-${index}`);
      assert.ok(own.includes(`${instanceType} ${instanceName(index)}`));
      assert.ok(own.includes(`aws:ec2/volumeAttachment:VolumeAttachment aws-prod-control-plane-${index}-etcd`));
    }
    const api = "aws-prod-control-plane-api";
    assert.ok(dependencies(stashType, api).includes(gate(2)));
    assert.deepEqual(dependencies(stashType, "aws-prod-control-plane-reached"), [`${stashType} ${api}`]);
  });

  it("waits for the documents of its own issuer, which an account may refuse", async () => {
    const spec = specOf("aws-dev", { access: { workloadIdentity: {} } });
    const recorded = await runSpec(spec);
    const { dependencies } = resource(recorded, stashType, "aws-dev-control-plane-before-0");
    const issuer = dependencies.filter((urn) => urn.includes("aws-dev-workload-identity-issuer-")).map(shortUrn);
    assert.deepEqual(issuer.map((urn) => urn.split("-").at(-1)).sort(), ["bucket", "discovery", "keys", "readers"]);
  });

  it("has gates that hold the machine's id and run before the state is saved", () => {
    for (const index of [0, 1, 2]) {
      const { inputs, options } = resource(prod, stashType, `aws-prod-control-plane-gate-${index}`);
      assert.deepEqual(inputs, { input: resource(prod, instanceType, instanceName(index)).id });
      assert.deepEqual(options.hooks, { beforeUpdate: [`aws-prod-control-plane-gate-${index}`] });
    }
    const api = resource(prod, stashType, "aws-prod-control-plane-api");
    assert.deepEqual(api.inputs, {
      input: [0, 1, 2].map((index) => resource(prod, instanceType, instanceName(index)).id ?? ""),
    });
    const hook = ["aws-prod-control-plane-api"];
    assert.deepEqual(api.options.hooks, { beforeCreate: hook, beforeUpdate: hook });
  });

  it("holds before each machine what it is made from, and looks at the others before that changes", () => {
    for (const index of [0, 1, 2]) {
      const { inputs, options, name } = resource(prod, stashType, `aws-prod-control-plane-before-${index}`);
      const { inputs: machine, options: own } = resource(prod, instanceType, instanceName(index));
      const parts = [mapOf(machine.launchTemplate).id, mapOf(machine.primaryNetworkInterface).networkInterfaceId];
      assert.deepEqual(inputs, { input: { fingerprint: own.replacementTrigger, parts, replicas: 3 } });
      assert.deepEqual(options.hooks, { beforeUpdate: [name] });
    }
  });

  it("has a guard that keeps what a running cluster cannot change", () => {
    const guard = resource(prod, stashType, "fenestra-guard");
    assert.deepEqual(guard.inputs, {
      input: {
        name: "aws-prod",
        cloud: "aws",
        version: "1.37.1",
        replicas: 3,
        region: "eu-central-1",
        cidr: "10.20.0.0/16",
        zones: ["eu-central-1a", "eu-central-1b", "eu-central-1c"],
        podCidr: "10.244.0.0/16",
        serviceCidr: "10.96.0.0/16",
        etcdDiskGb: 40,
        mostMachines: { linux: 3, win2019: 6, "win2022-a": 10, "win2022-b": 10, "win2022-c": 10, win2025: 2 },
        autoscaled: ["win2019", "win2022-a", "win2022-b", "win2022-c"],
      },
    });
  });

  it("refuses to skip a minor by a hook that also runs in a preview", async () => {
    const guard = resource(prod, stashType, "aws-prod-control-plane-upgrade");
    assert.deepEqual(guard.inputs, { input: { version: "1.37.1", replicas: 3 } });
    assert.deepEqual(guard.options.hooks, { beforeUpdate: [guard.name] });
    const hook = prod.hooks.get(guard.name);
    assert.ok(hook !== undefined && "opts" in hook);
    assert.deepEqual(hook.opts, { onDryRun: true });
    const call = (version: string): unknown =>
      Reflect.apply(hook.callback, undefined, [
        { oldInputs: { input: { version, replicas: 3 } }, newInputs: guard.inputs },
      ]);
    assert.doesNotThrow(() => call("1.36.3"));
    assert.throws(() => call("1.34.8"), /skips a minor after 1\.34\.8(.|\n)*found: +"1\.37\.1"/);
  });

  it("boots after its secrets, rights, rules, a way out and the listener of its API", () => {
    const names = resource(dev, stashType, "aws-dev-control-plane-before-0").dependencies.map(nameOfUrn);
    for (const name of [
      "aws-dev-secrets-kubernetes-ca",
      "aws-dev-secrets-encryption-key",
      "aws-dev-secrets-initialised",
      "aws-dev-secrets-join",
      "aws-dev-control-plane-identity-machine",
      "aws-dev-security-control-plane-etcd",
      "aws-dev-network-private-a",
      "aws-dev-network-control-plane-a",
      "aws-dev-api-internal",
    ])
      assert.ok(names.includes(name), name);
  });

  it("replaces its machines for another release, image, size or system disk, and for nothing else", async () => {
    const trigger = (recorded: Recorded): string | undefined =>
      textOf(resource(recorded, instanceType, instanceName(0)).options.replacementTrigger);
    const changed = async (changes: Record<string, string>): Promise<boolean> =>
      trigger(await runStack("aws-prod", changes)) !== trigger(prod);
    const base = { replicas: 3, size: "m7i.xlarge", image: "ami-0123456789abcdef0", etcdDiskGb: 40 };
    const withPlane = (change: object): Record<string, string> => ({
      controlPlane: JSON.stringify({ ...base, ...change }),
    });
    assert.equal(await changed({}), false);
    assert.equal(await changed({ tags: JSON.stringify({ owner: "others" }) }), false);
    assert.equal(await changed(withPlane({ etcdDiskGb: 50 })), false);
    assert.equal(await changed(withPlane({ image: "ami-0123456789abcdef1" })), true);
    assert.equal(await changed(withPlane({ size: "m7i.2xlarge" })), true);
    assert.equal(await changed(withPlane({ osDiskGb: 60 })), true);
    assert.equal(await changed({ kubernetes: JSON.stringify({ version: "1.36.3", sizeTier: "medium" }) }), true);
  });

  it("tells its machines the key of the parameters that they write, their volume and their bucket", () => {
    const text = gunzipSync(
      Buffer.from(
        textOf(resource(dev, templateType, "aws-dev-control-plane-0-template").inputs.userData) ?? "",
        "base64",
      ),
    ).toString("utf8");
    const output = (type: string, name: string, key: string): string =>
      textOf(resource(dev, type, name).outputs[key]) ?? "?";
    const volume = resource(dev, "aws:ebs/volume:Volume", "aws-dev-control-plane-0-etcd").id ?? "?";
    for (const known of [
      output("aws:kms/key:Key", "aws-dev-secrets-key", "arn"),
      output("aws:s3/bucket:Bucket", "aws-dev-snapshots-bucket", "bucket"),
      output("aws:lb/loadBalancer:LoadBalancer", "aws-dev-api-internal", "dnsName"),
      output("aws:lb/loadBalancer:LoadBalancer", "aws-dev-api-public", "dnsName"),
      volumePath(volume),
    ])
      assert.ok(text.includes(known), known);
  });
});
