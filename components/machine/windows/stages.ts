import { hasCredentials } from "../../model/credentials.ts";
import type { NodeSettings } from "../../model/nodeSettings.ts";
import type { WindowsPool } from "../../model/pools.ts";
import { fingerprint } from "../fingerprint.ts";
import { hasOwnStage } from "../ownSteps.ts";

/** Name of a stage of the Windows bootstrap; its script is `stage-<name>.ps1`. */
export type WindowsStageName =
  | "os"
  | "credentials"
  | "artifacts"
  | "containerd"
  | "proxy"
  | "network"
  | "before"
  | "join"
  | "ccg"
  | "services"
  | "programs"
  | "ready"
  | "after";

/** Service of a Windows node that Fenestra registers. */
export type WindowsServiceName = "kubelet" | "containerd";

/** Both services, in the order in which they are stopped: the kubelet depends on containerd. */
const nodeServices = ["kubelet", "containerd"] as const;

/** Properties of a stage that are the same on every machine. */
export interface WindowsStageRule {
  readonly name: WindowsStageName;
  /** Stages that must be done before; a change to one repeats this one too. */
  readonly needs: readonly WindowsStageName[];
  /** `once`: until its inputs change; `boot`: again at each boot, because Windows loses its effect. */
  readonly scope: "once" | "boot";
  /** Exit code when the stage fails. */
  readonly exitCode: number;
  /** Timeout in seconds: its process is killed, and the next attempt does the rest. */
  readonly limitSeconds: number;
  /** Whether it holds open connections: such a stage never runs beside `network`, which cuts them all when the last boot left a network. */
  readonly connects: boolean;
  /** Whether it may request a reboot: only such a stage's process exits with 3010. */
  readonly reboots: boolean;
  /** Scripts besides its own whose change repeats the stage. */
  readonly uses: readonly string[];
  /** Services that it changes or needs stopped: they are held while it runs, and no two stages hold the same one at the same time. */
  readonly services: readonly WindowsServiceName[];
}

/** Limits in seconds: of a stage that downloads, installs features or waits for Ready, and of any other. */
const long = 1800;
const short = 900;

/** The stages of a Windows node, each after those it needs. */
export const windowsStages: readonly WindowsStageRule[] = [
  {
    name: "os",
    needs: [],
    scope: "once",
    exitCode: 21,
    limitSeconds: long,
    connects: false,
    reboots: true,
    uses: [],
    services: [],
  },
  {
    // Only where something that is fetched wants a login, see `stagesOf`.
    name: "credentials",
    needs: [],
    scope: "boot",
    exitCode: 32,
    limitSeconds: short,
    connects: true,
    reboots: false,
    uses: ["identity.ps1", "sigv4.ps1"],
    services: [],
  },
  {
    name: "artifacts",
    needs: ["credentials"],
    scope: "once",
    exitCode: 22,
    limitSeconds: long,
    connects: true,
    reboots: false,
    uses: ["download.ps1"],
    services: nodeServices,
  },
  {
    name: "containerd",
    needs: ["os", "artifacts"],
    scope: "once",
    exitCode: 23,
    limitSeconds: short,
    connects: false,
    reboots: false,
    uses: ["services.ps1"],
    services: nodeServices,
  },
  {
    // Only where the proxy wants a login.
    name: "proxy",
    needs: ["credentials", "containerd"],
    scope: "boot",
    exitCode: 33,
    limitSeconds: short,
    connects: false,
    reboots: false,
    uses: [],
    services: nodeServices,
  },
  {
    name: "network",
    needs: ["os"],
    scope: "boot",
    exitCode: 24,
    limitSeconds: short,
    connects: false,
    reboots: false,
    uses: ["hns.ps1", "routes.ps1"],
    services: nodeServices,
  },
  {
    // The user's own steps, only on pools that ask for them, like `after`.
    name: "before",
    needs: ["network"],
    scope: "once",
    exitCode: 30,
    limitSeconds: long,
    connects: true,
    reboots: false,
    uses: [],
    services: [],
  },
  {
    name: "join",
    needs: ["network", "before"],
    scope: "boot",
    exitCode: 25,
    limitSeconds: short,
    connects: true,
    reboots: false,
    uses: ["identity.ps1", "sigv4.ps1"],
    services: [],
  },
  {
    // Only on pools that request it, see `stagesOf`. Before the kubelet, since the first pod may need it.
    name: "ccg",
    needs: ["artifacts"],
    scope: "once",
    exitCode: 29,
    limitSeconds: long,
    connects: true,
    reboots: false,
    uses: ["download.ps1"],
    services: [],
  },
  {
    name: "services",
    needs: ["containerd", "proxy", "network", "join", "ccg"],
    scope: "boot",
    exitCode: 26,
    limitSeconds: short,
    connects: true,
    reboots: false,
    uses: ["services.ps1"],
    services: nodeServices,
  },
  {
    // After the kubelet was started: the node becomes Ready without them, and usually has them by then.
    name: "programs",
    needs: ["services"],
    scope: "once",
    exitCode: 28,
    limitSeconds: long,
    connects: true,
    reboots: false,
    uses: ["download.ps1"],
    services: [],
  },
  {
    name: "ready",
    needs: ["programs"],
    scope: "once",
    exitCode: 27,
    limitSeconds: long,
    connects: true,
    reboots: false,
    uses: ["identity.ps1", "sigv4.ps1"],
    services: [],
  },
  {
    name: "after",
    needs: ["ready"],
    scope: "once",
    exitCode: 31,
    limitSeconds: long,
    connects: true,
    reboots: false,
    uses: ["identity.ps1"],
    services: [],
  },
];

/** The stages of a pool's machines: those that only some need are left out where nothing is requested of them. */
export function stagesOf(
  { credentials }: Pick<NodeSettings, "credentials">,
  pool: Pick<WindowsPool, "ccgPlugin" | "timeZone" | "annotations" | "beforeJoin" | "afterJoin">,
): readonly WindowsStageRule[] {
  const left = windowsStages.filter(({ name }) => {
    switch (name) {
      case "ccg":
        return pool.ccgPlugin;
      case "before":
      case "after":
        return hasOwnStage(pool, name);
      case "credentials":
        return hasCredentials(credentials);
      case "proxy":
        return credentials.proxy;
      default:
        return true;
    }
  });
  const names = left.map(({ name }) => name);
  return left.map((stage) => ({ ...stage, needs: stage.needs.filter((need) => names.includes(need)) }));
}

/** Exit codes not specific to a stage. 3010 is Windows' "success, reboot required" (ERROR_SUCCESS_REBOOT_REQUIRED). */
export const windowsExitCodes = { done: 0, reboot: 3010, accessRights: 19, rebootLoop: 20 } as const;

/**
 * Reboots. A stock image needs one, for the Containers feature; a third request after two is a loop, for example a pending update that
 * never settles.
 */
export const windowsReboots = { expected: 1, allowed: 2 } as const;

/**
 * Groups stages into waves: a stage is in the first wave after those it needs, and the stages of a wave run in parallel. A stage that holds
 * connections is moved after `network` when the two would share a wave, and of stages with a service in common one waits for the other:
 * `network` goes first, since most wait for it. Throws when the stages depend on each other in a cycle.
 */
export function stageWaves(stages: readonly WindowsStageRule[]): readonly (readonly WindowsStageName[])[] {
  const waves: WindowsStageName[][] = [];
  const done = new Set<WindowsStageName>();
  while (done.size < stages.length) {
    const able = stages.filter(({ name, needs }) => !done.has(name) && needs.every((need) => done.has(need)));
    if (able.length === 0) throw new RangeError("the stages need each other in a circle");
    const cutting = able.some(isNetwork);
    const candidates = able.filter(({ connects }) => !(cutting && connects));
    const taken = new Set<WindowsServiceName>();
    const wave = [...candidates.filter(isNetwork), ...candidates.filter((stage) => !isNetwork(stage))].filter(({ services }) => {
      if (services.some((service) => taken.has(service))) return false;
      for (const service of services) taken.add(service);
      return true;
    });
    waves.push(wave.map(({ name }) => name));
    for (const { name } of wave) done.add(name);
  }
  return waves;
}

function isNetwork({ name }: WindowsStageRule): boolean {
  return name === "network";
}

/** Seconds between attempts: doubled each time up to the cap, which then repeats indefinitely. */
export function pauseSeconds(first: number, cap: number): readonly number[] {
  const pauses: number[] = [];
  for (let pause = first; pause < cap; pause *= 2) pauses.push(pause);
  return [...pauses, cap];
}

/** A stage as `machine.json` names it. */
export interface WindowsStage {
  readonly name: WindowsStageName;
  readonly scope: "once" | "boot";
  readonly exitCode: number;
  readonly limitSeconds: number;
  /** Fingerprint of everything that the stage depends on, the fingerprints of the stages it needs included. */
  readonly hash: string;
  /** Files in which the stage replaces placeholders: as long as one is left, the stage is not done. */
  readonly fills: readonly string[];
  /** Services that are held while the stage runs. */
  readonly services: readonly WindowsServiceName[];
}

/** Stage-specific dependencies: its section of the data, and the files it fills in. */
export interface StageInputs {
  readonly inputs: unknown;
  readonly fills?: readonly string[];
}

/** The stages with their fingerprints, in the order of `windowsStages`. */
export function hashedStages(
  data: Readonly<Record<WindowsStageName, StageInputs>>,
  script: (name: string) => string,
  stages: readonly WindowsStageRule[] = windowsStages,
): readonly WindowsStage[] {
  const hashes = new Map<WindowsStageName, string>();
  return stages.map(({ name, needs, scope, exitCode, limitSeconds, uses, services }) => {
    const hash = fingerprint([[`stage-${name}.ps1`, ...uses].map(script), needs.map((need) => hashes.get(need)), data[name].inputs]);
    hashes.set(name, hash);
    return { name, scope, exitCode, limitSeconds, hash, fills: data[name].fills ?? [], services };
  });
}
