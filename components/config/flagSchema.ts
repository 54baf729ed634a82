import { z } from "zod";
import { described, matching, section } from "./forms.ts";

const extraArgs = (program: string) =>
  described(
    z.record(z.string().min(1), z.string()).optional(),
    `More flags of ${program}, without dashes, each with its value in quotes. Refused: flags that this Kubernetes minor does not have, and those that Fenestra sets itself.`,
  );

const extraArgsSchema = z.strictObject({
  apiServer: extraArgs("kube-apiserver"),
  controllerManager: extraArgs("kube-controller-manager"),
  scheduler: extraArgs("kube-scheduler"),
  etcd: extraArgs("etcd"),
});

const texts = (description: string) => z.array(z.string()).min(1).optional().meta({ description });
const level = z.enum(["None", "Metadata", "Request", "RequestResponse"]);
const omitStages = described(
  z.array(z.enum(["RequestReceived", "ResponseStarted", "ResponseComplete", "Panic"])).optional(),
  "Stages that write no event.",
);

/** Rules of an audit.k8s.io/v1 Policy. */
const auditPolicySchema = z.strictObject({
  omitStages,
  omitManagedFields: described(z.boolean().optional(), "Leave managed fields out of bodies."),
  rules: described(
    z
      .array(
        z.strictObject({
          level: described(
            level,
            "How much is written. Bodies of Secrets and tokens end up on a disk with more than Metadata.",
          ),
          users: texts("Users that the rule is for. Default all."),
          userGroups: texts("Groups that the rule is for. Default all."),
          verbs: texts("Verbs that the rule is for. Default all."),
          resources: described(
            z
              .array(
                z.strictObject({
                  group: described(z.string().optional(), "API group; nothing for the core group."),
                  resources: texts("Resources of the group, with a slash before a subresource. Default all."),
                  resourceNames: texts("Names of objects. Default all."),
                }),
              )
              .min(1)
              .optional(),
            "Resources that the rule is for. Default all.",
          ),
          namespaces: texts("Namespaces that the rule is for. Default all."),
          nonResourceURLs: texts("Paths that the rule is for; * at the end stands for anything."),
          omitStages,
          omitManagedFields: described(z.boolean().optional(), "Leave managed fields out of bodies."),
        }),
      )
      .min(1),
    "Rules; the first that fits decides.",
  ),
});

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
  extraArgs: described(extraArgsSchema.optional(), "More flags of the control plane's programs."),
  auditPolicy: described(
    auditPolicySchema.optional(),
    "What the API server writes to its audit log, in place of Fenestra's policy: the fields of a Policy of audit.k8s.io/v1.",
  ),
  admission: described(
    admissionSchema.optional(),
    "Configuration of admission plug-ins: plugins of an AdmissionConfiguration. Without PodSecurity that one enforces baseline where a namespace has no label.",
  ),
};

const quantity = (form: RegExp, words: string, example: string, description: string) =>
  matching(form, `is not ${words}`)
    .optional()
    .meta({ patternErrorMessage: words, examples: [example], description });
const bytes = (description: string) => quantity(/^[1-9]\d*(Mi|Gi)$/, "an amount of Mi or Gi", "512Mi", description);
const percent = (description: string) => quantity(/^([1-9]|[1-9]\d)%$/, "1% to 99%", "10%", description);
const duration = (description: string) =>
  quantity(/^(\d+h)?(\d+m)?(\d+s)?$/, "a duration of h, m and s", "2m30s", description);

const reserved = (what: string) =>
  section(`What is kept for ${what}. What is left out keeps Fenestra's amount for the size.`, {
    cpu: quantity(/^[1-9]\d*m$/, "an amount of m, thousandths of a processor", "250m", "Share of the processors."),
    memory: bytes("Memory of the node."),
    "ephemeral-storage": bytes("Space on the node's disk."),
  }).optional();

const signals = (description: string) =>
  z
    .strictObject({
      "memory.available": bytes("Free memory."),
      "nodefs.available": percent("Free space of the node's disk."),
      "nodefs.inodesFree": percent("Free inodes of the node's disk. Linux."),
      "imagefs.available": percent("Free space for images."),
      "imagefs.inodesFree": percent("Free inodes for images. Linux."),
      "pid.available": percent("Free process ids. Linux."),
    })
    .optional()
    .meta({ description });

const whole = (least: number, most: number, description: string) =>
  z.int().min(least).max(most).optional().meta({ description });

/** Fields of KubeletConfiguration that a pool may set. */
export const kubeletSchema = z.strictObject({
  maxPods: whole(1, 250, "Most pods of a node. Default 110; a node's /24 has addresses for 250."),
  podPidsLimit: whole(100, 4194304, "Most processes of a pod. Default 4096. Linux."),
  seccompDefault: described(
    z.boolean().optional(),
    "Give containers that name no seccomp profile the runtime's, which refuses rare system calls. Default true. Linux.",
  ),
  kubeReserved: reserved("the kubelet and containerd"),
  systemReserved: reserved("the operating system"),
  evictionHard: signals("Thresholds at which pods are evicted at once. Those left out keep Fenestra's value."),
  evictionSoft: signals("Thresholds at which pods are evicted after evictionSoftGracePeriod."),
  evictionSoftGracePeriod: described(
    z.record(z.string(), matching(/^(\d+h)?(\d+m)?(\d+s)?$/, "is not a duration of h, m and s")).optional(),
    "How long each threshold of evictionSoft must last: memory.available to 1m30s.",
  ),
  evictionMaxPodGracePeriod: whole(0, 3600, "Most seconds that a pod gets when evictionSoft evicts it."),
  imageGCHighThresholdPercent: whole(1, 100, "Use of the disk at which unused images are removed. Default 85."),
  imageGCLowThresholdPercent: whole(1, 100, "Use of the disk at which that ends. Default 80."),
  imageMinimumGCAge: duration("Age at which an unused image may be removed. Default 2m."),
  imageMaximumGCAge: duration("Age at which an unused image is removed in any case. Default never."),
  containerLogMaxSize: bytes("Size at which a container's log is rotated. Default 20Mi."),
  containerLogMaxFiles: whole(2, 100, "Files of a container's log that are kept. Default 5."),
  maxParallelImagePulls: whole(1, 100, "Images that a node pulls at once. Default 3."),
  registryPullQPS: whole(0, 1000, "Pulls per second; 0 for no limit. Default 5."),
  registryBurst: whole(1, 1000, "Pulls at once above registryPullQPS. Default 10."),
  cpuManagerPolicy: described(
    z.enum(["none", "static"]).optional(),
    "static gives whole processors to guaranteed pods that ask for them. Default none. Linux.",
  ),
  topologyManagerPolicy: described(
    z.enum(["none", "best-effort", "restricted", "single-numa-node"]).optional(),
    "How processors and devices are aligned. Default none. Linux.",
  ),
  allowedUnsafeSysctls: texts("Kernel settings that pods may set: net.core.somaxconn, kernel.shm*. Linux."),
  featureGates: described(
    z.record(z.string().min(1), z.boolean()).optional(),
    "Feature gates of the kubelet. Refused: those that this minor does not let one set.",
  ),
});

export type ExtraArgs = z.output<typeof extraArgsSchema>;
export type AuditPolicy = z.output<typeof auditPolicySchema>;
export type KubeletSettings = z.output<typeof kubeletSchema>;
