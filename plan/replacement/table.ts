import { isDeepStrictEqual } from "node:util";
import { tagRefusal } from "../../components/model/cloudFacts/aws.ts";
import { sizeRefusal } from "../../components/model/cloudFacts/azure.ts";
import { at } from "../../components/model/json.ts";
import { azurePaths } from "../fakes/azure.ts";

/** What a changed input does beyond an update in place, by the inputs' paths: `spec.selector`, `zones`. */
interface ReplacementRow {
  /** Inputs, or parents of inputs, whose change replaces the resource. */
  readonly replaces: readonly string[];
  /** Optional and Computed ones, with `?` behind: to remove them changes nothing. */
  readonly kept?: readonly string[];
  /** Of `replaces`, those of which only some changes do. */
  readonly when?: Readonly<Record<string, (old: unknown, now: unknown) => boolean>>;
  /** Inputs that a preview shows as updated, with the changes that the cloud refuses. */
  readonly refuses?: Readonly<Record<string, (old: unknown, now: unknown) => boolean>>;
  /** Inputs whose change the cloud may refuse, with what may be done instead; `undefined` where it takes the change. */
  readonly mayRefuse?: Readonly<Record<string, (old: unknown, now: unknown) => string | undefined>>;
  /** Whether the provider deletes before it makes the successor, by the new inputs. Default: it does not. */
  readonly deletesFirst?: (inputs: unknown) => boolean;
  /** Inputs that an update sends only where they change, with what the cloud takes otherwise. */
  readonly resets?: Readonly<Record<string, string>>;
  /** What is gone for good with the resource, in words. */
  readonly data?: string;
  /** What no longer works without the resource, in words. */
  readonly ends?: string;
  /** What is gone for good with this update in place, in words. */
  readonly forgets?: (old: unknown, now: unknown) => string | undefined;
}

/** What a change of a type does; `undefined` for an unknown type, of which anything may be true. */
export function replacementRow(type: string): ReplacementRow | undefined {
  return rows[type] ?? kubernetesRow(type);
}

/**
 * Whether a changed path is at, below or above a declared one: `zones[0]` for `zones`, `launchTemplate` for
 * `launchTemplate.id`.
 */
export function concerns(changed: string, declared: string): boolean {
  const under = (inner: string, outer: string): boolean =>
    inner === outer || inner.startsWith(`${outer}.`) || inner.startsWith(`${outer}[`);
  return declared === "*" || under(changed, declared) || under(declared, changed);
}

function row(replaces: readonly string[], more: Omit<ReplacementRow, "replaces"> = {}): ReplacementRow {
  return { replaces, ...more };
}

/** Everything older is gone when the retention gets shorter. `key` holds its days, wherever in the inputs. */
function older(key: string, what: string, zeroMeans = 0): NonNullable<ReplacementRow["forgets"]> {
  const least = (inputs: unknown): number =>
    Math.min(
      ...[...JSON.stringify(inputs ?? null).matchAll(new RegExp(`"${key}":(\\d+)`, "g"))].map(
        ([, days]) => Number(days) || zeroMeans,
      ),
    );
  return (old, now) => (least(now) < least(old) ? `${what} older than ${least(now)} days` : undefined);
}

const any = (): boolean => true;

function loses(old: unknown, now: unknown): boolean {
  return (
    Array.isArray(old) && Array.isArray(now) && old.some((item) => !now.some((each) => isDeepStrictEqual(each, item)))
  );
}

/**
 * First is deleted what has a name that Pulumi could make up, given or changed (pulumi/pulumi-terraform-bridge:
 * pkg/tfbridge/schema.go, `nameRequiresDeleteBeforeReplace`), and what pulumi/pulumi-aws, provider/resources.go, marks
 * with `DeleteBeforeReplace`.
 */
const awsRow: typeof row = (replaces, more) =>
  row(
    replaces.map((path) => path.replace("?", "")),
    { deletesFirst: (inputs) => at(inputs, "name") !== undefined, kept: replaces, ...more },
  );

/** An interface is replaced when the new list lacks its first address. */
const loses0 = (old: unknown, now: unknown): boolean =>
  Array.isArray(old) && Array.isArray(now) && !now.includes(old[0]);
/** A network balancer's subnets become more in place, whichever they are (customizeDiffLoadBalancerNLB). */
const losesAndGrowsNot = (old: unknown, now: unknown): boolean =>
  loses(old, now) && Array.isArray(old) && Array.isArray(now) && now.length <= old.length;
const empty = (value: unknown): boolean => !Array.isArray(value) || value.length === 0;
const present = (value: unknown): boolean => value !== undefined && value !== null;
/** The kind of a rule's peer changes. */
const comesOrGoes = (old: unknown, now: unknown): boolean => present(old) !== present(now);

const awsRule = awsRow(["securityGroupId", "cidrIpv4", "referencedSecurityGroupId"], {
  when: { cidrIpv4: comesOrGoes, referencedSecurityGroupId: comesOrGoes },
});

/**
 * AWS: `ForceNew` and CustomizeDiff of hashicorp/terraform-provider-aws, internal/service, which @pulumi/aws bridges. A
 * job compares it with the schema (tests/plan/replacements.ts). A name that Pulumi made up stays as in the state.
 */
const awsRows: Readonly<Record<string, ReplacementRow>> = {
  "aws:autoscaling/group:Group": awsRow(["name", "initialLifecycleHooks"], { mayRefuse: { tags: tagRefusal } }),
  "aws:autoscaling/lifecycleHook:LifecycleHook": awsRow(["name"]),
  "aws:cloudwatch/logGroup:LogGroup": awsRow(["name", "logGroupClass?"], {
    data: "the logs in it",
    forgets: older("retentionInDays", "logs", Number.POSITIVE_INFINITY),
  }),
  "aws:cloudwatch/logStream:LogStream": awsRow(["name", "logGroupName"], { data: "the logs in it" }),
  "aws:ebs/volume:Volume": awsRow(
    ["availabilityZone", "encrypted?", "kmsKeyId?", "multiAttachEnabled", "snapshotId?"],
    { data: "what lies on the volume" },
  ),
  "aws:ec2/defaultSecurityGroup:DefaultSecurityGroup": awsRow(["vpcId"]),
  "aws:ec2/eip:Eip": awsRow(["domain?", "ipamPoolId?", "publicIpv4Pool?"], { data: "its public address" }),
  "aws:ec2/instance:Instance": awsRow([
    ...["launchTemplate.id", "primaryNetworkInterface.networkInterfaceId", "ami?", "cpuOptions?"],
    ...["ebsBlockDevices?", "ebsOptimized?", "enclaveOptions?", "hibernation", "hostId?", "instanceMarketOptions?"],
    ...["keyName?", "placementGroup?", "placementGroupId?", "placementPartitionNumber?"],
    ...["rootBlockDevice.encrypted?", "rootBlockDevice.kmsKeyId?", "tenancy?"],
  ]),
  "aws:ec2/internetGateway:InternetGateway": awsRow([]),
  "aws:ec2/launchTemplate:LaunchTemplate": awsRow(["name"]),
  "aws:ec2/natGateway:NatGateway": awsRow(["allocationId", "connectivityType", "subnetId"]),
  "aws:ec2/networkInterface:NetworkInterface": awsRow(["subnetId", "privateIps"], { when: { privateIps: loses0 } }),
  "aws:ec2/route:Route": awsRow(["routeTableId", "destinationCidrBlock"]),
  "aws:ec2/routeTable:RouteTable": awsRow(["vpcId"]),
  "aws:ec2/routeTableAssociation:RouteTableAssociation": awsRow(["subnetId"]),
  "aws:ec2/securityGroup:SecurityGroup": awsRow(["vpcId", "description", "name"]),
  "aws:ec2/subnet:Subnet": awsRow([
    "vpcId",
    "availabilityZone?",
    "availabilityZoneId?",
    "cidrBlock?",
    "ipv4IpamPoolId",
  ]),
  "aws:ec2/tag:Tag": awsRow(["resourceId", "key"]),
  "aws:ec2/volumeAttachment:VolumeAttachment": awsRow(["volumeId", "instanceId", "deviceName"]),
  "aws:ec2/vpc:Vpc": awsRow(["cidrBlock?", "instanceTenancy", "ipv4IpamPoolId"], {
    when: { instanceTenancy: (_, now) => now === "dedicated" },
  }),
  "aws:ec2/vpcDhcpOptions:VpcDhcpOptions": awsRow([
    "domainName",
    "domainNameServers",
    "netbiosNameServers",
    "netbiosNodeType",
    "ntpServers",
  ]),
  "aws:ec2/vpcDhcpOptionsAssociation:VpcDhcpOptionsAssociation": awsRow(["vpcId"]),
  "aws:ec2/vpcEndpoint:VpcEndpoint": awsRow(["vpcId", "serviceName", "vpcEndpointType"]),
  "aws:iam/instanceProfile:InstanceProfile": awsRow(["name", "path"]),
  "aws:iam/openIdConnectProvider:OpenIdConnectProvider": awsRow(["url"]),
  "aws:iam/policy:Policy": awsRow(["name", "path", "description"]),
  "aws:iam/role:Role": awsRow(["name", "path"]),
  "aws:iam/rolePolicy:RolePolicy": awsRow(["name", "role"]),
  "aws:iam/rolePolicyAttachment:RolePolicyAttachment": awsRow(["role", "policyArn"], { deletesFirst: any }),
  "aws:kms/alias:Alias": awsRow(["name"]),
  "aws:kms/key:Key": awsRow(["customerMasterKeySpec", "customKeyStoreId", "keyUsage", "multiRegion?"], {
    data: "everything that only this key decrypts",
  }),
  "aws:lb/listener:Listener": awsRow(["loadBalancerArn"]),
  "aws:lb/loadBalancer:LoadBalancer": awsRow(
    ["name", "internal?", "loadBalancerType", "subnets", "subnetMappings", "securityGroups"],
    {
      when: {
        subnets: losesAndGrowsNot,
        // With `subnets` there are some.
        subnetMappings: (old, now) => loses(old ?? [{}], now),
        securityGroups: (old, now) => empty(old) !== empty(now),
      },
    },
  ),
  "aws:lb/targetGroup:TargetGroup": awsRow(["name", "port", "protocol", "targetType", "vpcId", "ipAddressType?"]),
  "aws:lb/targetGroupAttachment:TargetGroupAttachment": awsRow([
    "targetGroupArn",
    "targetId",
    "port",
    "availabilityZone",
  ]),
  // Nobody makes up its name, which the package requires.
  "aws:route53/record:Record": awsRow(["zoneId", "name"], { deletesFirst: () => false }),
  "aws:s3/bucket:Bucket": awsRow(["bucket", "objectLockConfiguration.objectLockEnabled", "objectLockEnabled?"], {
    data: "the objects in the bucket",
    deletesFirst: (inputs) => at(inputs, "bucket") !== undefined,
  }),
  "aws:s3/bucketLifecycleConfiguration:BucketLifecycleConfiguration": awsRow(["bucket"], {
    forgets: older("days", "snapshots of etcd"),
  }),
  "aws:s3/bucketObjectv2:BucketObjectv2": awsRow(["bucket", "key"]),
  "aws:s3/bucketPolicy:BucketPolicy": awsRow(["bucket"]),
  "aws:s3/bucketPublicAccessBlock:BucketPublicAccessBlock": awsRow(["bucket"]),
  "aws:s3/bucketServerSideEncryptionConfiguration:BucketServerSideEncryptionConfiguration": awsRow(["bucket"]),
  "aws:s3/bucketVersioning:BucketVersioning": awsRow(["bucket"]),
  "aws:ssm/parameter:Parameter": awsRow(["name", "tier", "dataType?"], {
    when: { tier: (old, now) => old === "Advanced" && now === "Standard" },
    resets: { keyId: "alias/aws/ssm" },
  }),
  "aws:vpc/securityGroupEgressRule:SecurityGroupEgressRule": awsRule,
  "aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule": awsRule,
  // Since version 7 of the package a region is the resource's own and its change replaces resources, not the provider
  // (internal/provider/sdkv2/region.go, forceNewIfRegionChanges).
  "pulumi:providers:aws": awsRow([]),
};

/** Family, letters and version of a size without its number: D, `ds`, 5. */
const series = (size: unknown): string => String(size).replace(/^(Standard_[A-Z]+)[\d-]+/, "$1");

/** MicrosoftDocs/azure-compute-docs: "Properties that require deallocation to change"; resizing with and without d. */
const otherSeries = (old: unknown, now: unknown): string | undefined =>
  series(old) === series(now)
    ? undefined
    : "may be refused: a set's hardware may lack another series, and sizes with and without a local disk (d) do not mix; " +
      "if so, undo it, add a pool of the new size, and remove this one";

const holds = (): string => "may be refused with machines: set it on a new pool";

/** Media and zones, not copies elsewhere. */
const media = (sku: unknown): string => String(at(sku, "name")).replace(/_.*?(Z?)RS$/, "_$1");

/**
 * Azure, beyond the parameters of a path: create-only fields of the API's specification, and the list of
 * provider/pkg/gen/replacement.go in pulumi/pulumi-azure-native. Azure may refuse what the provider takes for an update:
 * `refuses`, by the hand-made rules of hashicorp/terraform-provider-azurerm. The program's `replaceOnChanges` is in the
 * plan.
 */
const azureMore: Readonly<Record<string, Partial<ReplacementRow>>> = {
  // Unless the machine is deallocated.
  "compute:Disk": { refuses: { sku: any }, data: "what lies on the disk" },
  "compute:VirtualMachine": {
    refuses: Object.fromEntries(
      [
        ...["additionalCapabilities", "availabilitySet", "capacityReservation", "evictionPolicy", "host", "hostGroup"],
        ...["platformFaultDomain", "priority", "proximityPlacementGroup"],
      ].map((path) => [path, any]),
    ),
  },
  "compute:VirtualMachineScaleSet": {
    refuses: {
      zones: loses,
      sku: (old, now) => sizeRefusal(old, now) !== undefined,
      "virtualMachineProfile.storageProfile.osDisk.diffDiskSettings": any,
    },
    mayRefuse: {
      "sku.name": otherSeries,
      additionalCapabilities: holds,
      hostGroup: holds,
      proximityPlacementGroup: holds,
      "virtualMachineProfile.capacityReservation": holds,
    },
  },
  "keyvault:Vault": { data: "the secrets in the vault" },
  "managedidentity:UserAssignedIdentity": { replaces: ["location"] },
  "monitor:AutoscaleSetting": { refuses: { targetResourceUri: any } },
  "network:LoadBalancer": { refuses: { sku: any } },
  "network:NatGateway": { refuses: { zones: any, sku: any } },
  "network:PublicIPAddress": {
    replaces: ["location", "publicIPAddressVersion", "publicIPPrefix", "sku"],
    refuses: { ipTags: any, zones: any },
    data: "its public address",
  },
  // While something is in it, as always (Azure documentation, "Change, or delete a virtual network subnet").
  "network:Subnet": { refuses: { addressPrefix: any } },
  "network:VirtualNetwork": { replaces: ["location"] },
  "privatedns:PrivateZone": { replaces: ["location"] },
  "privatedns:VirtualNetworkLink": { replaces: ["location"], refuses: { virtualNetwork: any } },
  // provider/pkg/resources/customresources/custom_storage_azidentity.go
  "storage:Blob": { replaces: ["type", "source", "contentMd5"] },
  "storage:BlobContainer": { data: "the blobs in the container" },
  "storage:ManagementPolicy": { forgets: older("daysAfterModificationGreaterThan", "snapshots of etcd") },
  "storage:StorageAccount": {
    replaces: ["location", "isHnsEnabled"],
    refuses: {
      "encryption.requireInfrastructureEncryption": any,
      immutableStorageWithVersioning: any,
      kind: any,
      sku: (old, now) => media(old) !== media(now),
    },
    data: "the blobs in the account",
  },
};

/** The provider deletes first unless a name is random (pulumi/pulumi-azure-native: provider/pkg/provider/provider.go). */
const azureRows: Readonly<Record<string, ReplacementRow>> = {
  ...Object.fromEntries(
    Object.entries(azurePaths).map(([kind, path]) => {
      const { replaces = [], ...more } = azureMore[kind] ?? {};
      const parameters = [...path.matchAll(/\{(\w+)\}/g)].flatMap(([, name]) => name ?? []);
      return [
        `azure-native:${kind}`,
        {
          replaces: ["resourceGroupName", ...parameters, ...replaces],
          deletesFirst: any,
          ...more,
          refuses: { location: any, ...more.refuses },
        },
      ];
    }),
  ),
  "azure-native:authorization:RoleAssignment": {
    replaces: ["roleAssignmentName", "scope", "principalId"],
    deletesFirst: (inputs) => at(inputs, "roleAssignmentName") !== undefined,
  },
  "azure-native:authorization:RoleDefinition": { replaces: ["roleDefinitionId", "scope"], deletesFirst: any },
  "azure-native:resources:ResourceGroup": {
    replaces: ["resourceGroupName", "location"],
    deletesFirst: any,
    data: "everything in the resource group",
  },
  "pulumi:providers:azure-native": { replaces: [], deletesFirst: any },
};

const drawn = [
  ...["length", "lower", "upper", "numeric", "special", "minLower", "minUpper", "minNumeric", "minSpecial"],
  ...["overrideSpecial", "keepers"],
];
const subject = ["privateKeyPem", "subject", "dnsNames", "ipAddresses", "uris"];

/**
 * hashicorp/terraform-provider-tls and hashicorp/terraform-provider-random, internal/provider, which @pulumi/tls and
 * @pulumi/random bridge. No comparison of inputs shows that a certificate is also replaced at its time to renew.
 */
const otherRows: Readonly<Record<string, ReplacementRow>> = {
  "random:index/randomBytes:RandomBytes": row(["length", "keepers"], { data: "what is encrypted with these bytes" }),
  "random:index/randomPassword:RandomPassword": row(drawn),
  "random:index/randomString:RandomString": row(drawn),
  "random:index/randomUuid:RandomUuid": row(["keepers"]),
  "tls:index/privateKey:PrivateKey": row(["algorithm", "ecdsaCurve", "rsaBits"]),
  "tls:index/certRequest:CertRequest": row(subject),
  "tls:index/selfSignedCert:SelfSignedCert": row([
    ...subject,
    ...["allowedUses", "validityPeriodHours", "isCaCertificate", "setSubjectKeyId", "setAuthorityKeyId"],
  ]),
  "tls:index/locallySignedCert:LocallySignedCert": row([
    ...["certRequestPem", "caCertPem", "caPrivateKeyPem", "allowedUses", "validityPeriodHours", "isCaCertificate"],
    "setSubjectKeyId",
  ]),
};

const named = ["metadata.name", "metadata.namespace"];

/** By kind, what replaces it besides another name or namespace. */
const kinds: Readonly<Record<string, readonly string[]>> = {
  "apps/v1:DaemonSet": ["spec.selector"],
  "apps/v1:Deployment": ["spec.selector"],
  "batch/v1:Job": ["spec.completions", "spec.parallelism", "spec.selector", "spec.template"],
  "core/v1:PersistentVolumeClaim": ["spec.accessModes", "spec.selector", "spec.storageClassName", "spec.volumeName"],
  // Its data too, as a ConfigMap's, unless the provider's enableSecretMutable is on, which InCluster sets.
  "core/v1:Secret": ["type"],
  "core/v1:Service": ["spec.clusterIP"],
  "rbac.authorization.k8s.io/v1:ClusterRoleBinding": ["roleRef"],
  "rbac.authorization.k8s.io/v1:RoleBinding": ["roleRef"],
  "storage.k8s.io/v1:StorageClass": ["parameters", "provisioner"],
};

const data: Readonly<Record<string, string>> = {
  "core/v1:Namespace": "everything in the namespace",
  "core/v1:PersistentVolumeClaim": "what lies on its volume",
  "apiextensions.k8s.io/v1:CustomResourceDefinition": "all objects of this kind",
};

/** What no longer works without an object that holds no data. */
const ends: Readonly<Record<string, string>> = {
  "storage.k8s.io/v1:CSIDriver": "volumes of this driver are no longer mounted",
  "node.k8s.io/v1:RuntimeClass": "pods that name it are refused from then on",
};

/**
 * Objects of Kubernetes: `forceNew` of pulumi/pulumi-kubernetes, provider/pkg/provider/diff.go. What the API server
 * refuses beyond, components/kubernetes/addOn.ts declares.
 */
function kubernetesRow(type: string): ReplacementRow | undefined {
  const [provider, ...rest] = type.split(":");
  const kind = rest.join(":");
  const [lost, end] = [data[kind], ends[kind]];
  if (provider !== "kubernetes" || rest.length !== 2) return undefined;
  const words = { ...(lost === undefined ? {} : { data: lost }), ...(end === undefined ? {} : { ends: end }) };
  return row([...named, ...(kinds[kind] ?? [])], words);
}

const rows: Readonly<Record<string, ReplacementRow>> = {
  ...awsRows,
  ...azureRows,
  ...otherRows,
  // Another cluster has other objects.
  "pulumi:providers:kubernetes": row(["clusterIdentifier"]),
  // Kept by the engine itself (pulumi/pulumi: pkg/resource/deploy/builtins.go).
  "pulumi:index:Stash": row([]),
};
