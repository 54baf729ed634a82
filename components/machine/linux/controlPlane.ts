import { createHash } from "node:crypto";
import type { Cloud } from "../../config/schema.ts";
import type { ControlPlaneMember } from "../../model/addressPlan.ts";
import type { ControlPlaneSettings } from "../../model/clusterSpec.ts";
import type { ServiceAccountTokens } from "../../model/keyLists.ts";
import { ports } from "../../model/ports.ts";
import { etcdSeconds, joinSecretSeconds, joinTokenSeconds, snapshotHours } from "../../model/timings.ts";
import { type ApiEndpoint, type ControlPlaneAccess, controllerEnv, secretName } from "../cloudAccess.ts";
import { type MachinePayload, type PayloadFile, withTemplates } from "../payload.ts";
import { admissionConfiguration, auditPolicyFile, authenticationConfiguration } from "./apiServer.ts";
import { artifactTable } from "./artifacts.ts";
import { commonUnits, linuxFiles, linuxScripts } from "./common.ts";
import { encryptionEnv, encryptionFiles, withEncryption, withoutFirstKey } from "./encryption.ts";
import { controlPlanePaths, etcdMembers, kubeadmConfig, severalKeys } from "./kubeadm.ts";
import { commonEnv, type MachineEnv } from "./machineEnv.ts";
import { nodeControllerScripts, nodeControllerUnit } from "./nodeController.ts";
import { linuxEntry, rootFile, script, unitFile } from "./rootfs.ts";
import {
  controlPlaneStages,
  stageTable,
  stageTablePath,
  withCredentials,
  withPodNetwork,
  withTrust,
} from "./stages.ts";
import { fetchedMode, nameServerPatch, staticPodPatches } from "./staticPodPatches.ts";
import { type Job, jobUnit, scheduledJobs, timerUnit } from "./systemdUnits.ts";

/** Nothing here depends on the pools, so changing one never touches a control-plane machine. */
interface ControlPlanePayloadArgs {
  readonly spec: ControlPlaneSettings;
  readonly member: ControlPlaneMember;
  readonly endpoint: ApiEndpoint;
  readonly access: ControlPlaneAccess;
  /** How tokens of service accounts are issued and checked. Default kubeadm's way. */
  readonly tokens?: ServiceAccountTokens | undefined;
}

/** Payload of a control-plane machine. Throws when `access` names no vault for the CA material on Azure. */
export function controlPlanePayload(args: ControlPlanePayloadArgs): MachinePayload {
  const { spec } = args;
  const { auditPolicy } = spec.controlPlane;
  const shared = withTrust(spec, withEncryption(spec, controlPlaneStages));
  const stages = withPodNetwork(withCredentials(spec, shared), spec.kubernetes.podNetwork);
  const jobs = scheduledJobs(spec.controlPlane.backup.everyHours);
  const units = [...jobs.map(({ name }) => `${name}.timer`), nodeControllerUnit];
  const env = { ...commonEnv(spec, args.access.cloud, units), ...controlPlaneEnv(args) };
  const files = withTemplates("linux", [
    ...withoutFirstKey(spec, linuxFiles({ spec, stages, env, requiresMount: controlPlanePaths.etcdMount })),
    ...ownScripts(spec.cloud, jobs),
    ...jobs.flatMap(({ name, does, file, first, interval, settings }) => [
      unitFile(jobService(name), jobUnit(does, `/opt/fenestra/${file}`, settings)),
      unitFile(`${name}.timer`, timerUnit(does, first, interval)),
    ]),
    rootFile(`/etc/systemd/system/${nodeControllerUnit}`),
    { path: "/etc/fenestra/artifacts.tsv", content: artifactTable(spec, "control-plane") },
    { path: "/etc/fenestra/kubeadm.yaml", content: kubeadmConfig(args) },
    auditPolicy === undefined
      ? rootFile(controlPlanePaths.auditPolicy)
      : { path: controlPlanePaths.auditPolicy, content: auditPolicyFile(auditPolicy) },
    { path: controlPlanePaths.admission, content: admissionConfiguration(spec) },
    { path: controlPlanePaths.authentication, content: authenticationConfiguration(spec.signIn) },
    ...(severalKeys(args.tokens)
      ? [{ path: controlPlanePaths.serviceAccountKeys, content: args.tokens.publicKeys.join("") }]
      : []),
    ...encryptionFiles(spec, secretName(args.access), args.access.secrets.encryptionKey),
  ]);
  return {
    kind: "control-plane",
    files: [...files, { path: stageTablePath, content: stageTable(stages, files) }],
    entry: linuxEntry,
  };
}

const jobService = (name: string): string => `${name}.service`;

/** Services of a control-plane machine. */
export function controlPlaneUnits(spec: Pick<ControlPlaneSettings, "cloud">): readonly string[] {
  const jobs = scheduledJobs(snapshotHours).map(({ name }) => jobService(name));
  return [...commonUnits(spec.cloud), ...jobs, nodeControllerUnit];
}

/**
 * Changes when, and only when, the machine must be replaced.
 *
 * @param identity ARN of the instance profile on AWS: no new template reaches a running machine, which would keep a
 *   deleted profile.
 */
export function machineFingerprint(
  spec: ControlPlaneSettings,
  { etcdName }: Pick<ControlPlaneMember, "etcdName">,
  payload: MachinePayload,
  identity?: string,
): string {
  const { image, size, osDiskGb, osDisk, generations = {} } = spec.controlPlane;
  const disk = osDisk === undefined ? [] : [osDisk];
  const generation = Object.entries(generations).filter(([member]) => member === etcdName);
  return createHash("sha256")
    .update(
      JSON.stringify([payload, image, size.name, osDiskGb, spec.encryptionAtHost, identity, ...disk, ...generation]),
    )
    .digest("hex");
}

/** The scripts and patches among those files, for a bucket: they depend on no outputs of resources. */
export function controlPlaneScripts(
  spec: Pick<ControlPlaneSettings, "cloud" | "controlPlane" | "credentials" | "secretsEncryption">,
): MachinePayload {
  const jobs = scheduledJobs(snapshotHours);
  const stages = withCredentials(spec, withEncryption(spec, controlPlaneStages));
  return {
    kind: "control-plane",
    files: [...withoutFirstKey(spec, linuxScripts(spec.cloud, stages)), ...ownScripts(spec.cloud, jobs)],
    entry: linuxEntry,
  };
}

function ownScripts(cloud: Cloud, jobs: readonly Job[]): readonly PayloadFile[] {
  return [
    ...nodeControllerScripts(cloud),
    ...staticPodPatches,
    nameServerPatch,
    { ...rootFile("/etc/fenestra/bindings.yaml"), mode: fetchedMode },
    script("etcd.sh"),
    script("etcd-restore.sh"),
    ...jobs.map(({ file }) => script(file)),
  ];
}

function controlPlaneEnv({ spec, member, endpoint, access }: ControlPlanePayloadArgs): MachineEnv {
  const { members } = spec.controlPlane;
  const secret = secretName(access);
  return {
    API_HOST: endpoint.host,
    API_PORT: ports.api,
    ETCD_NAME: member.etcdName,
    MEMBER_ADDRESS: member.address,
    MEMBER_ADDRESSES: members.map(({ address }) => address).join(" "),
    PEER_ADDRESSES: members
      .filter(({ index }) => index !== member.index)
      .map(({ address }) => address)
      .join(" "),
    ETCD_ALL_MEMBERS: etcdMembers(spec),
    ETCD_DEVICE: access.etcdDevice,
    ETCD_MOUNT: controlPlanePaths.etcdMount,
    ETCD_DATA: controlPlanePaths.etcdData,
    SECRET_KUBERNETES_CA: secret(access.secrets.kubernetesCa),
    SECRET_ETCD_CA: secret(access.secrets.etcdCa),
    SECRET_FRONT_PROXY_CA: secret(access.secrets.frontProxyCa),
    SECRET_SERVICE_ACCOUNT: secret(access.secrets.serviceAccount),
    ...encryptionEnv(spec, secret, access.secrets.encryptionKey),
    SECRET_INITIALISED: secret(access.secrets.initialised),
    SNAPSHOT_TARGET: access.snapshots.target,
    JOIN_TOKEN_TTL: joinTokenSeconds,
    JOIN_INTERVAL: joinSecretSeconds,
    ...controllerEnv(access.cloud),
    ...certificateTimes,
    ...etcdTimes,
    ...controlPlaneAttempts,
  };
}

/** Leaf certificates are valid for a year. Days. */
const certificateTimes = {
  RENEW_DAYS: 60,
  /** Valid for less, they are renewed even while another member of etcd is not well. */
  URGENT_DAYS: 14,
  CA_WARNING_DAYS: 90,
} as const;

/** Maintenance during which an etcd member is briefly away. */
const etcdTimes = {
  TURN_SECONDS: etcdSeconds.turn,
  DEFRAG_SECONDS: etcdSeconds.defragmentation,
  /** A smaller database is not worth the interruption of a defragmentation. */
  DEFRAG_BYTES: 256 * 1024 ** 2,
} as const;

/** Attempts of stages before they fail: once a second for services near by, with growing pauses for the cloud's. */
const controlPlaneAttempts = {
  VOLUME_ATTEMPTS: 60,
  SECRET_ATTEMPTS: 60,
  PROMOTE_ATTEMPTS: 300,
  READY_ATTEMPTS: 600,
  NODE_ATTEMPTS: 300,
  ADDON_ATTEMPTS: 120,
} as const;
