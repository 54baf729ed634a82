import type { ExtraArgs } from "../config/machineSchema.ts";
import type { IssuerConfig, StackConfig } from "../config/schema.ts";
import { podNetworks } from "../podNetworks/podNetworks.ts";
import {
  type AddressPlan,
  addressPlan,
  type ControlPlaneMember,
  controlPlaneMembers,
  existingPlan,
} from "./addressPlan.ts";
import { type Artifact, readArtifactLock } from "./artifacts.ts";
import { addressAt, cidr, defaultPodNetwork, defaultPodsPerNode } from "./cidr.ts";
import { cloudFacts } from "./cloudFacts/cloudFacts.ts";
import { registryAccess } from "./cloudFacts/identities.ts";
import type { MachineSize } from "./cloudFacts/machineSizes.ts";
import { firstEncryptionKey, type SecretsEncryption } from "./keyLists.ts";
import { type AddOns, addOns, credentialsOf, type NodeKubernetes, type NodeSettings } from "./nodeSettings.ts";
import type { WindowsFacts } from "./operatingSystems.ts";
import { machineSize, type PoolSpec, poolSpecs, windowsBuilds } from "./pools.ts";
import { minorOf, pauseName } from "./releases.ts";
import { snapshotDays } from "./timings.ts";

/** Client rate limits, requests per second. */
interface ClientLimits {
  readonly qps: number;
  readonly burst: number;
}

/** By size tier. kube-controller-manager's default of 20 creates about 20 objects a second on any machine. */
export const clientLimits: Readonly<Record<StackConfig["kubernetes"]["sizeTier"], ClientLimits>> = {
  small: { qps: 50, burst: 100 },
  medium: { qps: 150, burst: 300 },
  large: { qps: 400, burst: 800 },
};

interface KubernetesSpec extends NodeKubernetes {
  readonly clientLimits: ClientLimits;
  readonly networkPolicies: NonNullable<StackConfig["network"]["policies"]>;
}

interface ControlPlaneSpec
  extends Readonly<Omit<StackConfig["controlPlane"], "replicas" | "size" | "sizes" | "backup" | "extraArgs">> {
  readonly members: readonly ControlPlaneMember[];
  readonly size: MachineSize;
  /** Sizes of single machines, by the names of their etcd members. */
  readonly sizes: Readonly<Record<string, MachineSize>>;
  /** Snapshots of etcd: hours between a machine's, and days that each is kept. */
  readonly backup: { readonly everyHours: number; readonly keepDays: number };
  readonly extraArgs: ExtraArgs;
}

/** Settings that the spec has otherwise, or never: logins. */
type Resolved =
  | keyof (NodeSettings &
      Pick<StackConfig, "access" | "secretsEncryption" | "proxyCredentials" | "registryCredentials">)
  | "accountId"
  | "controlPlane"
  | "pools";

/** One validated description of a cluster, plain data: nothing in an Output decides the shape of the program. */
export interface ClusterSpec extends NodeSettings, Readonly<Omit<StackConfig, Resolved>> {
  /** The only account or subscription that may be touched. */
  readonly accountId: string | undefined;
  readonly kubernetes: KubernetesSpec;
  readonly network: AddressPlan & Pick<StackConfig["network"], "nat" | "natAddresses" | "dns">;
  readonly controlPlane: ControlPlaneSpec;
  readonly pools: readonly PoolSpec[];
  /** The pools' Windows releases, oldest first, each once: in-cluster components exist per build. */
  readonly windows: readonly WindowsFacts[];
  /** Networks that may reach the public API endpoint, if there is one. */
  readonly publicAccess: readonly string[] | undefined;
  /** Further networks that may reach the API inside, if the stack file names any. */
  readonly privateAccess: readonly string[] | undefined;
  readonly apiNames: readonly string[];
  /** The API's own name, and the zone of its record. */
  readonly apiDns: { readonly name: string; readonly zone: string | undefined } | undefined;
  readonly signIn: readonly IssuerConfig[];
  readonly kubeconfigGeneration: number;
  /** Names of keys; the first one signs. */
  readonly serviceAccountKeys: readonly string[];
  readonly secretsEncryption: SecretsEncryption;
  /** Rights in the cloud for pods, if there are any. */
  readonly workloadIdentity: WorkloadIdentitySpec | undefined;
  readonly addons: AddOns;
}

/** What control-plane machines may depend on: no pools, so that changing one never touches them. */
export type ControlPlaneSettings = Omit<ClusterSpec, "pools" | "windows">;

/** The settings with which one member's machine is made: another member's size is no part of them. */
export function settingsOfMember(spec: ControlPlaneSettings, { etcdName }: Pick<ControlPlaneMember, "etcdName">) {
  const { sizes, ...rest } = spec.controlPlane;
  return { ...spec, controlPlane: { ...rest, sizes: {}, size: sizes[etcdName] ?? rest.size } };
}

type WorkloadIdentitySpec = NonNullable<StackConfig["access"]["workloadIdentity"]> & {
  /** Whether there is an object for the sample: with samples, and a bucket or container of the cluster's own. */
  readonly sample: boolean;
};

function workloadIdentity(config: StackConfig): ClusterSpec["workloadIdentity"] {
  const { workloadIdentity: settings } = config.access;
  if (settings === undefined) return undefined;
  const samples = addOns(config).samples && config.pools.some(({ os }) => os !== "linux");
  return { ...settings, sample: samples && settings.issuer === undefined };
}

function withPauseImage(lock: readonly Artifact[], url: string | undefined): readonly Artifact[] {
  if (url === undefined) return lock;
  return lock.map((row) => (row.name === pauseName ? { ...row, url, digest: url.replace(/.*:/, "") } : row));
}

function kubernetesOf({ kubernetes, network }: StackConfig): ClusterSpec["kubernetes"] {
  const podNetwork = podNetworks[network.pods ?? defaultPodNetwork];
  const { nodeRanges } = podNetwork.addressing;
  return {
    version: kubernetes.version,
    minor: minorOf(kubernetes.version),
    clientLimits: clientLimits[kubernetes.sizeTier],
    networkPolicies: network.policies ?? "none",
    podCidr: nodeRanges ? kubernetes.podCidr : network.cidr,
    podNetwork,
    podsPerNode: nodeRanges ? undefined : (network.azureCni?.podsPerNode ?? defaultPodsPerNode),
    serviceCidr: kubernetes.serviceCidr,
    dnsAddress: addressAt(cidr(kubernetes.serviceCidr), 10),
    clusterDomain: "cluster.local",
  };
}

function controlPlaneOf(
  { cloud, environment, controlPlane }: StackConfig,
  plan: AddressPlan,
): ClusterSpec["controlPlane"] {
  const { backup, extraArgs = {}, size, sizes = {} } = controlPlane;
  const sizeOf = (name: string): MachineSize => {
    const found = machineSize(cloud, name);
    if (found === undefined) throw new RangeError("the control plane has a machine size of unknown capacity");
    return found;
  };
  return {
    ...controlPlane,
    members: controlPlaneMembers(plan, controlPlane.replicas),
    size: sizeOf(size ?? cloudFacts[cloud].sizes.default),
    sizes: Object.fromEntries(Object.entries(sizes).map(([member, own]) => [member, sizeOf(own)])),
    backup: { everyHours: backup.everyHours, keepDays: backup.keepDays ?? snapshotDays[environment] },
    extraArgs,
  };
}

/** The cluster of a validated config. Throws only on one that the rules refuse. */
export function clusterSpec(config: StackConfig, artifacts: readonly Artifact[] = readArtifactLock()): ClusterSpec {
  const { access, secretsEncryption, proxyCredentials: _proxy, registryCredentials: _registries, ...kept } = config;
  const { network } = config;
  const { existing, dns } = network;
  const facts = cloudFacts[config.cloud];
  const kubernetes = kubernetesOf(config);
  const plan =
    existing === undefined
      ? addressPlan(network.cidr, network.zones, kubernetes.podNetwork.addressing.controlPlane.prefix)
      : existingPlan(network.cidr, network.zones, existing);
  const pools = poolSpecs(config);
  return {
    ...kept,
    facts,
    accountId: config.accountId ?? (existing === undefined ? undefined : facts.network.accountOf(existing.id)),
    kubernetes,
    network: { ...plan, nat: network.nat, natAddresses: network.natAddresses, ...(dns !== undefined && { dns }) },
    controlPlane: controlPlaneOf(config, plan),
    pools,
    windows: windowsBuilds(pools),
    publicAccess: access.public?.allow,
    privateAccess: access.private?.allow,
    apiNames: access.names ?? [],
    apiDns: access.dns === undefined ? undefined : { name: access.dns.name, zone: access.dns.zone },
    signIn: access.signIn,
    kubeconfigGeneration: access.kubeconfigGeneration,
    serviceAccountKeys: access.serviceAccountKeys,
    secretsEncryption: secretsEncryption ?? { keys: [firstEncryptionKey] },
    workloadIdentity: workloadIdentity(config),
    addons: addOns(config),
    registryAccess: registryAccess(config),
    credentials: credentialsOf(config),
    noProxy: config.noProxy ?? [],
    certificateAuthorities: (config.certificateAuthorities ?? []).map((pem) => `${pem.trim().replaceAll("\r", "")}\n`),
    tags: { "fenestra:cluster": config.name, "fenestra:environment": config.environment, ...config.tags },
    artifacts: withPauseImage(artifacts, config.kubernetes.pauseImage),
  };
}

/** What other programs build on: a peering, a rule, a right. No output has a secret. */
export interface ClusterResources<Id> {
  readonly network: { readonly id: Id; readonly subnets: Readonly<Record<string, ZoneSubnetIds<Id>>> };
  readonly securityGroups: { readonly controlPlane: Id; readonly workers: Id };
  /** ARNs of roles on AWS, resource ids of user-assigned identities on Azure. */
  readonly identities: { readonly controlPlane: Id; readonly pools: Readonly<Record<string, Id>> };
  /** The API's load balancers: ARNs on AWS, resource ids on Azure. */
  readonly loadBalancers: { readonly internal: Id; readonly public?: Id };
}

interface ZoneSubnetIds<Id> {
  readonly private: Id;
  readonly controlPlane: Id;
  readonly public?: Id;
}
