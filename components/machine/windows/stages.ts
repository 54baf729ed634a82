import { hasCredentials, type NodeSettings } from "../../model/nodeSettings.ts";
import type { WindowsPool } from "../../model/pools.ts";
import type { PoolAccess } from "../cloudAccess.ts";
import { fingerprint, hasUserStage, type PayloadFile } from "../payload.ts";
import { curlArguments, type WindowsArtifact, windowsArtifacts } from "./artifacts.ts";
import { ccgArtifacts, ccgData } from "./ccg.ts";
import { loginData, userScriptData } from "./logins.ts";
import { windowsPaths } from "./paths.ts";
import { networkRepairs } from "./repairs.ts";
import { containerdService, kubeletArguments, kubeletService } from "./services.ts";
import { logCollectorArtifacts, logCollectorData, windowsNetwork, windowsSystem } from "./system.ts";

export type WindowsServiceName = "kubelet" | "containerd";

/** Both services, in the order in which they are stopped: the kubelet depends on containerd. */
const nodeServices = ["kubelet", "containerd"] as const;

export interface WindowsWorkerArgs {
  readonly spec: NodeSettings;
  readonly pool: WindowsPool;
  readonly access: PoolAccess;
}

/** What a stage's fingerprint may be made of. */
interface StageSource extends WindowsWorkerArgs {
  /** The stages' sections of `machine.json`. */
  readonly sections: ReturnType<typeof stageSections>;
  readonly contents: readonly (readonly [path: string, content: string])[];
}

/** A stage of the Windows bootstrap. */
interface StageRecord<Name extends string> {
  /** In records, logs and messages. */
  readonly name: Name;
  /** Its script, named by what happens. */
  readonly script: string;
  /** Stages that must be done before; a change to one repeats this one too. */
  readonly needs?: readonly Name[];
  /** Pools whose machines have it. Default: all. */
  readonly on?: (spec: Pick<NodeSettings, "credentials">, pool: PoolSteps) => boolean;
  /** Default `once`: until its inputs change; `boot`: again at each boot, because Windows loses its effect. */
  readonly scope?: "once" | "boot";
  readonly exitCode: number;
  /** Seconds after which its process is killed; the next attempt does the rest. Default `short`. */
  readonly limitSeconds?: number;
  /** Whether it has connections, which `network` cuts when the last boot left a network: they never run together. */
  readonly connects?: boolean;
  /** Whether an image may have done it: then `image.json` has the hash of its scripts and inputs alone. */
  readonly bakes?: boolean;
  /** Whether it may request a reboot: only such a stage's process exits with 3010. */
  readonly reboots?: boolean;
  /** A stage that it waits for within the same wave: what that fetches is there before a restart of Windows. */
  readonly beside?: Name;
  /** Scripts besides its own whose change repeats the stage. */
  readonly uses?: readonly string[];
  /** Services that it changes or needs stopped: held while it runs, by one stage at a time. */
  readonly services?: readonly WindowsServiceName[];
  /** Whether it takes more from pods than services that it holds: as one with services it never runs where they may. */
  readonly takes?: boolean;
  /** Whether it comes after the kubelet's start, so that a node that was Ready is repaired while it runs. */
  readonly late?: boolean;
  /**
   * Stages that are done again when this one fails, unless pods may run: what they have made may be torn, whatever their
   * records say. One whose files are as they were verified is not.
   */
  readonly sendsBack?: readonly Name[];
  /** Data whose change repeats the stage. */
  readonly inputs: (source: StageSource) => unknown;
  /** Files in which it replaces placeholders: as long as one is left, the stage is not done. Default: none. */
  readonly fills?: (spec: NodeSettings) => readonly string[];
}

type PoolSteps = Pick<WindowsPool, "ccgPlugin" | "timeZone" | "annotations" | "beforeJoin" | "afterJoin">;

/** The sections of `machine.json` that stages read. */
export function stageSections({ spec, pool, access: { cloud } }: WindowsWorkerArgs, configs: readonly PayloadFile[]) {
  return {
    os: windowsSystem(cloud.kind, pool, spec.kubernetes.podNetwork),
    curl: curlArguments(spec),
    ...loginData(cloud, configs),
    artifacts: [...windowsArtifacts(spec), ...logCollectorArtifacts(spec), ...ccgArtifacts(spec, pool)],
    services: { containerd: containerdService(spec), kubelet: kubeletService },
    ccg: ccgData(spec, pool),
    ...userScriptData(pool),
    ...logCollectorData(spec),
    network: windowsNetwork(spec),
    kubelet: { arguments: kubeletArguments(spec, pool) },
  };
}

const fetchedBy = ({ sections }: StageSource, stage: WindowsArtifact["stage"]) =>
  sections.artifacts.filter((each) => each.stage === stage);
const logins = ({ sections: { credentials } }: StageSource) => (credentials === undefined ? {} : { credentials });

/** Limits in seconds: of a stage that downloads, installs features or waits for Ready, and of any other. */
const long = 1800;
const short = 900;

/**
 * User data unpacks the files, of which `fetch.ps1` brings most on AWS, and starts `bootstrap.ps1`; its task `run.ps1` runs
 * waves of stages, `stage.ps1` one of them.
 */
const records = [
  {
    name: "features",
    script: "install-features.ps1",
    bakes: true,
    exitCode: 21,
    limitSeconds: long,
    reboots: true,
    takes: true,
    beside: "artifacts",
    uses: ["settings.ps1"],
    inputs: ({ sections: { os } }) => [
      os.name,
      os.features,
      os.registry.filter(({ reboot }) => reboot),
      networkRepairs[os.name],
      os.servicesOff,
    ],
  },
  {
    // Beside the features: only a reboot gives the pagefile its size.
    name: "settings",
    script: "apply-settings.ps1",
    exitCode: 34,
    beside: "artifacts",
    uses: ["settings.ps1"],
    inputs: ({ sections: { os } }) => os,
  },
  {
    name: "credentials",
    script: "read-logins.ps1",
    on: ({ credentials }) => hasCredentials(credentials),
    scope: "boot",
    exitCode: 32,
    connects: true,
    uses: ["identity.ps1", "web.ps1", "sigv4.ps1"],
    inputs: (source) => [logins(source), source.contents],
  },
  {
    name: "artifacts",
    script: "fetch-artifacts.ps1",
    bakes: true,
    needs: ["credentials"],
    exitCode: 22,
    limitSeconds: long,
    connects: true,
    uses: ["fetch-files.ps1"],
    services: nodeServices,
    inputs: (source) => fetchedBy(source, "artifacts"),
  },
  {
    name: "containerd",
    script: "add-containerd.ps1",
    needs: ["features", "artifacts"],
    sendsBack: ["artifacts"],
    exitCode: 23,
    uses: ["services.ps1"],
    services: nodeServices,
    inputs: ({ sections, contents }) => [sections.services.containerd, contents],
  },
  {
    name: "proxy",
    script: "set-proxy.ps1",
    needs: ["credentials", "containerd"],
    on: ({ credentials }) => credentials.proxy,
    scope: "boot",
    exitCode: 33,
    services: nodeServices,
    inputs: logins,
  },
  {
    name: "network",
    script: "clear-network.ps1",
    needs: ["features", "settings"],
    scope: "boot",
    exitCode: 24,
    uses: ["hns.ps1", "routes.ps1"],
    services: nodeServices,
    inputs: ({ sections }) => sections.network,
  },
  {
    name: "before",
    script: "run-before-join.ps1",
    needs: ["network"],
    takes: true,
    on: (_, pool) => hasUserStage(pool, "before"),
    exitCode: 30,
    limitSeconds: long,
    connects: true,
    inputs: ({ pool }) => [pool.timeZone, pool.beforeJoin],
  },
  {
    // `publish-join-secret.sh` of Linux looks each minute at what it reads, and writes it anew after half an hour.
    name: "join",
    script: "read-join-secret.ps1",
    needs: ["network", "before"],
    scope: "boot",
    exitCode: 25,
    connects: true,
    uses: ["identity.ps1", "web.ps1", "sigv4.ps1"],
    inputs: ({ access, contents }) => [access.cloud, contents],
    fills: (spec) => [windowsPaths.kubeletConfig, spec.kubernetes.podNetwork.windows.conflistTemplate],
  },
  {
    // Before the kubelet, since the first pod may need it.
    name: "ccg",
    script: "install-ccg.ps1",
    needs: ["artifacts"],
    on: (_, { ccgPlugin }) => ccgPlugin,
    exitCode: 29,
    limitSeconds: long,
    connects: true,
    uses: ["fetch-files.ps1"],
    inputs: (source) => [source.sections.ccg, fetchedBy(source, "ccg")],
  },
  {
    // Who gets a certificate decides `components/nodeController/program/requests.py`.
    name: "services",
    script: "start-kubelet.ps1",
    needs: ["containerd", "proxy", "network", "join", "ccg"],
    sendsBack: ["artifacts", "containerd", "proxy", "join"],
    scope: "boot",
    exitCode: 26,
    connects: true,
    uses: ["services.ps1"],
    services: nodeServices,
    inputs: ({ sections }) => [sections.services.kubelet, sections.kubelet],
  },
  {
    // After the kubelet was started: the node becomes Ready without them, and usually has them by then.
    name: "programs",
    script: "fetch-programs.ps1",
    bakes: true,
    needs: ["services"],
    late: true,
    exitCode: 28,
    limitSeconds: long,
    connects: true,
    uses: ["fetch-files.ps1"],
    inputs: (source) => fetchedBy(source, "programs"),
  },
  {
    name: "ready",
    script: "wait-ready.ps1",
    needs: ["programs"],
    late: true,
    // HNS and the kubelet hang before the first Ready too, and the token expires.
    sendsBack: ["artifacts", "network", "join", "services", "programs"],
    exitCode: 27,
    limitSeconds: long,
    connects: true,
    uses: ["identity.ps1", "web.ps1", "sigv4.ps1"],
    inputs: ({ access }) => access.lifecycle ?? null,
  },
  {
    name: "after",
    script: "run-after-join.ps1",
    needs: ["ready"],
    late: true,
    on: (_, pool) => hasUserStage(pool, "after"),
    exitCode: 31,
    limitSeconds: long,
    connects: true,
    inputs: ({ pool }) => [pool.annotations, pool.afterJoin],
  },
] as const satisfies readonly StageRecord<string>[];

export type WindowsStageName = (typeof records)[number]["name"];
export type WindowsStageRule = StageRecord<WindowsStageName> &
  Required<Pick<StageRecord<WindowsStageName>, "needs" | "scope" | "limitSeconds">>;

/** The stages of a Windows node, each after those it needs. */
export const windowsStages: readonly WindowsStageRule[] = records.map((stage) => ({
  ...{ needs: [], scope: "once", limitSeconds: short },
  ...stage,
}));

/** Stages without what they need of others. */
function alone(stages: readonly WindowsStageRule[]): readonly WindowsStageRule[] {
  const names = stages.map(({ name }) => name);
  return stages.map((stage) => ({ ...stage, needs: stage.needs.filter((need) => names.includes(need)) }));
}

/** The stages of a pool's machines. */
export function stagesOf(spec: Pick<NodeSettings, "credentials">, pool: PoolSteps): readonly WindowsStageRule[] {
  return alone(windowsStages.filter(({ on }) => on?.(spec, pool) ?? true));
}

/**
 * Groups stages into waves, whose stages run in parallel: each in the first one after those it needs, one with
 * connections not in that of `network` but behind it. Of stages with a service in common one waits for the other:
 * `network` goes first, since most wait for it. One that runs `beside` another waits for that, unless nothing else is
 * left. Throws when stages need each other in a cycle.
 */
export function stageWaves(stages: readonly WindowsStageRule[]): readonly (readonly WindowsStageName[])[] {
  const waves: WindowsStageName[][] = [];
  const done = new Set<WindowsStageName>();
  while (done.size < stages.length) {
    const free = stages.filter(({ name, needs }) => !done.has(name) && needs.every((need) => done.has(need)));
    const meets = free.filter(({ beside }) => beside === undefined || free.some(({ name }) => name === beside));
    const able = meets.length > 0 ? meets : free;
    if (able.length === 0) throw new RangeError("the stages need each other in a circle");
    const cutting = able.some(isNetwork);
    const candidates = able.filter(({ connects }) => !(cutting && connects === true));
    const taken = new Set<WindowsServiceName>();
    const wave = [...candidates.filter(isNetwork), ...candidates.filter((stage) => !isNetwork(stage))].filter(
      ({ services = [] }) => {
        if (services.some((service) => taken.has(service))) return false;
        for (const service of services) taken.add(service);
        return true;
      },
    );
    waves.push(wave.map(({ name }) => name));
    for (const { name } of wave) done.add(name);
  }
  return waves;
}

function isNetwork({ name }: WindowsStageRule): boolean {
  return name === "network";
}

/** Exit codes of no stage. 3010 is Windows' "success, reboot required" (ERROR_SUCCESS_REBOOT_REQUIRED). */
export const windowsExitCodes = { reboot: 3010, accessRights: 19, rebootLoop: 20 } as const;

/** Stages of an image's making: those that it may have done, and the settings, of which the pagefile needs a reboot. */
export function bakedStages(stages: readonly WindowsStageRule[]): readonly WindowsStageRule[] {
  return alone(stages.filter(({ name, bakes }) => bakes === true || name === "settings"));
}

/**
 * A stock image needs one reboot, for the Containers feature; a third is a loop, such as an update that never settles.
 */
export const windowsReboots = { allowed: 2 } as const;

/** The stages as `machine.json` has them, each with the fingerprint of all that it depends on, other stages too. */
export function hashedStages(
  stages: readonly WindowsStageRule[],
  source: StageSource,
  script: (name: string) => string,
) {
  const hashes = new Map<WindowsStageName, string>();
  return stages.map((stage) => {
    const {
      name,
      script: file,
      needs,
      bakes,
      scope,
      exitCode,
      limitSeconds,
      uses = [],
      services = [],
      takes = false,
      late = false,
      sendsBack = [],
      reboots = false,
      inputs,
      fills,
    } = stage;
    const own = [[file, ...uses].map(script), inputs(source)];
    // Ten digits: a machine keeps few, and each is part of a payload that hardly packs.
    const hash = fingerprint([...own, needs.map((need) => hashes.get(need))]).slice(0, 10);
    hashes.set(name, hash);
    const content = bakes ? { content: fingerprint(own).slice(0, 12) } : {};
    const filled = fills?.(source.spec) ?? [];
    const facts = {
      ...(reboots && { reboots }),
      ...(takes && { takes }),
      ...(late && { late }),
      ...(sendsBack.length > 0 && { sendsBack }),
      ...(services.length > 0 && { services }),
      ...(filled.length > 0 && { fills: filled }),
    };
    return { name, script: file, scope, exitCode, limitSeconds, hash, ...content, ...facts };
  });
}
