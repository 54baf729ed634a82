import { z } from "zod";
import { diskTypes } from "../model/cloudFacts/facts.ts";

/** Most characters of a script: with both of them, user data on Azure stays below its limit. */
const longestHook = 12_000;

/**
 * A script that machines run. Windows PowerShell takes a file without a byte order mark for one in the system's code page: only ASCII is
 * safe.
 */
const hook = z
  .string()
  .min(1)
  .max(longestHook)
  .regex(/^[\t\n\x20-\x7e]+$/, "has characters beyond ASCII");
const hookForm = { patternErrorMessage: "ASCII, lines ended by a newline", examples: ["echo ready"] };

const diskFields = {
  type: z
    .enum(diskTypes)
    .optional()
    .meta({
      description:
        "Kind of disk: gp3 (default) or io2 on AWS; Premium_LRS (default), Premium_ZRS, StandardSSD_LRS or StandardSSD_ZRS on Azure.",
    }),
  iops: z
    .int()
    .min(100)
    .max(256_000)
    .optional()
    .meta({ description: "AWS: operations per second. gp3 has 3000 without it, io2 needs it." }),
  throughput: z
    .int()
    .min(125)
    .max(2000)
    .optional()
    .meta({ description: "AWS, gp3: throughput in MiB/s. Default 400 on Windows, which installs much at boot, else 125." }),
  encryptionKey: z
    .string()
    .optional()
    .meta({
      description:
        "Your own key for the disk. AWS: ARN of a KMS key, for a pool one that the service-linked role of Auto Scaling may use. Azure: id of a disk encryption set. Default the cloud's key.",
    }),
};

/** Disks of control-plane machines beyond their sizes. */
export const controlPlaneDiskFields = {
  osDisk: z.strictObject(diskFields).optional().meta({ description: "System disk, beyond its size in osDiskGb." }),
  etcdDisk: z
    .strictObject(diskFields)
    .optional()
    .meta({
      description:
        "Data disk of each etcd member, beyond its size in etcdDiskGb. Its key is fixed for a cluster's life. Azure has the key only.",
    }),
};

/** Settings of a pool's machines beyond their size: disk, purchase, placement and what the organisation demands. */
export const machineFields = {
  disk: z.strictObject(diskFields).optional().meta({ description: "System disk, beyond its size in diskGb." }),
  furtherSizes: z
    .array(z.string().min(1))
    .max(39)
    .default([])
    .meta({
      description:
        "AWS: more sizes that the group may launch, in order of preference after size. Processors and memory must be those of size, since the autoscaler takes all machines of a group for equal.",
    }),
  onDemand: z
    .strictObject({
      base: z.int().min(0).max(1000).default(0).meta({ description: "Machines that are never spot." }),
      percentAboveBase: z
        .int()
        .min(0)
        .max(100)
        .default(0)
        .meta({ description: "Of the machines above base, how many percent are not spot." }),
    })
    .optional()
    .meta({ description: "AWS, with spot: how many machines are bought on demand all the same. Default none." }),
  spotMaxPrice: z
    .number()
    .positive()
    .optional()
    .meta({ description: "With spot: most US dollars per machine and hour. Default the price on demand." }),
  hybridBenefit: z
    .boolean()
    .default(false)
    .meta({ description: "Azure, Windows: use licences of your own (Azure Hybrid Benefit) instead of paying them by the hour." }),
  capacityReservation: z
    .string()
    .optional()
    .meta({
      description:
        "Capacity that you have reserved. AWS: id of a capacity reservation (cr-…) in the pool's one zone, or ARN of a resource group of them. Azure: id of a capacity reservation group.",
    }),
  dedicatedHosts: z
    .string()
    .optional()
    .meta({
      description:
        "Hosts that are yours alone. AWS: ARN of a host resource group. Azure: id of a host group with automatic placement, one fault domain and the pool's one zone.",
    }),
  securityGroups: z
    .array(z.string().min(1))
    .max(15)
    .default([])
    .meta({
      description:
        "More groups for the machines, beside Fenestra's. AWS: ids of security groups (sg-…), whose rules add to Fenestra's; up to 4 unless the quota was raised. Azure: ids of application security groups, to name in rules of your own.",
    }),
  timeZone: z
    .string()
    .regex(/^[A-Za-z][A-Za-z0-9 _+./()-]*$/, "is not the name of a time zone")
    .optional()
    .meta({
      patternErrorMessage: "a name as the system has it",
      examples: ["Europe/Berlin"],
      description:
        "Time zone of the machines, by the system's own name: Europe/Berlin on Linux, W. Europe Standard Time on Windows (tzutil /l lists them). Default UTC. Pods on Linux keep UTC.",
    }),
  annotations: z
    .record(z.string(), z.string().max(4096))
    .default({})
    .meta({ description: "Annotations of the nodes, in your own domain. Each node writes them once it is Ready." }),
  beforeJoin: hook
    .optional()
    .meta({
      ...hookForm,
      description:
        "Script that runs on each machine before it joins, as root or SYSTEM: bash on Linux, Windows PowerShell on Windows. For agents that your organisation requires. A machine whose script fails does not join, and tries again. A changed text rolls the pool. No secrets: the text is part of user data.",
    }),
  afterJoin: hook
    .optional()
    .meta({ ...hookForm, description: "As beforeJoin, after the node is Ready. The node stays when it fails, and tries again." }),
  instanceProfile: z
    .string()
    .optional()
    .meta({
      description:
        "AWS: ARN of an instance profile of your own. Fenestra then makes no role for the pool; yours needs the rights that the plan shows for a pool without it. One for each pool, so that no pool has another's rights.",
    }),
};

export const iamSchema = z
  .strictObject({
    permissionsBoundary: z
      .string()
      .regex(/^arn:aws[a-z-]*:iam::(\d{12}|aws):policy\/.+$/, "is not the ARN of a policy")
      .optional()
      .meta({
        patternErrorMessage: "the ARN of an IAM policy",
        examples: ["arn:aws:iam::123456789012:policy/boundary"],
        description: "Policy that bounds the rights of every role that Fenestra makes.",
      }),
    rolePath: z
      .string()
      .regex(/^\/([\w+=,.@-]+\/)*$/, "is not a path of IAM")
      .default("/")
      .meta({
        patternErrorMessage: "a path that begins and ends with a slash",
        examples: ["/kubernetes/"],
        description:
          "Path of every role, policy and instance profile that Fenestra makes. A change replaces them, and with them all machines.",
      }),
  })
  .prefault({})
  .meta({ description: "AWS: what your organisation demands of roles." });
