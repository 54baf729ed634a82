/** A pair of stack files and what the providers' documentation says of the way from one to the other. */
export interface Case {
  readonly what: string;
  readonly cloud: "aws" | "azure";
  /** Changes to the cloud's config before. */
  readonly from: Readonly<Record<string, unknown>>;
  /** Changes on top of it. */
  readonly to: Readonly<Record<string, unknown>>;
  readonly expected: {
    /** Machines that do not stay. */
    readonly nodes?: string;
    /** Types that are replaced. */
    readonly replaced?: string;
    /** Types that may be replaced. */
    readonly maybe?: string;
    /** Paths that are refused. */
    readonly refused?: string;
    /** Types whose data is lost. */
    readonly lost?: string;
  };
}

const linux = { name: "linux", os: "linux", count: 2 };
const win = { name: "win", os: "windows-2022", count: 2 };
const access = { public: { allow: ["100.64.7.0/24"] } };
const version = { kubernetes: { version: "1.36.4" } };

/** What the changes start from. */
export const configs = {
  aws: {
    ...version,
    cloud: "aws",
    name: "c",
    region: "eu-central-1",
    network: { cidr: "10.0.0.0/16", zones: ["eu-central-1a", "eu-central-1b"] },
    controlPlane: { etcdDiskGb: 40 },
    access,
    pools: [linux, win],
  },
  azure: {
    ...version,
    cloud: "azure",
    name: "c",
    region: "westeurope",
    network: { cidr: "10.0.0.0/16", zones: ["1", "2"] },
    controlPlane: { etcdDiskGb: 40 },
    access,
    pools: [linux, win],
  },
} as const;

type Changed = Readonly<Record<string, unknown>>;
type Expected = Case["expected"];

/** Of both clouds: `[what, before, after, on AWS, on Azure]`. */
type Row = readonly [what: string, from: Changed, to: Changed, aws: Expected, azure: Expected];

const nothing: Expected = {};
const spread =
  "control-plane-0 is replaced, control-plane-1 is replaced, control-plane-2 is replaced, linux changes in place, win changes in place";
const on = (nodes: string, more: Expected = {}): Expected => ({ nodes, ...more });

/** An instance keeps its launch template and takes its attachment along (ec2_instance.go, ebs_volume_attachment.go: ForceNew instance_id). */
const awsMachine = { replaced: "Instance VolumeAttachment" };
/** The machine alone: disk and interface are detached and stay (Azure documentation, delete options of a VM). */
const azureMachine = { replaced: "VirtualMachine" };

const everyNode = (pools: string, more: { aws: Expected; azure: Expected }): readonly [Expected, Expected] => [
  on(`control-plane-0 is replaced, linux ${pools}, win ${pools}`, { ...awsMachine, ...more.aws }),
  on(`control-plane-0 is replaced, linux ${pools}, win ${pools}`, { ...azureMachine, ...more.azure }),
];

/** Subnets replace what is in them: interfaces, balancers, associations, and a machine with its interface. */
const awsNetwork = "Instance Listener LoadBalancer NetworkInterface RouteTableAssociation Subnet VolumeAttachment";
const awsRegional = [
  "Alias Bucket BucketLifecycleConfiguration BucketObjectv2 BucketPolicy BucketPublicAccessBlock",
  "BucketServerSideEncryptionConfiguration DefaultSecurityGroup Eip Group Instance InternetGateway Key LaunchTemplate LifecycleHook",
  "Listener LoadBalancer NatGateway NetworkInterface Parameter Route RouteTable RouteTableAssociation SecurityGroup",
  "SecurityGroupEgressRule SecurityGroupIngressRule Subnet TargetGroup TargetGroupAttachment Volume VolumeAttachment Vpc VpcEndpoint",
].join(" ");
const azureSubnets = ["control-plane-1", "control-plane-2", "private-1", "private-2"]
  .map((name) => `c-network-${name} addressPrefix`)
  .join(" ");
const azureAll = [
  "ApplicationSecurityGroup BlobContainer Disk LoadBalancer ManagementPolicy NatGateway NetworkInterface NetworkSecurityGroup",
  "PrivateRecordSet PrivateZone PublicIPAddress ResourceGroup RoleAssignment Secret SecurityRule StorageAccount Subnet",
  "UserAssignedIdentity Vault VirtualMachine VirtualMachineScaleSet VirtualNetwork VirtualNetworkLink",
].join(" ");

const pool = (change: Changed): Changed => ({ pools: [linux, { ...win, ...change }] });
const both = (expected: Expected): readonly [Expected, Expected] => [expected, expected];
const claim = "PersistentVolumeClaim";
const rolls = on("win rolls one by one");

/**
 * Sources. AWS: registry.terraform.io/providers/hashicorp/aws/latest/docs, "Forces new resource" per argument, and "Instance Refresh" of
 * aws_autoscaling_group. Azure: learn.microsoft.com, "Modify a Virtual Machine Scale Set" (upgrade policies; what cannot change after
 * creation), "Resize, detach disks", and "PropertyChangeNotAllowed"; a resource group and a network cannot move to another region.
 */
const rows: readonly Row[] = [
  ["more machines", {}, pool({ count: 5 }), on("win changes in place"), on("win changes in place")],
  ["fewer machines", {}, pool({ count: 1 }), on("win changes in place"), on("win changes in place")],
  ["another size of a pool", {}, pool({ size: "SIZE" }), rolls, rolls],
  ["another image of a pool", {}, pool({ image: "IMAGE" }), rolls, rolls],
  ["a larger disk of a pool", {}, pool({ diskGb: 200 }), rolls, rolls],
  ["a label", {}, pool({ labels: { "example.com/team": "a" } }), rolls, rolls],
  ["a taint", {}, pool({ taints: [{ key: "a", value: "b", effect: "NoSchedule" }] }), rolls, rolls],
  // Microsoft: the priority of a set is fixed when it is made. AWS: market options are part of a version of the template.
  ["spot machines", {}, pool({ spot: true }), rolls, on("win is replaced", { replaced: "VirtualMachineScaleSet" })],
  ["no waiting for nodes", {}, pool({ waitForNodes: false }), nothing, nothing],
  // The samples of a release go with its last pool, and kubernetes.io: a claim's volume goes with it under the policy Delete.
  ["another release of Windows", {}, pool({ os: "windows-2025" }), ...both(on("win rolls one by one", { lost: claim }))],
  ["a new pool", {}, { pools: [linux, win, { ...linux, name: "x" }] }, on("x is new"), on("x is new")],
  ["a pool less", {}, { pools: [linux] }, ...both(on("win is removed", { lost: `Namespace ${claim}` }))],
  ["a pool with another name", {}, pool({ name: "web" }), on("web is new, win is removed"), on("web is new, win is removed")],
  [
    "a group per zone",
    {},
    pool({ perZone: true }),
    on("win is removed, win-a is new, win-b is new"),
    on("win is removed, win-1 is new, win-2 is new"),
  ],
  // Microsoft: zones may be added to a set and never removed. AWS: aws_autoscaling_group updates vpc_zone_identifier.
  [
    "a zone less for a pool",
    {},
    pool({ zones: ["ZONE"] }),
    on("win changes in place"),
    on("win is refused", { refused: "c-pool-win-group zones" }),
  ],
  ["bounds for the autoscaler", {}, pool({ autoscale: { min: 2, max: 4 } }), on("win changes in place"), on("win changes in place")],
  [
    "another size of the control plane",
    {},
    { controlPlane: { etcdDiskGb: 40, size: "SIZE" } },
    on("control-plane-0 is replaced", awsMachine),
    on("control-plane-0 is replaced", azureMachine),
  ],
  [
    "another image of the control plane",
    {},
    { controlPlane: { etcdDiskGb: 40, image: "LINUX" } },
    on("control-plane-0 is replaced", awsMachine),
    on("control-plane-0 is replaced", azureMachine),
  ],
  ["a larger disk of etcd", {}, { controlPlane: { etcdDiskGb: 60 } }, nothing, nothing],
  [
    "a smaller disk of etcd",
    {},
    { controlPlane: { etcdDiskGb: 30 } },
    { refused: "controlPlane.etcdDiskGb" },
    { refused: "controlPlane.etcdDiskGb" },
  ],
  ["a patch release", {}, { kubernetes: { version: "1.36.3" } }, ...everyNode("rolls one by one", { aws: {}, azure: {} })],
  ["the next minor", {}, { kubernetes: { version: "1.37.0" } }, ...everyNode("rolls one by one", { aws: {}, azure: {} })],
  [
    "the minor before",
    {},
    { kubernetes: { version: "1.35.1" } },
    ...everyNode("rolls one by one", {
      aws: { refused: "kubernetes.version" },
      azure: { refused: "kubernetes.version" },
    }),
  ],
  [
    "a minor skipped",
    { kubernetes: { version: "1.35.1" } },
    { kubernetes: { version: "1.37.0" } },
    ...everyNode("rolls one by one", {
      aws: { refused: "kubernetes.version" },
      azure: { refused: "kubernetes.version" },
    }),
  ],
  [
    "one control-plane machine to three",
    {},
    { controlPlane: { etcdDiskGb: 40, replicas: 3 } },
    on("control-plane-0 is replaced, control-plane-1 is new, control-plane-2 is new", awsMachine),
    on("control-plane-0 is replaced, control-plane-1 is new, control-plane-2 is new", azureMachine),
  ],
  [
    "three control-plane machines to one",
    { controlPlane: { etcdDiskGb: 40, replicas: 3 } },
    { controlPlane: { etcdDiskGb: 40 } },
    on("control-plane-0 is replaced, control-plane-1 is removed, control-plane-2 is removed", {
      ...awsMachine,
      refused: "controlPlane.replicas",
      lost: "Volume",
    }),
    on("control-plane-0 is replaced, control-plane-1 is removed, control-plane-2 is removed", {
      ...azureMachine,
      refused: "controlPlane.replicas",
      lost: "Disk",
    }),
  ],
  [
    "a tag",
    {},
    { tags: { owner: "me" } },
    on("control-plane-0 changes in place, linux rolls one by one, win rolls one by one"),
    on("control-plane-0 changes in place, linux changes in place, win changes in place"),
  ],
  [
    "another client limit",
    {},
    { kubernetes: { version: "1.36.4", sizeTier: "medium" } },
    on("control-plane-0 is replaced", awsMachine),
    on("control-plane-0 is replaced", azureMachine),
  ],
  ["an add-on less", {}, { addons: { metricsServer: false } }, nothing, nothing],
  [
    "a key of tokens that no API server knows",
    {},
    { access: { ...access, serviceAccountKeys: ["rsa-1"] } },
    ...both({ refused: "access.serviceAccountKeys" }),
  ],
  ["another allow-list", {}, { access: { public: { allow: ["100.64.9.0/24"] } } }, nothing, nothing],
  [
    "a mirror for files",
    {},
    { mirror: { artifacts: "https://files.corp.test/x" } },
    ...everyNode("rolls one by one", { aws: {}, azure: {} }),
  ],
  ["NAT per zone", {}, { network: { cidr: "10.0.0.0/16", zones: ["ZONE", "OTHER"], nat: "perZone" } }, nothing, nothing],
  [
    "one zone more",
    {},
    { network: { cidr: "10.0.0.0/16", zones: ["ZONE", "OTHER", "THIRD"] } },
    on("linux changes in place, win changes in place"),
    on("linux changes in place, win changes in place"),
  ],
  [
    "one zone more, where control-plane machines share zones",
    { controlPlane: { etcdDiskGb: 40, replicas: 3 } },
    { network: { cidr: "10.0.0.0/16", zones: ["ZONE", "OTHER", "THIRD"] } },
    on(spread, {
      refused: "network.zones",
      replaced: "Instance NetworkInterface TargetGroupAttachment Volume VolumeAttachment",
      lost: "Volume",
    }),
    on(spread, { refused: "network.zones", replaced: "Disk VirtualMachine", lost: "Disk" }),
  ],
  [
    "another network",
    {},
    { network: { cidr: "10.1.0.0/16", zones: ["ZONE", "OTHER"] } },
    on("control-plane-0 is replaced, linux rolls one by one, win rolls one by one", {
      refused: "network.cidr",
      replaced: `${awsNetwork} DefaultSecurityGroup NatGateway Route RouteTable SecurityGroup SecurityGroupEgressRule SecurityGroupIngressRule TargetGroup TargetGroupAttachment Vpc VpcEndpoint`,
    }),
    on("control-plane-0 is replaced", { ...azureMachine, refused: `network.cidr ${azureSubnets}` }),
  ],
  [
    "zones in another order",
    {},
    { network: { cidr: "10.0.0.0/16", zones: ["OTHER", "ZONE"] } },
    on("control-plane-0 is replaced, linux rolls one by one, win rolls one by one", {
      refused: "network.zones",
      replaced: `${awsNetwork} Volume`,
      lost: "Volume",
    }),
    on("control-plane-0 is replaced, linux rolls one by one, win rolls one by one", {
      refused: `network.zones ${azureSubnets}`,
      replaced: "Disk VirtualMachine",
      lost: "Disk",
    }),
  ],
  [
    "another network of pods",
    {},
    { kubernetes: { version: "1.36.4", podCidr: "10.200.0.0/16" } },
    on("control-plane-0 is replaced, linux rolls one by one, win rolls one by one", {
      ...awsMachine,
      refused: "kubernetes.podCidr",
    }),
    on("control-plane-0 is replaced, linux rolls one by one, win rolls one by one", {
      ...azureMachine,
      refused: "kubernetes.podCidr",
    }),
  ],
  [
    "another network of Services",
    {},
    { kubernetes: { version: "1.36.4", serviceCidr: "10.97.0.0/16" } },
    on("control-plane-0 is replaced, linux rolls one by one, win rolls one by one", {
      ...awsMachine,
      refused: "kubernetes.serviceCidr",
    }),
    on("control-plane-0 is replaced, linux rolls one by one, win rolls one by one", {
      ...azureMachine,
      refused: "kubernetes.serviceCidr",
    }),
  ],
  [
    "another region",
    {},
    { region: "REGION", network: { cidr: "10.0.0.0/16", zones: ["THERE1", "THERE2"] } },
    on("control-plane-0 is replaced, linux is replaced, win is replaced", {
      refused: "region network.zones",
      lost: "Bucket Key Volume",
      replaced: awsRegional,
    }),
    on("control-plane-0 is replaced, linux is replaced, win is replaced", {
      refused: "region",
      lost: "BlobContainer Disk ResourceGroup StorageAccount Vault",
      replaced: azureAll,
    }),
  ],
  [
    "another name",
    {},
    { name: "d" },
    on("control-plane-0 is removed, d-control-plane-0 is new, d-pool-linux is new, d-pool-win is new, linux is removed, win is removed", {
      refused: "name",
      lost: "Bucket Key Namespace PersistentVolumeClaim RandomBytes Volume",
    }),
    on("control-plane-0 is removed, d-control-plane-0 is new, d-pool-linux is new, d-pool-win is new, linux is removed, win is removed", {
      refused: "name",
      lost: "BlobContainer Disk Namespace PersistentVolumeClaim RandomBytes ResourceGroup StorageAccount Vault",
    }),
  ],
];

const values = {
  aws: {
    SIZE: "m7i.2xlarge",
    IMAGE: "ami-0a1b2c3d4e5f60719",
    LINUX: "ami-0a1b2c3d4e5f60718",
    ZONE: "eu-central-1a",
    OTHER: "eu-central-1b",
    THIRD: "eu-central-1c",
    REGION: "eu-west-1",
    THERE1: "eu-west-1a",
    THERE2: "eu-west-1b",
  },
  azure: {
    SIZE: "Standard_D8s_v5",
    IMAGE: "20348.5499.260809",
    LINUX: "24.04.202610010",
    ZONE: "1",
    OTHER: "2",
    THIRD: "3",
    REGION: "northeurope",
    THERE1: "1",
    THERE2: "2",
  },
} as const;

function filled(cloud: "aws" | "azure", change: Changed): Changed {
  const text = JSON.stringify(change);
  const found: unknown = JSON.parse(
    text.replaceAll(/"([A-Z]+\d?)"/g, (all, key) => (key in values[cloud] ? JSON.stringify(Reflect.get(values[cloud], key)) : all)),
  );
  return { ...Object(found) };
}

const file = { url: "https://files.example.com/a.tgz", sha256: "1".repeat(64) };
const onInterface = (podsPerNode: number) => ({
  network: {
    ...configs.azure.network,
    pods: "azure-cni",
    azureCni: { podsPerNode, plugin: { linux: file, windows: file } },
  },
});

const group = "/subscriptions/00000000-0000-0000-0000-000000000001/resourceGroups/g/providers/Microsoft.Compute";

/** Of Azure alone. Addresses of a machine are part of its set's model, which instances take when they are made (Azure documentation, as above). */
const ofAzure: readonly Omit<Case, "cloud">[] = [
  {
    // The pods' range is then the machines', and the control plane's subnets are larger. flannel's namespace holds flannel alone.
    what: "another pod network",
    from: {},
    to: onInterface(30),
    expected: on("control-plane-0 is replaced, linux rolls one by one, win rolls one by one", {
      ...azureMachine,
      refused: `network.pods kubernetes.podCidr ${["1", "2"].map((zone) => `c-network-control-plane-${zone} addressPrefix`).join(" ")}`,
      lost: "Namespace",
    }),
  },
  {
    // Azure documentation: only while all machines are deallocated.
    what: "reserved capacity",
    from: {},
    to: pool({ capacityReservation: `${group}/capacityReservationGroups/r` }),
    expected: on("win is replaced", { replaced: "VirtualMachineScaleSet" }),
  },
  {
    what: "more pods on each machine",
    from: onInterface(30),
    to: onInterface(40),
    expected: on("linux rolls one by one, win rolls one by one"),
  },
];

/** Every case. */
export const cases: readonly Case[] = [
  ...rows.flatMap(([what, from, to, aws, azure]) =>
    (["aws", "azure"] as const).map((cloud) => ({
      what,
      cloud,
      from: filled(cloud, from),
      to: filled(cloud, to),
      expected: cloud === "aws" ? aws : azure,
    })),
  ),
  ...ofAzure.map((one) => ({ ...one, cloud: "azure" as const })),
];
