import type { LaunchTemplateArgs } from "@pulumi/aws/ec2/launchTemplate.js";
import type * as pulumi from "@pulumi/pulumi";
import type { OperatingSystem } from "../model/operatingSystems.ts";
import type { PoolSpec } from "../model/pools.ts";

export interface MachineTemplateArgs {
  /** Value of the tag Name. */
  readonly name: string;
  readonly os: OperatingSystem;
  /** `latest` or an AMI id. */
  readonly image: string;
  readonly size: string;
  readonly diskGb: number;
  /** Kind, speed and key of the system disk, where the stack file names them. */
  readonly disk?: PoolSpec["disk"];
  readonly profileArn: pulumi.Input<string>;
  /** Base64. */
  readonly userData: pulumi.Input<string>;
  /** Tags of what a launch creates: the provider's default tags do not reach it. */
  readonly tags: Readonly<Record<string, string>>;
  /**
   * Whether a launch creates the network interface. A launch that uses an existing one must not name tags for it: EC2
   * refuses it with "You cannot specify tags for network interfaces if there are no network interfaces being created by
   * the request" (kubernetes-sigs/cluster-api-provider-aws#5594).
   */
  readonly makesInterface: boolean;
}

/**
 * Image of a machine. `latest` is resolved by EC2 at every launch, so a newer image changes nothing in the program. The
 * id is in the template and never on an instance, where it would replace the machine at every update
 * (hashicorp/terraform-provider-aws#43364).
 */
export function imageId(os: OperatingSystem, image: string): string {
  return image === "latest" ? `resolve:ssm:${os.imageParameter}` : image;
}

/** Device of the system disk in Canonical's Ubuntu images and Amazon's Windows images alike. */
const rootDevice = "/dev/sda1";

/**
 * A Windows image loads lazily from S3 and installs much at boot: more throughput than gp3's default of 125 MiB/s
 * shortens it (runs-on/runner-images-for-aws#71).
 */
const windowsDiskThroughput = 400;

/** MiB/s at which the image's blocks are fetched beforehand, 100 to 300 (Amazon EBS User Guide, volume initialization). */
const windowsInitializationRate = 200;

/** What AWS gives a gp3 disk (Amazon EBS User Guide, volume types). */
const usualSpeed = { iops: 3000, throughput: 125 };

/**
 * Kind and speed of a disk. The speeds of gp3 are always named: a provider keeps what is left out, and then pays for it
 * or asks AWS for what it refuses. No other kind has a throughput.
 */
export function diskSpeed(
  { type = "gp3", ...given }: NonNullable<PoolSpec["disk"]> = {},
  usual = usualSpeed.throughput,
) {
  const { iops = usualSpeed.iops, throughput = usual } = given;
  return type === "gp3" ? { type, iops, throughput } : { type, iops };
}

/** A template keeps the throughput of gp3 for a disk that has none, so another kind of disk makes another template. */
export const templateReplaceOnChanges = ["blockDeviceMappings[0].ebs.volumeType"] as const;

/** The part of a launch template that is the same for every machine: image, disk, metadata service, names. */
export function machineTemplate(args: MachineTemplateArgs) {
  const tags = { ...args.tags, Name: args.name };
  const { type: volumeType, ...speed } = diskSpeed(
    args.disk,
    args.os.family === "windows" ? windowsDiskThroughput : usualSpeed.throughput,
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
          ...(args.os.family === "windows" ? { volumeInitializationRate: windowsInitializationRate } : {}),
          volumeSize: args.diskGb,
          encrypted: "true",
          ...(args.disk?.encryptionKey === undefined ? {} : { kmsKeyId: args.disk.encryptionKey }),
          deleteOnTermination: "true",
        },
      },
    ],
    metadataOptions: {
      httpEndpoint: "enabled",
      httpTokens: "required",
      // Callers of the metadata service must be on the host network; a pod behind the bridge is one hop further away.
      httpPutResponseHopLimit: 1,
      // A tag key with a slash, as the cluster's own has, makes every launch fail otherwise
      // (kubernetes/cloud-provider-aws#762).
      instanceMetadataTags: "disabled",
    },
    // The private DNS name begins with the node's name, the instance id. Where the interface exists already, the
    // subnet's setting counts and not this one (hashicorp/terraform-provider-aws#29273).
    privateDnsNameOptions: { hostnameType: "resource-name", enableResourceNameDnsARecord: true },
    updateDefaultVersion: true,
    tagSpecifications: [
      { resourceType: "volume", tags },
      ...(args.makesInterface ? [{ resourceType: "network-interface", tags }] : []),
    ],
    tags: { Name: args.name },
  } satisfies LaunchTemplateArgs;
}
