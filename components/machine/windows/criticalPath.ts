import type { NodeSettings } from "../../model/nodeSettings.ts";
import type { WindowsFacts } from "../../model/operatingSystems.ts";
import type { PodNetwork } from "../../model/podNetwork.ts";
import type { WindowsPool } from "../../model/pools.ts";
import { windowsArtifacts } from "./artifacts.ts";
import { ccgArtifacts } from "./ccg.ts";
import { stagesOf, type WindowsStageName, windowsReboots, windowsStages } from "./stages.ts";
import { stageWaves } from "./stageWaves.ts";

/** A quantity of the model with its origin: `estimate` is a guess from similar programs, anything else names the measurement or publication. */
interface Sized {
  /** Download size of an archive or compressed image, in megabytes (10^6 bytes). */
  readonly megabytes: number;
  readonly source: string;
}

const built = (version: string): string => `built from ${version} for windows/amd64 with the release's flags`;

/** Download sizes in megabytes whatever the pod network, by artifact name. */
const sharedSizes: Readonly<Record<string, Sized>> = {
  "kubelet.exe": { megabytes: 84, source: built("kubernetes 1.36.3") },
  "kubectl.exe": { megabytes: 61, source: built("kubernetes 1.36.3") },
  "kube-proxy.exe": { megabytes: 71, source: built("kubernetes 1.36.3") },
  "kube-log-runner.exe": { megabytes: 3, source: built("kubernetes 1.36.3") },
  containerd: { megabytes: 36, source: "estimate" },
  crictl: { megabytes: 20, source: "estimate" },
  "ccg-plugin": { megabytes: 5, source: "estimate" },
  "ecr-credential-provider.exe": { megabytes: 20, source: "estimate" },
  "acr-credential-provider.exe": { megabytes: 20, source: "estimate" },
  // With symbols; without them it would be 8.
  "cni-plugins": { megabytes: 16, source: "built from plugins 1.9.1 for windows/amd64 and packed" },
};

/** Download sizes in megabytes, by artifact name. */
export function artifactSizes({ windows }: PodNetwork): Readonly<Record<string, Sized>> {
  return { ...sharedSizes, ...windows.sizes };
}

/**
 * Megabytes of the pause image, pulled for the first pod, the pod network's: without it the node may not be Ready. It is
 * nanoserver with one small program.
 */
export const pauseImageSizes: Readonly<Record<WindowsFacts["name"], Sized>> = {
  "windows-2019": { megabytes: 105, source: "estimate" },
  "windows-2022": { megabytes: 120, source: "estimate" },
  "windows-2025": { megabytes: 175, source: "Microsoft Tech Community, May 2025 (nanoserver of Windows Server 2025)" },
};

/** Seconds of each stage on a machine with two processors, without its downloads. All are estimates. */
const stageSeconds: Readonly<Record<WindowsStageName, number>> = {
  os: 100,
  credentials: 5,
  artifacts: 15,
  containerd: 8,
  proxy: 2,
  network: 10,
  before: 30,
  join: 5,
  ccg: 10,
  services: 20,
  programs: 10,
  // Meanwhile the first HNS network moves the adapter into the virtual switch, which cuts every connection for 5 to 25 s (rancher/rke2#5702).
  ready: 45,
  // Not before the node is Ready.
  after: 0,
};

/** Seconds of activities outside the stages. All are estimates. */
const otherSeconds = { firstBoot: 120, reboot: 60, hyperV: 40 } as const;

/** Target of the product: how much a node downloads before it is Ready, and how often it reboots on a stock image. */
export const criticalPathTarget = { megabytes: 400, reboots: 1 } as const;

/** One step on the way to Ready. The parts of a step run at the same time. */
interface CriticalStep {
  readonly name: string;
  readonly parts: readonly { readonly name: string; readonly seconds: number; readonly megabytes: number }[];
  /** Seconds of the longest part. */
  readonly seconds: number;
}

/** A pool machine's path from launch to Ready: a model for comparison, not a measurement. */
export interface CriticalPath {
  readonly steps: readonly CriticalStep[];
  readonly seconds: number;
  /** Downloaded before Ready, because the node cannot become Ready without. */
  readonly megabytes: number;
  /** Downloaded while the kubelet registers the node, which does not wait for it; on a fast connection it still completes before Ready. */
  readonly besideMegabytes: number;
  /** Part of `megabytes` and `besideMegabytes` that is estimated. */
  readonly estimatedMegabytes: number;
  readonly reboots: number;
  /** Whether `megabytes` and `reboots` stay within `criticalPathTarget`. */
  readonly withinTarget: boolean;
}

/** The path to Ready of a Windows pool. `megabitsPerSecond` is the machine's download rate; default 500. */
export function windowsCriticalPath(spec: NodeSettings, pool: WindowsPool, megabitsPerSecond = 500): CriticalPath {
  const files = [...windowsArtifacts(spec), ...ccgArtifacts(spec, pool)].map(({ name, stage }) => ({
    stage,
    ...size(artifactSizes(spec.kubernetes.podNetwork), name),
  }));
  const pause = { stage: "ready", ...size(pauseImageSizes, pool.release.name) } as const;
  const downloads = [...files, pause];
  const by = (stage: WindowsStageName): number => total(downloads.filter((download) => download.stage === stage));
  const transfer = (megabytes: number): number => Math.ceil((megabytes * 8) / megabitsPerSecond);
  const part = (name: WindowsStageName, onTheLine = by(name)) => {
    const extra = name === "os" && pool.hyperV ? otherSeconds.hyperV : 0;
    return { name, seconds: stageSeconds[name] + extra + transfer(onTheLine), megabytes: by(name) };
  };
  const waves = stageWaves(stagesOf(spec, pool));
  const started = waves.findIndex((wave) => wave.includes("services")) + 1;
  const before = waves.slice(0, started).flatMap((wave) => {
    const step = timed(wave.map((name) => part(name)));
    const reboots = windowsStages.some(({ name, reboots: asks }) => asks && wave.includes(name));
    return reboots ? [step, single("reboot", otherSeconds.reboot)] : [step];
  });
  // From here on the kubelet makes the node Ready independently of the stages; the download rate is shared.
  const beside = waves.slice(started).flat();
  const last = timed(beside.map((name) => part(name, by("programs") + by("ready"))));
  const steps = [single("first boot of the image", otherSeconds.firstBoot), ...before, last];
  const megabytes = by("artifacts") + by("ccg") + by("ready");
  const { expected } = windowsReboots;
  return {
    steps,
    seconds: steps.reduce((sum, { seconds }) => sum + seconds, 0),
    megabytes,
    besideMegabytes: by("programs"),
    estimatedMegabytes: total(downloads.filter(({ source }) => source === "estimate")),
    reboots: expected,
    withinTarget: megabytes <= criticalPathTarget.megabytes && expected <= criticalPathTarget.reboots,
  };
}

function total(sizes: readonly Sized[]): number {
  return sizes.reduce((sum, { megabytes }) => sum + megabytes, 0);
}

function timed(parts: CriticalStep["parts"]): CriticalStep {
  return {
    name: parts.map(({ name }) => name).join(" beside "),
    parts,
    seconds: Math.max(...parts.map(({ seconds }) => seconds)),
  };
}

function single(name: string, seconds: number): CriticalStep {
  return timed([{ name, seconds, megabytes: 0 }]);
}

function size(table: Readonly<Record<string, Sized>>, name: string): Sized {
  const entry = table[name];
  if (entry === undefined) throw new RangeError(`no size known of ${name}`);
  return entry;
}

/** The way to Ready of a pool as a plan prints it: what it comes to, then the steps in their order. */
export function formatCriticalPath(pool: string, path: CriticalPath): string {
  const { megabytes, reboots } = criticalPathTarget;
  const steps = path.steps.map((step) => {
    const loads = step.parts.filter((part) => part.megabytes > 0).map((part) => `${part.name} ${part.megabytes} MB`);
    return `${step.name} ${step.seconds} s${loads.length > 0 ? ` (${loads.join(", ")})` : ""}`;
  });
  return [
    `${pool}: ${path.megabytes} MB before Ready (target ${megabytes}), ${path.besideMegabytes} MB beside it, ${path.reboots} reboot (target ${reboots}), about ${Math.round(path.seconds / 60)} min by estimates; ${path.estimatedMegabytes} MB are estimates too`,
    `  ${steps.join(", then ")}`,
  ].join("\n");
}
