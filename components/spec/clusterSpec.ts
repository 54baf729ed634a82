import type { StackConfig } from "../config/schema.ts";
import { addOns } from "../model/addOns.ts";
import { addressPlan, controlPlaneMembers, existingPlan } from "../model/addressPlan.ts";
import { type Artifact, readArtifactLock } from "../model/artifacts.ts";
import { addressAt, cidr } from "../model/cidr.ts";
import { cloudFacts } from "../model/cloudFacts/cloudFacts.ts";
import { type ClusterSpec, clientLimits } from "../model/clusterSpec.ts";
import { credentialsOf } from "../model/credentials.ts";
import { defaultPodNetwork, defaultPodsPerNode } from "../model/podAddressing.ts";
import { machineSize, poolSpecs, windowsBuilds } from "../model/pools.ts";
import { registryAccess } from "../model/registryAccess.ts";
import { minorOf, requireMinorFacts } from "../model/releases.ts";
import { firstEncryptionKey } from "../model/secretsEncryption.ts";
import { snapshotDays } from "../model/timings.ts";
import { podNetworks } from "../podNetworks/podNetworks.ts";

function workloadIdentity(config: StackConfig): ClusterSpec["workloadIdentity"] {
  const { workloadIdentity: settings } = config.access;
  if (settings === undefined) return undefined;
  const { mutatingAdmissionPolicy: injected } = requireMinorFacts(config.kubernetes.version);
  const samples = addOns(config).samples && config.pools.some(({ os }) => os !== "linux");
  return { ...settings, sample: samples && injected && settings.issuer === undefined };
}

/** The cluster described by a validated config. Pure; throws only on a config that the rules would have refused. */
export function clusterSpec(config: StackConfig, artifacts: readonly Artifact[] = readArtifactLock()): ClusterSpec {
  const { kubernetes, network, controlPlane } = config;
  const facts = cloudFacts[config.cloud];
  const podNetwork = podNetworks[network.pods ?? defaultPodNetwork];
  const { azureCni, existing, dns } = network;
  const plan =
    existing === undefined
      ? addressPlan(network.cidr, network.zones, podNetwork.addressing.controlPlane.prefix)
      : existingPlan(network.cidr, network.zones, existing);
  const size = machineSize(config.cloud, controlPlane.size ?? facts.sizes.default);
  if (size === undefined) throw new RangeError("the control plane has a machine size of unknown capacity");
  const pools = poolSpecs(config);
  return {
    cloud: config.cloud,
    facts,
    name: config.name,
    region: config.region,
    accountId: config.accountId ?? (existing === undefined ? undefined : facts.network.accountOf(existing.id)),
    environment: config.environment,
    kubernetes: {
      version: kubernetes.version,
      minor: minorOf(kubernetes.version),
      clientLimits: clientLimits[kubernetes.sizeTier],
      networkPolicies: network.policies ?? "none",
      podCidr: podNetwork.addressing.nodeRanges ? kubernetes.podCidr : network.cidr,
      podNetwork,
      podsPerNode: podNetwork.addressing.nodeRanges ? undefined : (azureCni?.podsPerNode ?? defaultPodsPerNode),
      serviceCidr: kubernetes.serviceCidr,
      dnsAddress: addressAt(cidr(kubernetes.serviceCidr), 10),
      clusterDomain: "cluster.local",
    },
    network: { ...plan, nat: network.nat, ...(dns === undefined ? {} : { dns }) },
    controlPlane: {
      ...controlPlane,
      members: controlPlaneMembers(plan, controlPlane.replicas),
      size,
      backup: {
        everyHours: controlPlane.backup.everyHours,
        keepDays: controlPlane.backup.keepDays ?? snapshotDays[config.environment],
      },
      extraArgs: controlPlane.extraArgs ?? {},
    },
    pools,
    windows: windowsBuilds(pools),
    publicAccess: config.access.public?.allow,
    privateAccess: config.access.private?.allow,
    apiNames: config.access.names ?? [],
    apiDns:
      config.access.dns === undefined ? undefined : { name: config.access.dns.name, zone: config.access.dns.zone },
    signIn: config.access.signIn,
    kubeconfigGeneration: config.access.kubeconfigGeneration,
    serviceAccountKeys: config.access.serviceAccountKeys,
    secretsEncryption: config.secretsEncryption ?? { keys: [firstEncryptionKey] },
    workloadIdentity: workloadIdentity(config),
    addons: addOns(config),
    repair: config.repair,
    iam: config.iam,
    mirror: config.mirror,
    registryAccess: registryAccess(config),
    httpProxy: config.httpProxy,
    credentials: credentialsOf(config),
    noProxy: config.noProxy ?? [],
    certificateAuthorities: (config.certificateAuthorities ?? []).map((pem) => `${pem.trim().replaceAll("\r", "")}\n`),
    encryptionAtHost: config.encryptionAtHost,
    tags: { "fenestra:cluster": config.name, "fenestra:environment": config.environment, ...config.tags },
    acknowledge: config.acknowledge,
    artifacts,
  };
}
