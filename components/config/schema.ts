import { z } from "zod";
import { cloudNames } from "../model/cloudFacts/facts.ts";
import { firstEncryptionKey } from "../model/keyLists.ts";
import { operatingSystemNames } from "../model/operatingSystems.ts";
import { defaultRelease } from "../model/releases.ts";
import { joinSeconds, lateSnapshotHours, snapshotDays, snapshotHours } from "../model/timings.ts";
import { accessSchema, type issuerSchema } from "./accessSchema.ts";
import { addonsSchema } from "./addOnSchema.ts";
import {
  certificate,
  cidr,
  described,
  exampleCertificate,
  lowerCaseName,
  matching,
  nameForm,
  ofOrganisation,
  section,
  switchOff,
  switchOn,
} from "./forms.ts";
import {
  controlPlaneDiskFields,
  controlPlaneFlagFields,
  iamSchema,
  kubeletSchema,
  machineFields,
  updateFields,
  windowsFields,
} from "./machineSchema.ts";
import { networkSchema } from "./networkSchema.ts";

/** Neither HTTP's basic authentication nor the machines' files can hold these. */
const control = "\\u0000-\\u001f\\u007f";

const loginSchema = z.strictObject({
  username: described(
    matching(new RegExp(`^[^:${control}]+$`), "is empty or has a colon, which basic authentication does not allow"),
    "User name.",
    { patternErrorMessage: "a name without a colon", examples: ["svc-fenestra"] },
  ),
  password: matching(new RegExp(`^[^${control}]+$`), "is empty or has a control character").meta({
    // Editors' schema has Pulumi's encrypted form in its place.
    writeOnly: true,
    patternErrorMessage: "encrypted",
    description: "Password, encrypted by pulumi config set --secret --path.",
  }),
});

const credentialFields = {
  proxyCredentials: ofOrganisation(
    described(
      loginSchema.optional(),
      "Login of httpProxy, for basic authentication. It is kept in Parameter Store or Key Vault, where the machines read it.",
    ),
  ),
  registryCredentials: ofOrganisation(
    described(
      z.record(z.string().min(1), loginSchema).optional(),
      "Host of a registry or a mirror (mirror.corp.example:5000), with its port where it is not the scheme's own, to its login, kept like that of the proxy. It is for image pulls from there, and for the files of mirror.artifacts.",
    ),
  ),
};

const minutes = (least: number) => z.int().min(least).max(1440);

const repairSchema = section("When the machines of pools are replaced by themselves.", {
  notReadyAfter: described(minutes(5).default(20), "Minutes that a node is not Ready before its machine is replaced."),
  joinWithin: section("How long a machine may take to join before it is replaced.", {
    linux: described(minutes(5).default(joinSeconds.linux / 60), "Minutes that a Linux machine has to join."),
    windows: described(minutes(10).default(joinSeconds.windows / 60), "Minutes that a Windows machine has to join."),
  }).prefault({}),
  maxUnhealthy: described(
    z.int().min(0).max(100).default(20),
    "Percent of a pool, and of its machines in one zone, that may be unhealthy: above it, and above one, nothing is replaced there.",
  ),
  perHour: described(z.int().min(0).max(100).default(2), "Machines replaced in an hour, at most. 0: none."),
});

const encryptionSchema = section("Keys of the encryption of Secrets in etcd.", {
  keys: described(
    z
      .array(
        lowerCaseName()
          .max(20)
          .meta({ ...nameForm, examples: ["key2"] }),
      )
      .min(1)
      .max(3)
      .default([firstEncryptionKey]),
    `Names of the keys: the first one encrypts, all decrypt. ${firstEncryptionKey} is the key that every cluster without this setting has; any other name is a new one in the secret store. A cluster that runs changes its key in three updates, see docs/operations/keys.md; never use a name again.`,
  ),
});

const httpUrl = z
  .url({ protocol: /^https?$/ })
  .meta({ patternErrorMessage: "an http or https URL", examples: ["https://mirror.example.com"] });

const kubernetesSchema = section("Kubernetes release and the networks inside the cluster.", {
  version: described(
    matching(/^(0|[1-9]\d*)(\.(0|[1-9]\d*)){2}$/, `is not a release such as ${defaultRelease}`).default(defaultRelease),
    "Kubernetes release, major.minor.patch. Must be in the lock file of artifacts. Upgrades go one minor at a time.",
    { patternErrorMessage: "three numbers with dots", examples: [defaultRelease] },
  ),
  sizeTier: described(
    z.enum(["small", "medium", "large"]).default("small"),
    "Fixed size class that sets the client limits of the control plane: small up to about 50 nodes, medium 250, large 1000. Not derived from the pools, so that a changed pool never touches the control plane.",
  ),
  podCidr: ofOrganisation(
    described(cidr.default("10.244.0.0/16"), "Network of the pods; every node gets a /24 of it."),
  ),
  serviceCidr: ofOrganisation(described(cidr.default("10.96.0.0/16"), "Network of the Services.")),
  pauseImage: described(
    matching(/^[\w.-]+(:\d+)?(\/[\w.-]+)+(:[\w.-]+)?@sha256:[0-9a-f]{64}$/, "is no image with a digest").optional(),
    "Image of every pod's sandbox, for Linux and each Windows release. Default: registry.k8s.io/pause. Microsoft signs the programs in mcr.microsoft.com/oss/kubernetes/pause, for policies that want signed code.",
    {
      patternErrorMessage: "an image with its digest",
      examples: [`mcr.microsoft.com/oss/kubernetes/pause:3.10@sha256:${"0123456789abcdef".repeat(4)}`],
    },
  ),
});

const memberNames = z.enum(["cp-0", "cp-1", "cp-2", "cp-3", "cp-4"]);

const controlPlaneSchema = section("Machines of the control plane.", {
  replicas: described(
    z.union([z.literal(1), z.literal(3), z.literal(5)]).default(1),
    "Control-plane machines, each with an etcd member: 1, 3 or 5, spread over the zones. They may become more, not fewer: the members that leave hold etcd's quorum.",
  ),
  size: described(z.string().optional(), "Machine size. Default m7i.large on AWS, Standard_D2s_v5 on Azure."),
  image: ofOrganisation(
    described(
      z.string().default("latest"),
      "Operating system image: latest (newest Ubuntu 24.04 at each launch) or a pinned one (AMI id on AWS; image version or id of a gallery's image on Azure).",
    ),
  ),
  osDiskGb: described(z.int().min(30).max(1024).default(50), "Size of the system disk in GiB."),
  etcdDiskGb: described(z.int().min(8).max(256).default(20), "Size of the data disk of each etcd member in GiB."),
  ...controlPlaneDiskFields,
  generations: described(
    z.partialRecord(memberNames, z.int().min(2).max(9999)).optional(),
    "Replaces single machines, by the names of their etcd members: { cp-1: 2 }, the next time { cp-1: 3 }. The gate before a machine looks at the others first, which `pulumi up --replace` does not.",
  ),
  sizes: described(
    z.partialRecord(memberNames, z.string()).optional(),
    "Sizes of single machines in place of size, by the names of their etcd members: { cp-1: m6i.large } while its zone has none of the usual size.",
  ),
  backup: section("Snapshots of etcd.", {
    everyHours: described(
      z.int().min(1).max(snapshotHours).default(snapshotHours),
      `Hours between the snapshots of each machine. \`fenestra verify\` fails when the last one is older than ${lateSnapshotHours} hours.`,
    ),
    keepDays: described(
      z.int().min(1).max(3650).optional(),
      `Days after which the object store removes a snapshot. Default ${snapshotDays.development}, in production ${snapshotDays.production}.`,
    ),
  }).prefault({}),
  ...controlPlaneFlagFields,
});

const taintSchema = z.strictObject({
  key: described(z.string().min(1), "Key of the taint."),
  value: described(z.string().default(""), "Value of the taint."),
  effect: described(
    z.enum(["NoSchedule", "PreferNoSchedule", "NoExecute"]),
    "What happens to pods that do not tolerate it.",
  ),
});

export const poolSchema = section("A pool of equal worker machines.", {
  name: described(
    lowerCaseName().max(20),
    "Name of the pool, unique. At most 20 characters; on Azure at most 9 for Windows, zone suffix included.",
    nameForm,
  ),
  os: described(z.enum(operatingSystemNames), "Operating system: Ubuntu 24.04, or Windows Server Core of that year."),
  size: described(
    z.string().optional(),
    "Machine size. Default m7i.large on AWS, Standard_D2s_v5 on Azure (2 vCPU, 8 GiB).",
  ),
  count: described(
    z.int().min(0).max(1000).optional(),
    "Machines wanted. Default 1; the lower bound of autoscale when that is given.",
  ),
  autoscale: section("Bounds for the cluster autoscaler. Without it the count is fixed.", {
    min: described(z.int().min(0).max(1000), "Fewest machines; 0 is allowed."),
    max: described(z.int().min(1).max(1000), "Most machines."),
  }).optional(),
  image: ofOrganisation(
    described(
      z.string().default("latest"),
      "latest, or a pinned image: AMI id on AWS; on Azure an image version, or the id of an image of your own in a gallery, with or without a version.",
    ),
  ),
  diskGb: described(
    z.int().min(30).max(4096).optional(),
    "Size of the system disk in GiB. Default 120 on AWS, 128 on Azure for Windows; 50 for Linux.",
  ),
  zones: described(z.array(z.string().min(1)).min(1).optional(), "Subset of network.zones. Default all of them."),
  perZone: switchOff("One group of machines per zone, named <pool>-<zone>: needed to autoscale pods with zonal disks."),
  labels: ofOrganisation(
    described(z.record(z.string(), z.string()).default({}), "More labels of the nodes, in your own domain."),
  ),
  taints: ofOrganisation(described(z.array(taintSchema).default([]), "More taints of the nodes.")),
  ...windowsFields,
  nodeLogQuery: ofOrganisation(
    switchOff(
      "Let the kubelets of the pool answer queries for logs of the node's services through the API. Whoever may use nodes/proxy can then read event logs and journals, so it is off unless you debug.",
    ),
  ),
  kubelet: ofOrganisation(
    described(
      kubeletSchema.optional(),
      "Fields of the KubeletConfiguration of the pool's kubelets. Refused: unknown ones, and those that Fenestra sets itself; fenestra rehearse has the rest read by that kubelet. What is left out of kubeReserved, systemReserved and evictionHard keeps Fenestra's amount for the size.",
    ),
  ),
  waitForNodes: ofOrganisation(
    switchOn(
      "Let an update end only when the pool's nodes are Ready and made from what the program says now. It gives up when no node has joined for as long as one may take, and the next update waits again. Switch it off where machines may be missing for long, as with spot, or where nobody can wait for the roll of a large pool.",
    ),
  ),
  spot: switchOff("Buy spare capacity that the cloud may take back at short notice."),
  capacity: ofOrganisation(
    section("Processors and memory of a size that Fenestra does not know.", {
      vcpus: described(z.int().min(1), "Virtual processors."),
      memoryGib: described(z.number().positive(), "Memory in GiB."),
    }).optional(),
  ),
  ...machineFields,
  ...updateFields,
});

const mirrorSchema = section("Where machines fetch from in a restricted network.", {
  artifacts: described(
    httpUrl.optional(),
    "Base URL of a copy of the artifacts; the path below it is host and path of the original URL. Digests are checked all the same.",
  ),
  registries: described(
    z.record(z.string(), httpUrl).default({}),
    "Container registry (registry.k8s.io) to the URL of its mirror, written to containerd's certs.d on both systems.",
  ),
});

const registryAccessSchema = section(
  "Pulls from the cloud's own registries by the identity of the workers, without pull secrets.",
  {
    resources: described(
      z.array(z.string()).min(1),
      "What the workers may pull by their identity, and nothing else. AWS: ARNs of repositories of ECR, in which * stands for a part of the name. Azure: resource ids of registries.",
    ),
  },
);

/** The whole `config` of a stack file, without the project prefix. */
export const stackSchema = z.strictObject({
  cloud: described(z.enum(cloudNames), "The cloud of this stack."),
  name: described(
    lowerCaseName().max(20),
    "Name of the cluster; unique in the account and region. Part of every resource's name.",
    { ...nameForm, examples: ["prod"] },
  ),
  region: described(z.string().min(1), "Region of the cloud: eu-central-1, westeurope."),
  accountId: described(
    matching(
      /^\d{12}$|^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/,
      "is neither an AWS account id nor an Azure subscription id",
    ).optional(),
    "Guard: the AWS account or Azure subscription that this stack may touch, nothing else.",
    { patternErrorMessage: "12 digits, or an Azure subscription's UUID in lower case", examples: ["123456789012"] },
  ),
  environment: described(
    z.enum(["development", "production"]).default("development"),
    "production protects the etcd volumes and the CA material from deletion and leaves the samples out.",
  ),
  kubernetes: kubernetesSchema.prefault({}),
  network: networkSchema,
  controlPlane: controlPlaneSchema.prefault({}),
  pools: described(z.array(poolSchema).min(1).max(60), "Pools of worker machines."),
  access: accessSchema.prefault({}),
  secretsEncryption: ofOrganisation(encryptionSchema.optional()),
  addons: addonsSchema.prefault({}),
  repair: repairSchema.prefault({}),
  iam: ofOrganisation(iamSchema),
  mirror: ofOrganisation(mirrorSchema.prefault({})),
  registryAccess: ofOrganisation(registryAccessSchema.optional()),
  certificateAuthorities: ofOrganisation(
    described(
      z
        .array(certificate().meta({ patternErrorMessage: "a certificate in PEM", examples: [exampleCertificate] }))
        .min(1)
        .max(8)
        .optional(),
      "Authorities of your own that machines trust besides the public ones, one certificate each: of a proxy that looks into TLS, of a mirror, of an issuer of signIn. Downloads, image pulls and the control plane trust them; pods do not.",
    ),
  ),
  noProxy: ofOrganisation(
    described(
      z.array(z.string().min(1)).min(1).optional(),
      "More hosts, domains (.corp.example) and networks that machines reach without httpProxy: a mirror of your own network.",
    ),
  ),
  httpProxy: ofOrganisation(described(httpUrl.optional(), "HTTP proxy for the machines' downloads and image pulls.")),
  ...credentialFields,
  encryptionAtHost: ofOrganisation(
    switchOff(
      "Encrypt caches and temporary disks on the host too. The subscription's feature Microsoft.Compute/EncryptionAtHost must be registered before.",
    ),
  ),
  tags: described(
    z.record(z.string().min(1), z.string()).default({}),
    "Tags on every cloud resource: at most 40, on Azure 13.",
  ),
  ignoreTags: ofOrganisation(
    described(
      z.array(z.string().min(1)).default([]),
      "Names of tags that others write, which updates leave alone. On AWS with * at the end all that begin so; on Azure what `pulumi refresh` has seen.",
    ),
  ),
  acknowledge: ofOrganisation(
    described(
      z.record(z.string().min(1), z.string().trim().min(10)).default({}),
      "Findings of the plan that somebody has looked at and accepts, by their names, each with a reason of at least 10 characters. They stay in the plan and fail no check.",
    ),
  ),
});

export type StackConfig = z.output<typeof stackSchema>;
export type StackConfigInput = z.input<typeof stackSchema>;
export type PoolConfig = z.output<typeof poolSchema>;
export type IssuerConfig = z.output<typeof issuerSchema>;
export type Cloud = StackConfig["cloud"];
