import { createHash } from "node:crypto";
import { hasCredentials, type NodeSettings } from "../../model/nodeSettings.ts";
import type { PodNetwork, Stage } from "../../model/podNetwork.ts";
import type { LinuxPool } from "../../model/pools.ts";
import { annotationPatch, hasUserStage, type PayloadFile, trustFiles } from "../payload.ts";
import { tsvFile } from "./rootfs.ts";
import { nameServerPatch, staticPodPatches } from "./staticPodPatches.ts";

const once = (name: string, exitCode: number, ...reads: readonly string[]): Stage => ({
  name,
  exitCode,
  reads,
  mode: "once",
});
const always = (name: string, exitCode: number, ...reads: readonly string[]): Stage => ({
  ...once(name, exitCode, ...reads),
  mode: "always",
});

/** First stage on AWS: fetches the scripts that do not fit into user data. `packLinuxFetching` adds it. */
export const scriptsStage: Stage = once("scripts", 16);

const trustStage: Stage = once("trust", 17);

/** Behind `secrets` where the stack file has keys of the encryption of its own. */
export const encryptionStage: Stage = once("encryption", 32);

export const encryptedStage: Stage = once("encrypted", 33, "/opt/fenestra/etcd.sh");

/** Stages of a machine with {@link trustStage} before them where it is needed. */
export function withTrust(
  spec: Pick<NodeSettings, "certificateAuthorities">,
  stages: readonly Stage[],
): readonly Stage[] {
  const reads = trustFiles(spec, "linux").map(({ path }) => path);
  return reads.length === 0 ? stages : [{ ...trustStage, reads }, ...stages];
}

/** Stage of a machine that needs logins for what it fetches. */
const credentialsStage: Stage = always("credentials", 19);

/**
 * Stages of a machine with {@link credentialsStage} where it is needed, before anything is fetched but scripts from the
 * bucket.
 */
export function withCredentials(
  { credentials }: Pick<NodeSettings, "credentials">,
  stages: readonly Stage[],
): readonly Stage[] {
  if (!hasCredentials(credentials)) return stages;
  return stages.flatMap((stage) => (stage.name === "identity" ? [stage, credentialsStage] : [stage]));
}

/** Drop-in of logind with the longest delay of a shutdown. */
export const logindDelay = "/etc/systemd/logind.conf.d/unattended-upgrades-logind-maxdelay.conf";

const common: readonly Stage[] = [
  always("identity", 10),
  always("os", 11, "/etc/modules-load.d/fenestra.conf", "/etc/sysctl.d/90-fenestra.conf", logindDelay),
  once("artifacts", 12, "/etc/fenestra/artifacts.tsv"),
  once("containerd", 13, "/etc/containerd/config.toml", "/etc/systemd/system/containerd.service"),
];

const kubelet = once(
  "kubelet",
  14,
  "/etc/fenestra/kubelet.yaml",
  "/etc/fenestra/kubelet.env",
  "/etc/systemd/system/kubelet.service",
);

/** Stages of a control-plane machine. The add-ons are last: they wait until every machine has the same version. */
export const controlPlaneStages: readonly Stage[] = [
  ...common,
  always("volume", 20),
  once("secrets", 21, "/etc/fenestra/encryption.yaml"),
  once("certificates", 22, "/etc/fenestra/kubeadm.yaml"),
  once("membership", 23, "/opt/fenestra/etcd.sh"),
  once("backup", 31, "/opt/fenestra/etcd.sh"),
  once(
    "manifests",
    24,
    "/etc/fenestra/kubeadm.yaml",
    "/etc/fenestra/admission.yaml",
    "/etc/fenestra/audit-policy.yaml",
    "/etc/fenestra/authentication.yaml",
    ...staticPodPatches.map(({ path }) => path),
  ),
  kubelet,
  once("promote", 25, "/opt/fenestra/etcd.sh"),
  once("ready", 26, "/etc/fenestra/kubeadm.yaml"),
  once("cluster", 27, "/etc/fenestra/kubeadm.yaml", "/etc/fenestra/bindings.yaml"),
  // The node controller among them leads by the time that the first machine asks for a certificate; a kubelet that is
  // kept waiting tries to register at growing intervals of up to 7 s.
  once("timers", 15),
  always("publish", 28, "/opt/fenestra/publish-join-secret.sh"),
  once("node", 29),
  once("addons", 30, "/etc/fenestra/kubeadm.yaml", nameServerPatch.path),
];

/** The user's own scripts on a Linux machine, and the annotations that it gives its node. */
export const userPaths = {
  before: "/opt/fenestra/own/before.sh",
  after: "/opt/fenestra/own/after.sh",
  patch: "/etc/fenestra/node-patch.json",
} as const;

/** Stages of a Linux worker; `before` and `after` only where the stack file asks for something. */
export const linuxWorkerStages: readonly Stage[] = [
  // First of all what leaves when the machine is told to: it may be while it joins.
  ...common.slice(0, 1),
  once("timers", 15),
  ...common.slice(1),
  once("before", 42),
  once("join", 40, "/etc/fenestra/bootstrap-kubelet.conf"),
  kubelet,
  once("joined", 41),
  once("after", 43),
];

/** The stages of a pool's machines: those of the user's own steps read what there is of them. */
export function workerStages(pool: LinuxPool): readonly Stage[] {
  const own = {
    before: pool.beforeJoin === undefined ? [] : [userPaths.before],
    after: [
      ...(pool.afterJoin === undefined ? [] : [userPaths.after]),
      ...(annotationPatch(pool) === undefined ? [] : [userPaths.patch]),
    ],
  };
  return linuxWorkerStages.flatMap((stage) => {
    const { name } = stage;
    if (name !== "before" && name !== "after") return [stage];
    return hasUserStage(pool, name) ? [{ ...stage, reads: own[name] }] : [];
  });
}

/** The stages whose scripts are beside this module, some in both lists; a pod network brings its own. */
export const sharedStages: readonly Stage[] = [
  ...[scriptsStage, trustStage, credentialsStage, encryptionStage, encryptedStage],
  ...controlPlaneStages,
  ...linuxWorkerStages,
];

/** Stages with those of the pod network: behind the kernel's, before anything that others reach by an address. */
export function withPodNetwork(stages: readonly Stage[], { linux }: PodNetwork): readonly Stage[] {
  return stages.flatMap((stage) => (stage.name === "os" ? [stage, ...linux.stages] : [stage]));
}

export const stageTablePath = "/etc/fenestra/stages.tsv";

export function stageScript(name: string): string {
  return `/opt/fenestra/stages/${name}.sh`;
}

const sharedFiles = ["/opt/fenestra/lib.sh", "/opt/fenestra/cloud.sh", "/etc/fenestra/machine.env"];

/**
 * The table of stages, with a last line `end`: name, exit code, hash of all that the stage depends on, mode. A stage
 * that was done for another hash runs again, and so does all behind it, since each hash includes the one before. Throws
 * when a stage reads a file that is not in the payload.
 */
export function stageTable(stages: readonly Stage[], files: readonly PayloadFile[]): string {
  const contents = new Map(files.map(({ path, content }) => [path, content]));
  let before = "";
  const table = tsvFile(
    stages.map(({ name, exitCode, reads, mode }) => {
      const hash = createHash("sha256").update(before);
      for (const path of [...sharedFiles, stageScript(name), ...reads]) {
        const content = contents.get(path);
        if (content === undefined) throw new RangeError(`stage ${name} reads ${path}, which is not in the payload`);
        hash.update(`${path}\0${content}\0`);
      }
      before = hash.digest("hex").slice(0, 16);
      return [name, String(exitCode), before, mode];
    }),
  );
  // So that a table that was cut is known from one that is done.
  return `${table}end\n`;
}

/** The table with the stage that fetches scripts, done for the object with this digest; only trust is before it. */
export function withScriptsStage(table: string, sha256: string): string {
  const line = tsvFile([[scriptsStage.name, String(scriptsStage.exitCode), sha256.slice(0, 16), scriptsStage.mode]]);
  return table.replace(/^(?:trust\t.*\n)?/, (first) => first + line);
}
