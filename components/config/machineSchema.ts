import { z } from "zod";
import { diskTypes } from "../model/cloudFacts/facts.ts";
import { iamLimits } from "../model/cloudFacts/ids.ts";
import { described, matching, ofOrganisation, section, switchOff, switchOn } from "./forms.ts";

/** A number of machines, or percent of the pool. */
const amount = z.union([
  z.int().min(0).max(1000),
  matching(/^(\d|[1-9]\d|100)%$/, "is not a percentage").meta({ patternErrorMessage: "0% to 100%", examples: ["10%"] }),
]);

export const updateFields = {
  update: section(
    "How many machines of the pool are replaced at a time. Default one, or a tenth of a pool of more than ten.",
    {
      maxSurge: described(
        amount.default("10%"),
        "Machines beyond those wanted while a changed pool is rolled, a number or percent; of percents at least one.",
      ),
      maxUnavailable: described(
        amount.default(0),
        "Machines that may be missing meanwhile, a number or percent. Azure deletes none before its successor is healthy.",
      ),
    },
  ).optional(),
  maxAge: ofOrganisation(
    described(
      z.int().min(1).max(365).optional(),
      "Days after which a machine is replaced, whatever its pool is. So image: latest brings new images without a changed program. Azure replaces machines of a changed pool only.",
    ),
  ),
};

/** Most characters of a script: two fit into user data on Azure. */
const longestHook = 12_000;

/** Only ASCII is safe: Windows PowerShell takes a file without a byte order mark for one in the system's code page. */
const hook = z
  .string()
  .min(1)
  .max(longestHook)
  .regex(
    /^(?![\w.-]+\.(ps1|sh)\s*$)[\t\n\x20-\x7e]+$/,
    "has characters beyond ASCII, line ends other than a newline, or is the name of a file",
  );
const hookForm = {
  patternErrorMessage: "the script itself, ASCII, lines ended by a newline",
  examples: ["echo ready"],
};

const etcdDiskFields = {
  encryptionKey: described(
    z.string().optional(),
    "Your own key for the disk. AWS: ARN of a KMS key, for a pool one that the service-linked role of Auto Scaling may use. Azure: id of a disk encryption set. Default the cloud's key.",
  ),
};

const systemDiskFields = {
  type: described(
    z.enum(diskTypes).optional(),
    "Kind of disk: gp3 (default) or io2 on AWS; Premium_LRS (default), Premium_ZRS, StandardSSD_LRS or StandardSSD_ZRS on Azure.",
  ),
  ...etcdDiskFields,
};

export const controlPlaneDiskFields = {
  osDisk: ofOrganisation(
    described(z.strictObject(systemDiskFields).optional(), "System disk, beyond its size in osDiskGb."),
  ),
  etcdDisk: ofOrganisation(
    described(
      z.strictObject(etcdDiskFields).optional(),
      "Data disk of each etcd member, beyond its size in etcdDiskGb. Its key is fixed for a cluster's life.",
    ),
  ),
};

/** Settings of a pool's machines beyond their size. */
export const machineFields = {
  disk: described(z.strictObject(systemDiskFields).optional(), "System disk, beyond its size in diskGb."),
  furtherSizes: described(
    z.array(z.string().min(1)).max(39).default([]),
    "More sizes that the group may launch, in order of preference after size. Processors and memory must be those of size, since the autoscaler takes all machines of a group for equal.",
  ),
  onDemand: section("With spot: how many machines are bought on demand all the same. Default none.", {
    base: described(z.int().min(0).max(1000).default(0), "Machines that are never spot."),
    percentAboveBase: described(
      z.int().min(0).max(100).default(0),
      "Of the machines above base, how many percent are not spot.",
    ),
  }).optional(),
  timeZone: ofOrganisation(
    described(
      matching(/^[A-Za-z][A-Za-z0-9 _+./()-]*$/, "is not the name of a time zone").optional(),
      "Time zone of the machines, by the system's own name: Europe/Berlin on Linux, W. Europe Standard Time on Windows (tzutil /l lists them). Default UTC. Pods on Linux keep UTC.",
      { patternErrorMessage: "a name as the system has it", examples: ["Europe/Berlin"] },
    ),
  ),
  annotations: ofOrganisation(
    described(
      z.record(z.string(), z.string().max(4096)).default({}),
      "Annotations of the nodes, in your own domain. Each node writes them once it is Ready.",
    ),
  ),
  beforeJoin: ofOrganisation(
    described(
      hook.optional(),
      "Script that runs on each machine before it joins, as root or SYSTEM: bash on Linux, Windows PowerShell on Windows. For agents that your organisation requires. A machine whose script fails does not join, and tries again. A changed text rolls the pool. No secrets: the text is part of user data.",
      hookForm,
    ),
  ),
  afterJoin: ofOrganisation(
    described(
      hook.optional(),
      "As beforeJoin, after the node is Ready. The node stays when it fails, and tries again.",
      hookForm,
    ),
  ),
  instanceProfile: ofOrganisation(
    described(
      z.string().optional(),
      "ARN of an instance profile of your own. Fenestra then makes no role for the pool; yours needs the rights that the plan shows for a pool without it. One for each pool, so that no pool has another's rights.",
    ),
  ),
};

/** Settings of Windows pools, which pools of Linux refuse. */
export const windowsFields = {
  hyperV: switchOff("Windows: enable Hyper-V isolated containers. Needs a size that can nest virtualisation."),
  metadataAcl: ofOrganisation(
    switchOn(
      "Windows: block the cloud's metadata service for pods by an ACL of HNS on each. Switch it off only where an update of Windows breaks such ACLs: pods can then take the node's identity.",
    ),
  ),
  ccgPlugin: ofOrganisation(
    switchOff(
      "Windows: install the Container Credential Guard plug-in, so that pods use accounts of addons.gmsa that have a secret, although the nodes have not joined the domain.",
    ),
  ),
};

export const iamSchema = section("What your organisation demands of roles.", {
  permissionsBoundary: described(
    matching(/^arn:aws[a-z-]*:iam::(\d{12}|aws):policy\/.+$/, "is not the ARN of a policy").optional(),
    "Policy that bounds the rights of every role that Fenestra makes.",
    { patternErrorMessage: "the ARN of an IAM policy", examples: ["arn:aws:iam::123456789012:policy/boundary"] },
  ),
  rolePath: described(
    matching(/^\/([\w+=,.@-]+\/)*$/, "is not a path of IAM")
      .max(iamLimits.path)
      .default("/"),
    "Path of every role, policy and instance profile that Fenestra makes. A change replaces them, and with them all machines.",
    { patternErrorMessage: "a path that begins and ends with a slash", examples: ["/kubernetes/"] },
  ),
}).prefault({});

const extraArgs = (program: string) =>
  described(
    z.record(z.string().min(1), z.string()).optional(),
    `More flags of ${program}, without dashes, each with its value in quotes. Refused: those that Fenestra sets itself. Whether ${program} has the others is seen by fenestra rehearse.`,
  );

const extraArgsSchema = z.strictObject({
  apiServer: extraArgs("kube-apiserver"),
  controllerManager: extraArgs("kube-controller-manager"),
  scheduler: extraArgs("kube-scheduler"),
  etcd: extraArgs("etcd"),
});

/** An object of another program's kind, whole: that program reads it, Fenestra only what it acts on itself. */
const whole = <Read extends z.ZodType<unknown, Readonly<Record<string, unknown>>>>(read: Read) =>
  z.record(z.string(), z.unknown()).pipe(read);

const texts = z.array(z.string()).optional();

/** What plans read of a Policy of audit.k8s.io/v1. */
const auditPolicySchema = whole(
  z.looseObject({
    apiVersion: z.literal("audit.k8s.io/v1").optional(),
    kind: z.literal("Policy").optional(),
    rules: z
      .array(
        z.looseObject({
          level: z.enum(["None", "Metadata", "Request", "RequestResponse"]),
          resources: z
            .array(z.looseObject({ group: z.string().optional(), resources: texts, resourceNames: texts }))
            .optional(),
        }),
      )
      .min(1),
  }),
);

/** Plug-ins of kube-apiserver whose configuration needs no further file. */
const admissionPlugins = [
  "EventRateLimit",
  "PodNodeSelector",
  "PodSecurity",
  "PodTolerationRestriction",
  "ResourceQuota",
];

const admissionSchema = z
  .array(
    z.strictObject({
      name: described(
        z.enum(admissionPlugins),
        "The plug-in. One that is off by default is switched on with extraArgs.apiServer: enable-admission-plugins.",
      ),
      configuration: described(
        z.record(z.string(), z.unknown()),
        "Its configuration, as the plug-in's documentation has it.",
      ),
    }),
  )
  .min(1);

export const controlPlaneFlagFields = {
  extraArgs: ofOrganisation(described(extraArgsSchema.optional(), "More flags of the control plane's programs.")),
  auditPolicy: ofOrganisation(
    described(
      auditPolicySchema.optional(),
      "What the API server writes to its audit log, in place of Fenestra's policy: a Policy of audit.k8s.io/v1, whole. Bodies of Secrets and tokens end up on a disk with more than Metadata.",
    ),
  ),
  admission: ofOrganisation(
    described(
      admissionSchema.optional(),
      "Configuration of admission plug-ins: plugins of an AdmissionConfiguration. Without PodSecurity that one enforces baseline where a namespace has no label.",
    ),
  ),
};

const quantity = (form: RegExp, words: string) => matching(form, `is not ${words}`).optional();
const mebibytes = quantity(/^[1-9]\d*(Mi|Gi)$/, "an amount of Mi or Gi");
const reserved = z
  .strictObject({
    cpu: quantity(/^[1-9]\d*m$/, "an amount of m, thousandths of a processor"),
    memory: mebibytes,
    "ephemeral-storage": mebibytes,
  })
  .optional();
const percent = quantity(/^([1-9]|[1-9]\d)%$/, "1% to 99%");

/** What is worked out from a pool's KubeletConfiguration: addresses, what pods can have of a node, gates. */
export const kubeletSchema = whole(
  z.looseObject({
    apiVersion: z.literal("kubelet.config.k8s.io/v1beta1").optional(),
    kind: z.literal("KubeletConfiguration").optional(),
    // A node's /24 has addresses for no more.
    maxPods: z.int().min(1).max(250).optional(),
    kubeReserved: reserved,
    systemReserved: reserved,
    evictionHard: z
      .object({ "memory.available": mebibytes, "nodefs.available": percent, "imagefs.available": percent })
      .catchall(z.string())
      .optional(),
    featureGates: z.record(z.string().min(1), z.boolean()).optional(),
  }),
);

export type ExtraArgs = z.output<typeof extraArgsSchema>;
export type AuditPolicy = z.output<typeof auditPolicySchema>;
export type KubeletSettings = z.output<typeof kubeletSchema>;
