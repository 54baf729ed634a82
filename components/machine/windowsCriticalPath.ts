import type { ClusterSpec } from "../model/clusterSpec.ts";
import type { PoolSpec } from "../model/pools.ts";
import { windowsArtifacts } from "./windowsArtifacts.ts";
import { stageWaves, type WindowsStageName, windowsReboots, windowsStages } from "./windowsStages.ts";

/** A quantity of the model with its origin: `estimate` is a guess from like programs, anything else names who published it. */
export interface Sized {
  /** Megabytes (10^6 bytes). */
  readonly megabytes: number;
  readonly source: string;
}

/** Megabytes of what a node downloads, by the name of the artifact. */
export const artifactSizes: Readonly<Record<string, Sized>> = {
  "kubelet.exe": { megabytes: 70, source: "estimate" },
  "kubectl.exe": { megabytes: 60, source: "estimate" },
  "kube-proxy.exe": { megabytes: 45, source: "estimate" },
  "kube-log-runner.exe": { megabytes: 2, source: "estimate" },
  "flanneld.exe": { megabytes: 45, source: "estimate" },
  "flannel.exe": { megabytes: 3, source: "estimate" },
  containerd: { megabytes: 36, source: "estimate" },
  crictl: { megabytes: 20, source: "estimate" },
  "cni-plugins": { megabytes: 38, source: "estimate" },
};

/**
 * Megabytes of the pause image, which the first pod pulls, flanneld's: without that pod the node has no network and is not Ready. It is
 * nanoserver with one small program.
 */
export const pauseImageSizes: Readonly<Record<string, Sized>> = {
  "windows-2019": { megabytes: 105, source: "estimate" },
  "windows-2022": { megabytes: 120, source: "estimate" },
  "windows-2025": { megabytes: 175, source: "Microsoft Tech Community, May 2025 (nanoserver of Windows Server 2025)" },
};

/** Seconds of each stage on a machine with two processors, without its downloads. All are estimates. */
const stageSeconds: Readonly<Record<WindowsStageName, number>> = {
  os: 100,
  artifacts: 15,
  containerd: 8,
  network: 25,
  join: 5,
  services: 20,
  ready: 30,
};

/** Seconds of things that are no stage. All are estimates. */
const otherSeconds = { firstBoot: 120, reboot: 60, hyperV: 40 } as const;

/** Target of the product: what a node downloads before it is Ready, and how often it reboots on a stock image. */
export const criticalPathTarget = { megabytes: 400, reboots: 1 } as const;

/** One step on the way to Ready. The parts of a step run at the same time. */
export interface CriticalStep {
  readonly name: string;
  readonly parts: readonly { readonly name: string; readonly seconds: number; readonly megabytes: number }[];
  /** Seconds of the longest part. */
  readonly seconds: number;
}

/** Way of a pool's machine from its launch to Ready: a model to compare by, not a measurement. */
export interface CriticalPath {
  readonly pool: string;
  readonly steps: readonly CriticalStep[];
  readonly seconds: number;
  /** Downloaded before Ready. */
  readonly megabytes: number;
  readonly reboots: number;
  /** Whether bytes and reboots stay within `criticalPathTarget`. */
  readonly withinTarget: boolean;
}

/** The way to Ready of a Windows pool. `megabitsPerSecond` is what the machine gets from its sources; default 500. */
export function windowsCriticalPath(spec: ClusterSpec, pool: PoolSpec, megabitsPerSecond = 500): CriticalPath {
  const downloads = windowsArtifacts(spec).reduce((sum, { name }) => sum + size(artifactSizes, name), 0);
  const pause = size(pauseImageSizes, pool.os.name);
  const transfer = (megabytes: number): number => Math.ceil((megabytes * 8) / megabitsPerSecond);
  const part = (name: WindowsStageName) => {
    const megabytes = name === "artifacts" ? downloads : name === "ready" ? pause : 0;
    const extra = name === "os" && pool.hyperV ? otherSeconds.hyperV : 0;
    return { name, seconds: stageSeconds[name] + extra + transfer(megabytes), megabytes };
  };
  const waves = stageWaves(windowsStages).flatMap((wave) => {
    const step = timed(wave.join(" and "), wave.map(part));
    const reboots = windowsStages.some(({ name, reboots: asks }) => asks && wave.includes(name));
    return reboots ? [step, single("reboot", otherSeconds.reboot)] : [step];
  });
  const steps = [single("first boot of the image", otherSeconds.firstBoot), ...waves];
  const megabytes = downloads + pause;
  const { expected } = windowsReboots;
  return {
    pool: pool.name,
    steps,
    seconds: steps.reduce((sum, { seconds }) => sum + seconds, 0),
    megabytes,
    reboots: expected,
    withinTarget: megabytes <= criticalPathTarget.megabytes && expected <= criticalPathTarget.reboots,
  };
}

function timed(name: string, parts: CriticalStep["parts"]): CriticalStep {
  return { name, parts, seconds: Math.max(...parts.map(({ seconds }) => seconds)) };
}

function single(name: string, seconds: number): CriticalStep {
  return timed(name, [{ name, seconds, megabytes: 0 }]);
}

function size(table: Readonly<Record<string, Sized>>, name: string): number {
  const entry = table[name];
  if (entry === undefined) throw new RangeError(`no size known of ${name}`);
  return entry.megabytes;
}

/** The way to Ready as a plan prints it, one line per step. */
export function formatCriticalPath(path: CriticalPath): string {
  const { megabytes, reboots } = criticalPathTarget;
  const lines = path.steps.map((step) => {
    const parts = step.parts.filter((part) => part.megabytes > 0).map((part) => `${part.name} ${part.megabytes} MB`);
    return `  ${String(step.seconds).padStart(4)} s  ${step.name}${parts.length > 0 ? ` (${parts.join(", ")})` : ""}`;
  });
  return [
    `${path.pool}: about ${Math.round(path.seconds / 60)} min to Ready by estimates, ${path.megabytes} MB (target ${megabytes}), ${path.reboots} reboot (target ${reboots})`,
    ...lines,
  ].join("\n");
}
