import { Volume } from "@pulumi/aws/ebs/volume.js";
import { Instance } from "@pulumi/aws/ec2/instance.js";
import { LaunchTemplate } from "@pulumi/aws/ec2/launchTemplate.js";
import { NetworkInterface } from "@pulumi/aws/ec2/networkInterface.js";
import { VolumeAttachment } from "@pulumi/aws/ec2/volumeAttachment.js";
import * as pulumi from "@pulumi/pulumi";
import type { MemberNode } from "../gates/apiProbe.ts";
import type { MachineArgs } from "../gates/controlPlane.ts";
import { sentInputs } from "../gates/sent.ts";
import type { ApiEndpoint } from "../machine/cloudAccess.ts";
import { packLinuxFetching } from "../machine/linux/cloudConfig.ts";
import { controlPlanePayload, machineFingerprint } from "../machine/linux/controlPlane.ts";
import type { MachinePayload } from "../machine/payload.ts";
import { operatingSystem } from "../model/operatingSystems.ts";
import { diskSpeed, machineTemplate, templateReplaceOnChanges } from "./machineTemplate.ts";
import { theirs } from "./owners.ts";
import { clusterTag } from "./policyDocument.ts";
import type { MachineScripts } from "./scripts.ts";
import { controlPlaneParameters, workerParameters } from "./secrets.ts";

export interface ControlPlaneMachineArgs extends MachineArgs {
  /** Names of the API for the certificates. */
  readonly endpoint: pulumi.Input<ApiEndpoint>;
  readonly groupId: pulumi.Input<string>;
  readonly profileArn: pulumi.Input<string>;
  /** Key of the cluster's parameters, which the machine must name when it writes two of them. */
  readonly secretsKeyArn: pulumi.Input<string>;
  readonly snapshotBucket: pulumi.Input<string>;
  /** The payload's scripts in S3. */
  readonly scripts: MachineScripts;
}

/** Name of the attached data volume; on Nitro the machine sees another and looks for the volume's id. */
const etcdDeviceName = "/dev/sdf";

/** Path of a volume on the machine by Ubuntu's udev rule: the id without its dash, as kubernetes/kops finds volumes. */
export function volumePath(volumeId: string): string {
  return `/dev/disk/by-id/nvme-Amazon_Elastic_Block_Store_${volumeId.replace("-", "")}`;
}

/**
 * A control-plane machine. Its address and etcd disk outlive it as separate resources; neither can be attached to two
 * machines, so a replaced machine is deleted first.
 */
export class ControlPlaneMachine extends pulumi.ComponentResource {
  readonly instanceId: pulumi.Output<string>;
  readonly node: pulumi.Output<MemberNode>;
  readonly ready: readonly pulumi.Resource[];

  readonly #name: string;
  readonly #args: ControlPlaneMachineArgs;

  constructor(name: string, args: ControlPlaneMachineArgs, opts?: pulumi.ComponentResourceOptions) {
    super("fenestra:aws:ControlPlaneMachine", name, {}, opts);
    this.#name = name;
    this.#args = args;
    const volume = this.#makeVolume();
    const payload = this.#payload(volume);
    const shape = this.#templateShape(payload);
    const instance = this.#makeInstance(this.#makeTemplate(shape), shape, payload);
    const attachment = this.#attach(volume, instance);
    this.instanceId = instance.id;
    this.node = instance.id.apply((node) => ({ node }));
    this.ready = [instance, attachment];
    this.registerOutputs({ instanceId: this.instanceId });
  }

  #makeVolume(): Volume {
    const { spec, member } = this.#args;
    const { etcdDiskGb, etcdDisk } = spec.controlPlane;
    const encryptionKey = etcdDisk?.encryptionKey;
    return new Volume(
      `${this.#name}-etcd`,
      {
        availabilityZone: member.zone,
        ...diskSpeed(),
        size: etcdDiskGb,
        encrypted: true,
        ...(encryptionKey !== undefined && { kmsKeyId: encryptionKey }),
        // Without the cluster's tag, which marks volumes that the EBS driver manages.
        tags: { Name: `${this.#name}-etcd` },
      },
      { parent: this, protect: spec.environment === "production" },
    );
  }

  #payload(volume: Volume): pulumi.Output<MachinePayload> {
    const { spec, member, endpoint, secretsKeyArn, snapshotBucket, tokens } = this.#args;
    return pulumi
      .all([endpoint, volume.id, secretsKeyArn, snapshotBucket, tokens])
      .apply(([known, volumeId, secretsKey, target, knownTokens]) =>
        controlPlanePayload({
          spec,
          member,
          endpoint: known,
          tokens: knownTokens,
          access: {
            cloud: { kind: "aws", region: spec.region, ...workerParameters(spec), secretsKey },
            secrets: controlPlaneParameters(spec.name),
            etcdDevice: volumePath(volumeId),
            snapshots: { target },
          },
        }),
      );
  }

  #templateShape(payload: pulumi.Output<MachinePayload>) {
    const { spec, profileArn, scripts } = this.#args;
    const { size, image, osDiskGb, osDisk } = spec.controlPlane;
    return machineTemplate({
      name: this.#name,
      os: operatingSystem("linux"),
      image,
      size: size.name,
      diskGb: osDiskGb,
      disk: osDisk,
      profileArn,
      userData: pulumi
        .all([payload, scripts.bucketName])
        .apply(([known, bucket]) => packLinuxFetching(known, scripts.object, bucket)),
      tags: spec.tags,
      makesInterface: false,
    });
  }

  #makeTemplate(shape: ReturnType<typeof machineTemplate>): LaunchTemplate {
    return new LaunchTemplate(`${this.#name}-template`, shape, {
      parent: this,
      hideDiffs: ["userData"],
      replaceOnChanges: [...templateReplaceOnChanges],
    });
  }

  #makeInstance(
    template: LaunchTemplate,
    shape: ReturnType<typeof machineTemplate>,
    payload: pulumi.Output<MachinePayload>,
  ): Instance {
    const { spec, member, subnetId, groupId, profileArn, scripts, after, gate } = this.#args;
    const fingerprint = pulumi
      .all([payload, profileArn])
      .apply(([known, profile]) => machineFingerprint(spec, member, known, profile));
    const card = new NetworkInterface(
      `${this.#name}-address`,
      {
        subnetId,
        privateIps: [member.address],
        securityGroups: [groupId],
        description: `Fixed address of ${this.#name}`,
        tags: { Name: `${this.#name}-address` },
      },
      { parent: this, ignoreChanges: theirs("aws:ec2/networkInterface:NetworkInterface") },
    );
    const inputs = {
      launchTemplate: { id: template.id, version: pulumi.interpolate`${template.latestVersion}` },
      primaryNetworkInterface: { networkInterfaceId: card.id },
      tags: { Name: this.#name, [clusterTag(spec.name)]: "owned" },
    };
    // What transforms make of the machine is known when it is there, and the gate comes before it.
    const sent = Promise.withResolvers<object>();
    const parts = pulumi.output([
      { type: "aws:ec2/subnet:Subnet", id: subnetId, inputs: {}, outputs: { availabilityZone: member.zone } },
      { type: "aws:ec2/launchTemplate:LaunchTemplate", id: template.id, inputs: sentInputs(template, shape) },
      {
        type: "aws:ec2/networkInterface:NetworkInterface",
        id: card.id,
        inputs: { subnetId, securityGroups: [groupId] },
      },
      { type: "aws:ec2/instance:Instance", inputs: sent.promise },
      { type: "aws:s3/bucketObjectv2:BucketObjectv2", inputs: { bucket: scripts.bucketName, key: scripts.object.key } },
    ]);
    const instance = new Instance(`${this.#name}-instance`, inputs, {
      parent: this,
      dependsOn: [gate({ fingerprint, start: { name: this.#name, parts }, parts: [template.id, card.id], after })],
      deleteBeforeReplace: true,
      ignoreChanges: [
        // New template versions, such as for a changed tag, do not replace the machine; the fingerprint does.
        "launchTemplate.version",
        // The provider reads the template's user data back as the instance's own. `userData` is optional and not
        // computed, so the next update would remove it by stopping and starting the machine
        // (hashicorp/terraform-provider-aws#48795, pulumi/pulumi-aws#3449).
        "userData",
        "userDataBase64",
      ],
      replacementTrigger: fingerprint,
    });
    sent.resolve(sentInputs(instance, inputs));
    return instance;
  }

  #attach(volume: Volume, instance: Instance): VolumeAttachment {
    return new VolumeAttachment(
      `${this.#name}-etcd`,
      {
        volumeId: volume.id,
        instanceId: instance.id,
        deviceName: etcdDeviceName,
        // etcd writes until it stops: a volume detached from a running machine is not clean.
        stopInstanceBeforeDetaching: true,
      },
      // Terminating the machine detaches the volume. Otherwise a replacement first stops the machine here, and an
      // interrupted one leaves it stopped: the provider takes a stopped machine for an attachment, and no later update
      // starts it.
      { parent: this, deleteBeforeReplace: true, deletedWith: instance },
    );
  }
}
