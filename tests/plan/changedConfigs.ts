import { newAuthority } from "../../plan/fakes/certificates.ts";

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
type Row = readonly [what: string, from: Changed, to: Changed, aws: Expected | undefined, azure: Expected | undefined];

const nothing: Expected = {};
const spread =
  "control-plane-0 is replaced, control-plane-1 is replaced, control-plane-2 is replaced, linux changes in place, win changes in place";
const on = (nodes: string, more: Expected = {}): Expected => ({ nodes, ...more });

/**
 * An instance keeps its launch template and takes its attachment along (ec2_instance.go, ebs_volume_attachment.go: ForceNew instance_id).
 */
const awsMachine = { replaced: "Instance VolumeAttachment" };
/** A path is part of a role's name (iam/role.go, iam/instance_profile.go: ForceNew path). */
const awsRoles = { replaced: "Instance InstanceProfile Policy Role RolePolicyAttachment VolumeAttachment" };
/** The machine alone: disk and interface are detached and stay (Azure documentation, delete options of a VM). */
const azureMachine = { replaced: "VirtualMachine" };

/** These nodes get another machine on both clouds. */
const machines = (nodes: string, more: Expected = {}): readonly [Expected, Expected] => [
  on(nodes, { ...awsMachine, ...more }),
  on(nodes, { ...azureMachine, ...more }),
];
const everyNode = (more: Expected = {}): readonly [Expected, Expected] => machines(all, more);

/** Subnets replace what is in them: interfaces, balancers, associations, and a machine with its interface. */
const awsNetwork = "Instance Listener LoadBalancer NetworkInterface RouteTableAssociation Subnet VolumeAttachment";
const awsRegional = [
  "Alias Bucket BucketLifecycleConfiguration BucketObjectv2 BucketPolicy BucketPublicAccessBlock",
  "BucketServerSideEncryptionConfiguration BucketVersioning DefaultSecurityGroup Eip Group Instance InternetGateway Key LaunchTemplate LifecycleHook",
  "Listener LoadBalancer NatGateway NetworkInterface Parameter Route RouteTable RouteTableAssociation SecurityGroup",
  "SecurityGroupEgressRule SecurityGroupIngressRule Subnet TargetGroup TargetGroupAttachment Volume VolumeAttachment Vpc VpcEndpoint",
].join(" ");
const azureSubnets = ["control-plane-1", "control-plane-2", "private-1", "private-2"]
  .map((name) => `c-network-${name} addressPrefix`)
  .join(" ");
const azureAll = [
  "ApplicationSecurityGroup BlobContainer BlobServiceProperties Disk LoadBalancer ManagementPolicy NatGateway NetworkInterface NetworkSecurityGroup",
  "PrivateRecordSet PrivateZone PublicIPAddress ResourceGroup RoleAssignment Secret SecurityRule StorageAccount Subnet",
  "UserAssignedIdentity Vault VirtualMachine VirtualMachineScaleSet VirtualNetwork VirtualNetworkLink",
].join(" ");

const threeAndTwo =
  "control-plane-0 is replaced, control-plane-1 is replaced, control-plane-2 is replaced, control-plane-3 is new, control-plane-4 is new";
const collected = (retentionDays: number): Changed => ({
  access: { ...access, serviceAccountKeys: ["rsa-1"], workloadIdentity: {} },
  addons: { logs: { cloudwatch: { retentionDays } } },
});
const pool = (change: Changed): Changed => ({ pools: [linux, { ...win, ...change }] });
const planes = (change: Changed): Changed => ({ controlPlane: { etcdDiskGb: 40, ...change } });
const net = (change: Changed): Changed => ({ network: { cidr: "10.0.0.0/16", zones: ["ZONE", "OTHER"], ...change } });
const entry = (change: Changed): Changed => ({ access: { ...access, ...change } });
const kubernetes = (change: Changed): Changed => ({ kubernetes: { ...version.kubernetes, ...change } });
const both = (expected: Expected): readonly [Expected, Expected] => [expected, expected];
const claim = "PersistentVolumeClaim";
const rolls = on("win rolls one by one");
const replacedSet = on("win is replaced", { replaced: "VirtualMachineScaleSet" });
const member = machines("control-plane-0 is replaced");
const all = "control-plane-0 is replaced, linux rolls one by one, win rolls one by one";

/**
 * Sources. AWS: registry.terraform.io/providers/hashicorp/aws/latest/docs, "Forces new resource" per argument, and "Instance Refresh" of
 * aws_autoscaling_group. Azure: learn.microsoft.com, "Modify a Virtual Machine Scale Set" (upgrade policies; what cannot change after
 * creation), "Resize, detach disks", and "PropertyChangeNotAllowed"; a resource group and a network cannot move to another region.
 */
const rows: readonly Row[] = [
  ["`pools[].count`, more", {}, pool({ count: 5 }), ...both(on("win gets 3 machines"))],
  ["`pools[].count`, fewer", {}, pool({ count: 1 }), ...both(on("win loses 1 machine"))],
  ["`pools[].count`, none", {}, pool({ count: 0 }), ...both(on("win loses 2 machines"))],
  ["`pools[].count`, from none", pool({ count: 0 }), pool({ count: 5 }), ...both(on("win gets 5 machines"))],
  // Everything is where it was; the account is only guarded from now on.
  ["`accountId`, named", {}, { accountId: "ACCOUNT" }, ...both(nothing)],
  ["`accountId`, another one", { accountId: "ACCOUNT" }, { accountId: "ANOTHER" }, ...both({ refused: "accountId" })],
  // S3 and Azure Storage: a rule holds for objects that are there already (AmazonS3 User Guide, "Setting a lifecycle configuration").
  [
    "`controlPlane.backup.keepDays`, shorter",
    planes({ backup: { keepDays: 30 } }),
    planes({ backup: { keepDays: 1 } }),
    { lost: "BucketLifecycleConfiguration" },
    { lost: "ManagementPolicy" },
  ],
  ["`addons.logs.cloudwatch.retentionDays`, shorter", collected(90), collected(1), { lost: "LogGroup" }, undefined],
  [
    "`environment`, no longer production",
    { environment: "production" },
    { environment: "development" },
    // A tag says it, and snapshots are kept for fewer days.
    on("control-plane-0 changes in place, linux rolls one by one, win rolls one by one", {
      lost: "BucketLifecycleConfiguration protection",
    }),
    on("control-plane-0 changes in place, linux changes in place, win changes in place", { lost: "ManagementPolicy protection" }),
  ],
  // Addresses that are given back are somebody else's next; partners may know them.
  ["`network.nat`, one for all zones", net({ nat: "perZone" }), net({}), { lost: "Eip" }, { lost: "PublicIPAddress" }],
  ["`addons.storage`, without", {}, { addons: { storage: false } }, ...both({ lost: `CSIDriver ${claim}` })],
  ["`addons.exporters`", {}, { addons: { exporters: true } }, ...member],
  [
    "`addons.volumeSnapshots`, without",
    { addons: { volumeSnapshots: true } },
    { addons: {} },
    ...both({ lost: "CustomResourceDefinition" }),
  ],
  ["`addons.smb`, without", { addons: { smb: {} } }, { addons: {} }, ...both({ lost: "CSIDriver" })],
  ["`network.dns`", {}, net({ dns: { servers: ["10.0.0.4"] } }), ...both(nothing)],
  [
    "`pools[].autoscale`, from a fixed count to none",
    {},
    pool({ count: undefined, autoscale: { min: 0, max: 4 } }),
    ...both(on("win changes in place")),
  ],
  ["`pools[].image`, of a gallery", {}, pool({ image: "GALLERY" }), undefined, replacedSet],
  ["`encryptionAtHost`", {}, { encryptionAtHost: true }, undefined, on(all, azureMachine)],
  [
    "`access.public`, without",
    {},
    { access: {} },
    on("control-plane-0 is replaced", awsMachine),
    on("control-plane-0 is replaced", { ...azureMachine, lost: "PublicIPAddress" }),
  ],
  ["`access.dns.zone`", {}, entry({ dns: { name: "api.shop.example.com", zone: "ZONEOF" } }), ...member],
  ["`controlPlane.replicas`, 3 to 5", planes({ replicas: 3 }), planes({ replicas: 5 }), ...machines(threeAndTwo)],
  ["`repair`", {}, { repair: { perHour: 1 } }, ...both(nothing)],
  ["`pools[].size`", {}, pool({ size: "SIZE" }), ...both(rolls)],
  ["`pools[].image`", {}, pool({ image: "IMAGE" }), ...both(rolls)],
  ["`pools[].diskGb`", {}, pool({ diskGb: 200 }), ...both(rolls)],
  ["`pools[].labels`", {}, pool({ labels: { "example.com/team": "a" } }), ...both(rolls)],
  ["`pools[].taints`", {}, pool({ taints: [{ key: "a", value: "b", effect: "NoSchedule" }] }), ...both(rolls)],
  // Microsoft: the priority of a set is fixed when it is made. AWS: market options are part of a version of the template.
  ["`pools[].spot`", {}, pool({ spot: true }), rolls, replacedSet],
  // AWS: a disk is part of a version of the template. Microsoft: the disks of a set cannot take another type.
  ["`pools[].disk`", {}, pool({ disk: "DISK" }), rolls, replacedSet],
  ["`pools[].furtherSizes`, `pools[].onDemand`", {}, pool({ size: "m7i.large", furtherSizes: ["m6i.large"] }), rolls, undefined],
  ["`pools[].hybridBenefit`", {}, pool({ hybridBenefit: true }), undefined, rolls],
  // Azure documentation: only while all machines are deallocated.
  ["`pools[].capacityReservation`", {}, pool({ capacityReservation: "RESERVATION" }), rolls, replacedSet],
  ["`pools[].dedicatedHosts`", {}, pool({ zones: ["ZONE"], dedicatedHosts: "HOSTS" }), rolls, replacedSet],
  ["`pools[].securityGroups`", {}, pool({ securityGroups: ["GROUP"] }), ...both(rolls)],
  ["`pools[].instanceProfile`", {}, pool({ instanceProfile: "arn:aws:iam::123456789012:instance-profile/own" }), rolls, undefined],
  ["`iam.rolePath`", {}, { iam: { rolePath: "/kubernetes/" } }, on(all, awsRoles), undefined],
  [
    "`pools[].timeZone`, `pools[].beforeJoin`, `pools[].afterJoin`, `pools[].annotations`",
    {},
    pool({ annotations: { team: "web" } }),
    ...both(rolls),
  ],
  ["`pools[].kubelet`", {}, pool({ kubelet: { maxPods: 60 } }), ...both(rolls)],
  ["`controlPlane.osDisk`", {}, planes({ osDisk: "DISK" }), ...member],
  ["`controlPlane.etcdDisk`", {}, planes({ etcdDisk: "DISK" }), nothing, undefined],
  [
    "`controlPlane.etcdDisk.encryptionKey`",
    {},
    planes({ etcdDisk: { encryptionKey: "KEY" } }),
    on("control-plane-0 is replaced", {
      refused: "controlPlane.etcdDisk.encryptionKey",
      replaced: "Instance Volume VolumeAttachment",
      lost: "Volume",
    }),
    { refused: "controlPlane.etcdDisk.encryptionKey" },
  ],
  [
    "`controlPlane.extraArgs`, `controlPlane.auditPolicy`, `controlPlane.admission`",
    {},
    planes({ auditPolicy: { rules: [{ level: "Metadata" }] } }),
    ...member,
  ],
  ["`controlPlane.backup.everyHours`", {}, planes({ backup: { everyHours: 2 } }), ...member],
  ["`controlPlane.backup.keepDays`", {}, planes({ backup: { keepDays: 90 } }), ...both(nothing)],
  ["`access.private`", {}, entry({ private: { allow: ["192.0.2.0/24"] } }), ...both(nothing)],
  ["`access.signIn`", {}, entry({ signIn: [{ name: "corp", issuer: "https://id.example.com", clientId: "kubernetes" }] }), ...member],
  [
    "`access.workloadIdentity`",
    entry({ serviceAccountKeys: ["rsa-1"] }),
    entry({ serviceAccountKeys: ["rsa-1"], workloadIdentity: { serviceAccounts: ["RIGHTS"] } }),
    ...member,
  ],
  ["`access.serviceAccountKeys`, one more", {}, entry({ serviceAccountKeys: ["ecdsa", "rsa-1"] }), ...member],
  ["`secretsEncryption`", {}, { secretsEncryption: { keys: ["key1", "key2"] } }, ...member],
  ["`addons.logs`", {}, { addons: { logs: { otlp: { endpoint: "https://otlp.test/v1/logs" } } } }, ...both(rolls)],
  ["`certificateAuthorities`, `noProxy`", {}, { certificateAuthorities: [newAuthority("Own").certificate] }, ...everyNode()],
  [
    "`proxyCredentials`, `registryCredentials`",
    {},
    { registryCredentials: { "registry.example.com": { username: "[secret]", password: "[secret]" } } },
    ...everyNode(),
  ],
  ["`access.names`, `access.dns.name`", {}, entry({ names: ["api.example.com"] }), ...member],
  ["`httpProxy`", {}, { httpProxy: "http://proxy.corp.test:3128" }, ...everyNode()],
  ["`pools[].waitForNodes`", {}, pool({ waitForNodes: false }), ...both(nothing)],
  ["`pools[].update`", {}, pool({ update: { maxSurge: "100%" } }), ...both(on("win changes in place"))],
  ["`pools[].maxAge`", {}, pool({ maxAge: 30 }), on("win changes in place"), undefined],
  // The samples of a release go with its last pool, and kubernetes.io: a claim's volume goes with it under the policy Delete.
  [
    "`pools[].os`, another Windows",
    {},
    pool({ os: "windows-2025" }),
    ...both(on("win rolls one by one", { lost: `${claim} RuntimeClass` })),
  ],
  ["a new pool", {}, { pools: [linux, win, { ...linux, name: "x" }] }, ...both(on("x is new"))],
  ["a pool less", {}, { pools: [linux] }, ...both(on("win is removed", { lost: `Namespace ${claim} RuntimeClass` }))],
  ["`pools[].name`", {}, pool({ name: "web" }), ...both(on("web is new, win is removed"))],
  [
    "`pools[].perZone`",
    {},
    pool({ perZone: true }),
    on("win is removed, win-a is new, win-b is new"),
    on("win is removed, win-1 is new, win-2 is new"),
  ],
  // Microsoft: zones may be added to a set and never removed. AWS: aws_autoscaling_group updates vpc_zone_identifier.
  [
    "`pools[].zones`, one less",
    {},
    pool({ zones: ["ZONE"] }),
    on("win changes in place"),
    on("win is refused", { refused: "c-pool-win-group zones" }),
  ],
  ["`pools[].autoscale`", {}, pool({ autoscale: { min: 2, max: 4 } }), ...both(on("win changes in place"))],
  ["`controlPlane.size`", {}, planes({ size: "SIZE" }), ...member],
  ["`controlPlane.image`", {}, planes({ image: "LINUX" }), ...member],
  ["`controlPlane.etcdDiskGb`, larger", {}, { controlPlane: { etcdDiskGb: 60 } }, ...both(nothing)],
  ["`controlPlane.etcdDiskGb`, smaller", {}, { controlPlane: { etcdDiskGb: 30 } }, ...both({ refused: "controlPlane.etcdDiskGb" })],
  ["`kubernetes.version`, a patch", {}, kubernetes({ version: "1.36.3" }), ...everyNode()],
  ["`kubernetes.version`, the next minor", {}, kubernetes({ version: "1.37.0" }), ...everyNode()],
  ["`kubernetes.version`, the minor before", {}, kubernetes({ version: "1.35.1" }), ...everyNode({ refused: "kubernetes.version" })],
  [
    "`kubernetes.version`, a minor skipped",
    kubernetes({ version: "1.35.1" }),
    kubernetes({ version: "1.37.0" }),
    ...everyNode({ refused: "kubernetes.version" }),
  ],
  [
    "`controlPlane.replicas`, 1 to 3",
    {},
    planes({ replicas: 3 }),
    ...machines("control-plane-0 is replaced, control-plane-1 is new, control-plane-2 is new"),
  ],
  [
    "`controlPlane.replicas`, 3 to 1",
    planes({ replicas: 3 }),
    planes({}),
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
    "`tags`",
    {},
    { tags: { owner: "me" } },
    on("control-plane-0 changes in place, linux rolls one by one, win rolls one by one"),
    on("control-plane-0 changes in place, linux changes in place, win changes in place"),
  ],
  ["`kubernetes.sizeTier`", {}, kubernetes({ sizeTier: "medium" }), ...member],
  ["`addons`, one less", {}, { addons: { metricsServer: false } }, ...both(nothing)],
  [
    "`access.serviceAccountKeys`, a key that no API server knows",
    {},
    entry({ serviceAccountKeys: ["rsa-1"] }),
    ...both({ refused: "access.serviceAccountKeys" }),
  ],
  ["`access.public.allow`", {}, { access: { public: { allow: ["100.64.9.0/24"] } } }, ...both(nothing)],
  ["`mirror`", {}, { mirror: { artifacts: "https://files.corp.test/x" } }, ...everyNode()],
  ["`network.nat`", {}, net({ nat: "perZone" }), ...both(nothing)],
  [
    "`network.zones`, one more",
    {},
    net({ zones: ["ZONE", "OTHER", "THIRD"] }),
    ...both(on("linux changes in place, win changes in place")),
  ],
  [
    "`network.zones`, one more where control-plane machines share zones",
    planes({ replicas: 3 }),
    net({ zones: ["ZONE", "OTHER", "THIRD"] }),
    on(spread, {
      refused: "network.zones",
      replaced: "Instance NetworkInterface TargetGroupAttachment Volume VolumeAttachment",
      lost: "Volume",
    }),
    on(spread, { refused: "network.zones", replaced: "Disk VirtualMachine", lost: "Disk" }),
  ],
  [
    "`network.cidr`",
    {},
    net({ cidr: "10.1.0.0/16" }),
    on(all, {
      refused: "network.cidr",
      replaced: `${awsNetwork} DefaultSecurityGroup NatGateway Route RouteTable SecurityGroup SecurityGroupEgressRule SecurityGroupIngressRule TargetGroup TargetGroupAttachment Vpc VpcEndpoint`,
    }),
    on("control-plane-0 is replaced", { ...azureMachine, refused: `network.cidr ${azureSubnets}` }),
  ],
  [
    "`network.zones`, another order",
    {},
    net({ zones: ["OTHER", "ZONE"] }),
    on(all, { refused: "network.zones", replaced: `${awsNetwork} Volume`, lost: "Eip Volume" }),
    on(all, { refused: `network.zones ${azureSubnets}`, replaced: "Disk VirtualMachine", lost: "Disk PublicIPAddress" }),
  ],
  ["`kubernetes.podCidr`", {}, kubernetes({ podCidr: "10.200.0.0/16" }), ...everyNode({ refused: "kubernetes.podCidr" })],
  ["`kubernetes.serviceCidr`", {}, kubernetes({ serviceCidr: "10.97.0.0/16" }), ...everyNode({ refused: "kubernetes.serviceCidr" })],
  [
    "`region`",
    {},
    { region: "REGION", network: { cidr: "10.0.0.0/16", zones: ["THERE1", "THERE2"] } },
    on("control-plane-0 is replaced, linux is replaced, win is replaced", {
      refused: "region network.zones",
      lost: "Bucket Eip Key Volume",
      replaced: awsRegional,
    }),
    on("control-plane-0 is replaced, linux is replaced, win is replaced", {
      refused: "region",
      lost: "BlobContainer Disk PublicIPAddress ResourceGroup StorageAccount Vault",
      replaced: azureAll,
    }),
  ],
  [
    "`name`",
    {},
    { name: "d" },
    on("control-plane-0 is removed, d-control-plane-0 is new, linux is new, linux is removed, win is new, win is removed", {
      refused: "name",
      lost: "Bucket CSIDriver Eip Key Namespace PersistentVolumeClaim RandomBytes RuntimeClass Volume",
    }),
    on("control-plane-0 is removed, d-control-plane-0 is new, linux is new, linux is removed, win is new, win is removed", {
      refused: "name",
      lost: "BlobContainer CSIDriver Disk Namespace PersistentVolumeClaim PublicIPAddress RandomBytes ResourceGroup RuntimeClass StorageAccount Vault",
    }),
  ],
];

const shared = "/subscriptions/01234567-89ab-cdef-0123-456789abcdef/resourceGroups/shared/providers/Microsoft";

const values = {
  aws: {
    ACCOUNT: "210987654321",
    ANOTHER: "999999999999",
    ZONEOF: "Z0123456789ABCDEFGHIJ",
    SIZE: "m7i.2xlarge",
    IMAGE: "ami-0a1b2c3d4e5f60719",
    LINUX: "ami-0a1b2c3d4e5f60718",
    ZONE: "eu-central-1a",
    OTHER: "eu-central-1b",
    THIRD: "eu-central-1c",
    REGION: "eu-west-1",
    THERE1: "eu-west-1a",
    THERE2: "eu-west-1b",
    DISK: { iops: 4000, throughput: 250 },
    RESERVATION: "arn:aws:resource-groups:eu-central-1:123456789012:group/reserved",
    HOSTS: "arn:aws:resource-groups:eu-central-1:123456789012:group/hosts",
    GROUP: "sg-0123456789abcdef0",
    KEY: "arn:aws:kms:eu-central-1:123456789012:key/01234567-89ab-cdef-0123-456789abcdef",
    RIGHTS: { namespace: "shop", name: "orders", policies: ["arn:aws:iam::aws:policy/AmazonSQSReadOnlyAccess"] },
  },
  azure: {
    ACCOUNT: "01234567-89ab-cdef-0123-456789abcdef",
    ANOTHER: "11234567-89ab-cdef-0123-456789abcdef",
    ZONEOF: "/subscriptions/00000000-0000-4000-8000-000000000000/resourceGroups/dns/providers/Microsoft.Network/dnsZones/shop.example.com",
    GALLERY: `${shared}.Compute/galleries/own/images/windows`,
    SIZE: "Standard_D8s_v5",
    IMAGE: "20348.5499.260809",
    LINUX: "24.04.202610010",
    ZONE: "1",
    OTHER: "2",
    THIRD: "3",
    REGION: "northeurope",
    THERE1: "1",
    THERE2: "2",
    DISK: { type: "StandardSSD_LRS" },
    RESERVATION: `${shared}.Compute/capacityReservationGroups/reserved`,
    HOSTS: `${shared}.Compute/hostGroups/hosts`,
    GROUP: `${shared}.Network/applicationSecurityGroups/agents`,
    KEY: `${shared}.Compute/diskEncryptionSets/own`,
    RIGHTS: {
      ...{ namespace: "shop", name: "orders" },
      roles: [
        { role: "2a2b9908-6ea1-4ae2-8e65-a410df84e7d1", scope: "/subscriptions/00000000-0000-4000-8000-000000000000/resourceGroups/shop" },
      ],
    },
  },
} as const;

function filled(cloud: "aws" | "azure", change: Changed): Changed {
  const text = JSON.stringify(change);
  const found: unknown = JSON.parse(
    text.replaceAll(/"([A-Z]+\d?)"/g, (all, key) => (key in values[cloud] ? JSON.stringify(Reflect.get(values[cloud], key)) : all)),
  );
  return { ...Object(found) };
}

const onInterface = (podsPerNode: number) => ({ network: { ...configs.azure.network, pods: "azure-cni", azureCni: { podsPerNode } } });

/**
 * Of Azure alone. Addresses of a machine are part of its set's model, which instances take when they are made (Azure documentation, as
 * above).
 */
const ofAzure: readonly (readonly [what: string, from: Changed, to: Changed, expected: Expected])[] = [
  // The pods' range is then the machines', and the control plane's subnets are larger. flannel's namespace holds flannel alone.
  [
    "`network.pods`",
    {},
    onInterface(30),
    on(all, {
      ...azureMachine,
      refused: `network.pods kubernetes.podCidr ${["1", "2"].map((zone) => `c-network-control-plane-${zone} addressPrefix`).join(" ")}`,
      lost: "Namespace",
    }),
  ],
  ["`network.azureCni.podsPerNode`", onInterface(30), onInterface(40), on("linux rolls one by one, win rolls one by one")],
];

/** Every case. */
export const cases: readonly Case[] = [
  ...rows.flatMap(([what, from, to, aws, azure]) =>
    (["aws", "azure"] as const).flatMap((cloud) => {
      const expected = cloud === "aws" ? aws : azure;
      return expected === undefined ? [] : [{ what, cloud, from: filled(cloud, from), to: filled(cloud, to), expected }];
    }),
  ),
  ...ofAzure.map(([what, from, to, expected]) => ({ what, cloud: "azure" as const, from, to, expected })),
];
