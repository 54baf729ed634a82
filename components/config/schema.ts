import { z } from "zod";
import { operatingSystemNames } from "../model/operatingSystems.ts";
import { defaultRelease } from "../model/releases.ts";
import { lateSnapshotHours, snapshotDays, snapshotHours } from "../model/timings.ts";
import { accessSchema, type issuerSchema } from "./accessSchema.ts";
import { addonsSchema } from "./addOnSchema.ts";
import { credentialFields } from "./credentialsSchema.ts";
import { encryptionSchema } from "./encryptionSchema.ts";
import { controlPlaneFlagFields, kubeletSchema } from "./flagSchema.ts";
import { certificate, cidr, exampleCertificate, lowerCaseName, nameForm } from "./forms.ts";
import { controlPlaneDiskFields, iamSchema, machineFields } from "./machineSchema.ts";
import { networkSchema } from "./networkSchema.ts";
import { repairSchema } from "./repairSchema.ts";
import { updateFields } from "./updateSchema.ts";

const httpUrl = z
  .url({ protocol: /^https?$/ })
  .meta({ patternErrorMessage: "an http or https URL", examples: ["https://mirror.example.com"] });

const kubernetesSchema = z
  .strictObject({
    version: z
      .string()
      .regex(/^\d+\.\d+\.\d+$/, `is not a release such as ${defaultRelease}`)
      .default(defaultRelease)
      .meta({
        patternErrorMessage: "three numbers with dots",
        examples: [defaultRelease],
        description: "Kubernetes release, major.minor.patch. Must be in the lock file of artifacts. Upgrades go one minor at a time.",
      }),
    sizeTier: z
      .enum(["small", "medium", "large"])
      .default("small")
      .meta({
        description:
          "Fixed size class that sets the client limits of the control plane: small up to about 50 nodes, medium 250, large 1000. Not derived from the pools, so that a changed pool never touches the control plane.",
      }),
    podCidr: cidr.default("10.244.0.0/16").meta({ description: "Network of the pods; every node gets a /24 of it." }),
    serviceCidr: cidr.default("10.96.0.0/16").meta({ description: "Network of the Services." }),
  })
  .meta({ description: "Kubernetes release and the networks inside the cluster." });

const controlPlaneSchema = z
  .strictObject({
    replicas: z
      .union([z.literal(1), z.literal(3), z.literal(5)])
      .default(1)
      .meta({
        description:
          "Control-plane machines, each with an etcd member: 1, 3 or 5, spread over the zones. They may become more, not fewer: the members that leave hold etcd's quorum.",
      }),
    size: z.string().optional().meta({ description: "Machine size. Default m7i.large on AWS, Standard_D2s_v5 on Azure." }),
    image: z
      .string()
      .default("latest")
      .meta({
        description:
          "Operating system image: latest (newest Ubuntu 24.04 at each launch) or a pinned one (AMI id on AWS; image version or id of a gallery's image on Azure).",
      }),
    osDiskGb: z.int().min(30).max(1024).default(50).meta({ description: "Size of the system disk in GiB." }),
    etcdDiskGb: z.int().min(8).max(256).default(20).meta({ description: "Size of the data disk of each etcd member in GiB." }),
    ...controlPlaneDiskFields,
    backup: z
      .strictObject({
        everyHours: z
          .int()
          .min(1)
          .max(snapshotHours)
          .default(snapshotHours)
          .meta({
            description: `Hours between the snapshots of each machine. \`fenestra verify\` fails when the last one is older than ${lateSnapshotHours} hours.`,
          }),
        keepDays: z
          .int()
          .min(1)
          .max(3650)
          .optional()
          .meta({
            description: `Days after which the object store removes a snapshot. Default ${snapshotDays.development}, in production ${snapshotDays.production}.`,
          }),
      })
      .prefault({})
      .meta({ description: "Snapshots of etcd." }),
    ...controlPlaneFlagFields,
  })
  .meta({ description: "Machines of the control plane." });

const taintSchema = z.strictObject({
  key: z.string().min(1).meta({ description: "Key of the taint." }),
  value: z.string().default("").meta({ description: "Value of the taint." }),
  effect: z.enum(["NoSchedule", "PreferNoSchedule", "NoExecute"]).meta({ description: "What happens to pods that do not tolerate it." }),
});

export const poolSchema = z
  .strictObject({
    name: lowerCaseName()
      .max(20)
      .meta({
        ...nameForm,
        description: "Name of the pool, unique. At most 20 characters; on Azure at most 9 for Windows, zone suffix included.",
      }),
    os: z.enum(operatingSystemNames).meta({ description: "Operating system: Ubuntu 24.04, or Windows Server Core of that year." }),
    size: z.string().optional().meta({ description: "Machine size. Default m7i.large on AWS, Standard_D2s_v5 on Azure (2 vCPU, 8 GiB)." }),
    count: z
      .int()
      .min(0)
      .max(1000)
      .optional()
      .meta({ description: "Machines wanted. Default 1; the lower bound of autoscale when that is given." }),
    autoscale: z
      .strictObject({
        min: z.int().min(0).max(1000).meta({ description: "Fewest machines; 0 is allowed." }),
        max: z.int().min(1).max(1000).meta({ description: "Most machines." }),
      })
      .optional()
      .meta({ description: "Bounds for the cluster autoscaler. Without it the count is fixed." }),
    image: z
      .string()
      .default("latest")
      .meta({
        description:
          "latest, or a pinned image: AMI id on AWS; on Azure an image version, or the id of an image of your own in a gallery, with or without a version.",
      }),
    diskGb: z
      .int()
      .min(30)
      .max(4096)
      .optional()
      .meta({ description: "Size of the system disk in GiB. Default 120 on AWS, 128 on Azure for Windows; 50 for Linux." }),
    zones: z.array(z.string().min(1)).min(1).optional().meta({ description: "Subset of network.zones. Default all of them." }),
    perZone: z
      .boolean()
      .default(false)
      .meta({ description: "One group of machines per zone, named <pool>-<zone>: needed to autoscale pods with zonal disks." }),
    labels: z.record(z.string(), z.string()).default({}).meta({ description: "More labels of the nodes, in your own domain." }),
    taints: z.array(taintSchema).default([]).meta({ description: "More taints of the nodes." }),
    hyperV: z
      .boolean()
      .default(false)
      .meta({ description: "Windows: enable Hyper-V isolated containers. Needs a size that can nest virtualisation." }),
    nodeLogQuery: z
      .boolean()
      .default(false)
      .meta({
        description:
          "Let the kubelets of the pool answer queries for logs of the node's services through the API. Whoever may use nodes/proxy can then read event logs and journals, so it is off unless you debug.",
      }),
    metadataAcl: z
      .boolean()
      .default(true)
      .meta({
        description:
          "Windows: block the cloud's metadata service for pods by an ACL of HNS on each. Switch it off only where an update of Windows breaks such ACLs: pods can then take the node's identity.",
      }),
    kubelet: kubeletSchema.optional().meta({ description: "Settings of the pool's kubelets, by the names of KubeletConfiguration." }),
    ccgPlugin: z
      .boolean()
      .default(false)
      .meta({
        description:
          "Windows: install the Container Credential Guard plug-in, so that pods use accounts of addons.gmsa that have a secret, although the nodes have not joined the domain.",
      }),
    waitForNodes: z
      .boolean()
      .default(true)
      .meta({
        description:
          "Let an update end only when the pool's nodes are Ready and made from what the program says now. It gives up when no node has joined for as long as one may take, and the next update waits again. Switch it off where machines may be missing for long, as with spot, or where nobody can wait for the roll of a large pool.",
      }),
    spot: z.boolean().default(false).meta({ description: "Buy spare capacity that the cloud may take back at short notice." }),
    capacity: z
      .strictObject({
        vcpus: z.int().min(1).meta({ description: "Virtual processors." }),
        memoryGib: z.number().positive().meta({ description: "Memory in GiB." }),
      })
      .optional()
      .meta({ description: "Processors and memory of a size that Fenestra does not know." }),
    ...machineFields,
    ...updateFields,
  })
  .meta({ description: "A pool of equal worker machines." });

const mirrorSchema = z
  .strictObject({
    artifacts: httpUrl
      .optional()
      .meta({
        description:
          "Base URL of a copy of the artifacts; the path below it is host and path of the original URL. Digests are checked all the same.",
      }),
    registries: z
      .record(z.string(), httpUrl)
      .default({})
      .meta({
        description: "Container registry (registry.k8s.io) to the URL of its mirror, written to containerd's certs.d on both systems.",
      }),
  })
  .meta({ description: "Where machines fetch from in a restricted network." });

const registryAccessSchema = z
  .strictObject({
    resources: z
      .array(z.string())
      .min(1)
      .meta({
        description:
          "What the workers may pull by their identity, and nothing else. AWS: ARNs of repositories of ECR, in which * stands for a part of the name. Azure: resource ids of registries.",
      }),
  })
  .meta({ description: "Pulls from the cloud's own registries by the identity of the workers, without pull secrets." });

/** The whole `config` of a stack file, without the project prefix. */
export const stackSchema = z.strictObject({
  cloud: z.enum(["aws", "azure"]).meta({ description: "The cloud of this stack." }),
  name: lowerCaseName()
    .max(20)
    .meta({
      ...nameForm,
      examples: ["prod"],
      description: "Name of the cluster; unique in the account and region. Part of every resource's name.",
    }),
  region: z.string().min(1).meta({ description: "Region of the cloud: eu-central-1, westeurope." }),
  accountId: z
    .string()
    .regex(/^\d{12}$|^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/, "is neither an AWS account id nor an Azure subscription id")
    .optional()
    .meta({
      patternErrorMessage: "12 digits, or an Azure subscription's UUID in lower case",
      examples: ["123456789012"],
      description: "Guard: the AWS account or Azure subscription that this stack may touch, nothing else.",
    }),
  environment: z
    .enum(["development", "production"])
    .default("development")
    .meta({ description: "production protects the etcd volumes and the CA material from deletion and leaves the samples out." }),
  kubernetes: kubernetesSchema.prefault({}),
  network: networkSchema,
  controlPlane: controlPlaneSchema.prefault({}),
  pools: z.array(poolSchema).min(1).max(60).meta({ description: "Pools of worker machines." }),
  access: accessSchema.prefault({}),
  secretsEncryption: encryptionSchema.optional(),
  addons: addonsSchema.prefault({}),
  repair: repairSchema.prefault({}),
  iam: iamSchema,
  mirror: mirrorSchema.prefault({}),
  registryAccess: registryAccessSchema.optional(),
  certificateAuthorities: z
    .array(certificate().meta({ patternErrorMessage: "a certificate in PEM", examples: [exampleCertificate] }))
    .min(1)
    .max(8)
    .optional()
    .meta({
      description:
        "Authorities of your own that machines trust besides the public ones, one certificate each: of a proxy that looks into TLS, of a mirror, of an issuer of signIn. Downloads, image pulls and the control plane trust them; pods do not.",
    }),
  noProxy: z
    .array(z.string().min(1))
    .min(1)
    .optional()
    .meta({
      description: "More hosts, domains (.corp.example) and networks that machines reach without httpProxy: a mirror of your own network.",
    }),
  httpProxy: httpUrl.optional().meta({ description: "HTTP proxy for the machines' downloads and image pulls." }),
  ...credentialFields,
  encryptionAtHost: z
    .boolean()
    .default(false)
    .meta({
      description:
        "Azure only: encrypt caches and temporary disks on the host too. The subscription's feature Microsoft.Compute/EncryptionAtHost must be registered before.",
    }),
  tags: z.record(z.string().min(1), z.string()).default({}).meta({ description: "Tags on every cloud resource: at most 40, on Azure 13." }),
  acknowledge: z
    .record(z.string().min(1), z.string().min(10))
    .default({})
    .meta({
      description:
        "Findings of the plan that somebody has looked at and accepts, by their names, each with a reason of at least 10 characters. They stay in the plan and fail no check.",
    }),
});

/** A stack's config after defaults. */
export type StackConfig = z.output<typeof stackSchema>;
export type StackConfigInput = z.input<typeof stackSchema>;
/** One pool after defaults. */
export type PoolConfig = z.output<typeof poolSchema>;
/** An issuer whose users may sign in, after defaults. */
export type IssuerConfig = z.output<typeof issuerSchema>;
export type Cloud = StackConfig["cloud"];
