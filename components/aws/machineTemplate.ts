import type { LaunchTemplateArgs } from "@pulumi/aws/ec2/launchTemplate.js";
import type * as pulumi from "@pulumi/pulumi";
import type { OperatingSystem } from "../model/operatingSystems.ts";
import type { PoolSpec } from "../model/pools.ts";

interface MachineTemplateArgs {
  /** Value of the tag Name. */
  readonly name: string;
  readonly os: OperatingSystem;
  /** `latest` or an AMI id. */
  readonly image: string;
  readonly size: string;
  readonly diskGb: number;
  /** Kind, speed and key of the system disk. */
  readonly disk?: PoolSpec["disk"];
  readonly profileArn: pulumi.Input<string>;
  /** Base64. */
  readonly userData: pulumi.Input<string>;
  /** Tags of what a launch creates, which the provider's default tags do not reach. */
  readonly tags: Readonly<Record<string, string>>;
  /**
   * Whether a launch creates the network interface. With an existing one it must name no tags: EC2 refuses it with "You
   * cannot specify tags for network interfaces if there are no network interfaces being created by the request"
   * (kubernetes-sigs/cluster-api-provider-aws#5594).
   */
  readonly makesInterface: boolean;
}

/**
 * Image of a machine. EC2 resolves `latest` at every launch, so a newer image changes nothing in the program. The id is
 * in the template only: on an instance it would replace the machine at every update
 * (hashicorp/terraform-provider-aws#43364).
 */
function imageId(os: OperatingSystem, image: string): string {
  return image === "latest" ? `resolve:ssm:${os.imageParameter}` : image;
}

/** System disk in Canonical's Ubuntu and Amazon's Windows images alike. */
const rootDevice = "/dev/sda1";

/**
 * Windows images load lazily from S3 and install much at boot, which more than gp3's default of 125 MiB/s shortens
 * (runs-on/runner-images-for-aws#71).
 */
const windowsDiskThroughput = 400;

/** MiB/s at which the image is fetched beforehand, 100 to 300 (Amazon EBS User Guide, volume initialization). */
const windowsInitializationRate = 200;

/**
 * Kind and speed of a disk. gp3's speeds are always named, its defaults (Amazon EBS User Guide, volume types) too: a
 * provider keeps what is left out, and then pays for it or asks AWS for what it refuses. No other kind has a throughput.
 *
 * @param throughput MiB/s of gp3
 */
export function diskSpeed({ type = "gp3" }: NonNullable<PoolSpec["disk"]> = {}, throughput = 125) {
  return type === "gp3" ? { type, iops: 3000, throughput } : { type, iops: 3000 };
}

/** A template keeps gp3's throughput for a disk without one, so another kind of disk makes another template. */
export const templateReplaceOnChanges = ["blockDeviceMappings[0].ebs.volumeType"] as const;

/** What every machine's launch template has: image, disk, metadata service, names. */
export function machineTemplate(args: MachineTemplateArgs) {
  const tags = { ...args.tags, Name: args.name };
  const { type: volumeType, ...speed } = diskSpeed(
    args.disk,
    args.os.family === "windows" ? windowsDiskThroughput : undefined,
  );
  return {
    imageId: imageId(args.os, args.image),
    instanceType: args.size,
    iamInstanceProfile: { arn: args.profileArn },
    userData: args.userData,
    ebsOptimized: "true",
    blockDeviceMappings: [
      {
        deviceName: rootDevice,
        ebs: {
          volumeType,
          ...speed,
          ...(args.os.family === "windows" && { volumeInitializationRate: windowsInitializationRate }),
          volumeSize: args.diskGb,
          encrypted: "true",
          ...(args.disk?.encryptionKey !== undefined && { kmsKeyId: args.disk.encryptionKey }),
          deleteOnTermination: "true",
        },
      },
    ],
    metadataOptions: {
      httpEndpoint: "enabled",
      httpTokens: "required",
      // Callers must be on the host network; a pod behind the bridge is one hop further.
      httpPutResponseHopLimit: 1,
      // Where enabled, a tag key with a slash, as the cluster's own has, makes every launch fail
      // (kubernetes/cloud-provider-aws#762).
      instanceMetadataTags: "disabled",
    },
    // The private DNS name begins with the node's name, the instance id. For an existing interface the subnet's setting
    // counts instead (hashicorp/terraform-provider-aws#29273).
    privateDnsNameOptions: { hostnameType: "resource-name", enableResourceNameDnsARecord: true },
    updateDefaultVersion: true,
    tagSpecifications: [
      { resourceType: "volume", tags },
      ...(args.makesInterface ? [{ resourceType: "network-interface", tags }] : []),
    ],
    tags: { Name: args.name },
  } satisfies LaunchTemplateArgs;
}
