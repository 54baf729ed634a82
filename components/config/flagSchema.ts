import { z } from "zod";
import { described, matching } from "./forms.ts";

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
  extraArgs: described(extraArgsSchema.optional(), "More flags of the control plane's programs."),
  auditPolicy: described(
    auditPolicySchema.optional(),
    "What the API server writes to its audit log, in place of Fenestra's policy: a Policy of audit.k8s.io/v1, whole. Bodies of Secrets and tokens end up on a disk with more than Metadata.",
  ),
  admission: described(
    admissionSchema.optional(),
    "Configuration of admission plug-ins: plugins of an AdmissionConfiguration. Without PodSecurity that one enforces baseline where a namespace has no label.",
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
