import { cp } from "node:fs/promises";
import path from "node:path";
import { type Check, type CheckResult, needing } from "../../check/check.ts";
import type { VerifyCheck } from "../../check/cluster/probePods.ts";
import type { Paint } from "../../check/report.ts";
import { loadConfig } from "../../components/config/load.ts";
import type { StackConfig } from "../../components/config/schema.ts";
import { textOf } from "../../components/gates/values.ts";
import { clusterSpec } from "../../components/model/clusterSpec.ts";
import { messageOf } from "../../components/model/messages.ts";
import { placeOf, simulatedCloud } from "../../plan/fakes/cloud.ts";
import type { SimulatedMachine } from "../../plan/fakes/machines.ts";
import type { RecordedProgram } from "../../plan/program/recorded.ts";
import { programEntry, runProgramWithHooks } from "../../plan/program/runProgram.ts";
import type { Applied } from "../api/apply.ts";
import { bringUpChecks } from "../checks/bringUp.ts";
import type { RehearsalCheck, RehearsalTools } from "../checks/context.ts";
import { type CheckOptions, checksOfCluster, expectedPools, isUpdate } from "../checks/selection.ts";
import { CheckSession, isAsked, requireChosen, type Selection, selected } from "../checks/session.ts";
import { verifyIds, verifyRun } from "../checks/verify.ts";
import { simulateCloud } from "../clouds/clouds.ts";
import { Cluster } from "../cluster/cluster.ts";
import { ControlPlaneLab } from "../cluster/controlPlaneLab.ts";
import { buildSimulatedInfra, type DecodedMachine } from "../cluster/surroundings.ts";
import { callHook, releasesText, Updates, withPatchOf } from "../cluster/update.ts";
import { type Progress, runCommand } from "../host/command.ts";
import { shellIn } from "../host/processes.ts";
import type { PinnedImages } from "../machines/windowsMachine.ts";
import { mirrorLine, mirrorSettings, withRehearsalCa } from "./mirrorSettings.ts";
import { type Breakage, decodeMachine } from "./negativeControls.ts";

export interface RehearsalOptions extends CheckOptions, Selection {
  readonly stack: string;
  /** The stack's config as Pulumi hands it over. */
  readonly config: Readonly<Record<string, string>>;
  /** Folder of the programs that run containers. */
  readonly containers: string;
  readonly progress: Progress;
  /** Folder that the logs are copied to at the end. Default: none. */
  readonly logs: string | undefined;
  readonly breakage: Breakage | undefined;
  /** Give each check a line, and tell its notes. */
  readonly verbose: boolean;
  /** Colours of the report. */
  readonly paint: Paint;
  /** Called after the checks, before everything is taken down, so that a person can look around. */
  readonly onReady: ((view: KeptView) => Promise<void>) | undefined;
}

export interface KeptView {
  readonly kubeconfigFile: string;
  readonly kubectl: string;
  /** Names of machines to command lines of a shell there. */
  readonly shells: ReadonlyMap<string, readonly string[]>;
}

/**
 * The whole rehearsal of a stack, inside its own namespaces. The caller then ends the process, and the kernel takes
 * everything down.
 */
export async function runRehearsal(options: RehearsalOptions): Promise<readonly CheckResult[]> {
  const world = await makeWorld(await runTheProgram(options), options);
  const results = await checkWorld(world, options);
  const isUp = !results.some(({ id, outcome }) => id === "control plane" && outcome === "failed");
  await lookBack(world, options, isUp);
  return results;
}

/** The stack's program, run for a simulated cloud. */
async function runTheProgram({ programs, progress, ...options }: RehearsalOptions) {
  const { stack, updateFrom } = options;
  const patched = withPatchOf(options.config, programs, progress);
  const own = withRehearsalCa(patched);
  const config = own?.config ?? patched;
  const stackConfig = loadConfig(config);
  const simulate = simulatedCloud(placeOf(config), "real");
  const { program, hooks } = await runProgramWithHooks({
    entry: updateFrom === undefined ? programEntry : path.join(updateFrom, "index.ts"),
    stack,
    config,
    mode: "known-outputs",
    simulate,
  });
  progress.line(`program: ${program.resources.length} resources registered, outputs simulated`);
  return { config, stackConfig, authority: own?.authority, simulate, program, hooks };
}

type Surroundings = Pick<
  RehearsalOptions,
  "stack" | "progress" | "workFolder" | "programs" | "breakage" | "updateTo" | "updateFrom" | "containers"
>;

/** Its machines, none of them started, and all that they reach. */
export async function makeWorld(ran: Awaited<ReturnType<typeof runTheProgram>>, options: Surroundings) {
  const { config, stackConfig, simulate, program, hooks } = ran;
  const { stack, progress, workFolder, programs, breakage, updateTo, updateFrom } = options;
  const spec = clusterSpec(stackConfig);
  const cloud = simulateCloud(program, spec);
  const decode = (machine: SimulatedMachine): DecodedMachine => decodeMachine(machine, cloud, breakage?.payload);
  const decoded = cloud.machines.map(decode);
  const updates = new Updates({ stack, config, entry: programEntry, program, simulate, cloud, decode, progress });
  if (updateFrom !== undefined) progress.line("this is the cluster of the older program; this one updates it");
  const next = updateTo ?? (updateFrom === undefined ? undefined : options);
  // The simulated publishers have what these machines download too.
  const coming = next === undefined ? [] : (await updates.begin(next)).machines;
  progress.line(
    `machines: ${decoded.map(({ machine }) => machine.name).join(", ")}; from here on only their user data and the simulated stores are read`,
  );
  const settings = await mirrorSettings({ stack, config }, stackConfig, ran.authority, breakage?.mirror);
  const infra = await buildSimulatedInfra(cloud, [...decoded, ...coming], spec.network.cidrs, workFolder, settings);
  progress.line("network, metadata service, TLS endpoints, load balancers and artifact server are up (simulated)");
  if (infra.mirror !== undefined) progress.line(mirrorLine(infra.mirror));
  const kubeconfig = kubeconfigOf(program);
  const { containers } = options;
  const pinned = pinnedImages(stackConfig);
  const parts = { cloud, infra, programs, containers, progress, workFolder, kubeconfig, pinnedImages: pinned };
  const cluster = new Cluster(parts);
  const controlPlane = decoded.filter(({ machine }) => machine.group === undefined);
  return {
    ...{ program, hooks, cloud, infra, decoded, controlPlane, updates, kubeconfig, cluster },
    lab: new ControlPlaneLab(cluster, controlPlane),
    pools: expectedPools(stackConfig),
    addons: stackConfig.addons,
    passGate: async (name: string, kept?: unknown): Promise<void> => {
      await callHook({ program, hooks }, name, kept);
      progress.line(`gate ${name}: open`);
    },
  };
}

type World = Awaited<ReturnType<typeof makeWorld>>;

/** The provider's: the one for people has its rights only by an object that it makes. */
function kubeconfigOf({ resources }: RecordedProgram): string {
  const kubeconfig = textOf(resources.find(({ type }) => type === "pulumi:providers:kubernetes")?.inputs.kubeconfig);
  if (kubeconfig === undefined) throw new Error("the program makes no kubeconfig");
  return kubeconfig;
}

/** Brings the cluster up, and asks it what is to be asked. */
async function checkWorld(world: World, options: RehearsalOptions): Promise<readonly CheckResult[]> {
  let applied: Applied = { refused: [], warnings: [] };
  const { nodes, rest, inForce } = bringUpOf(world, (result) => {
    applied = result;
  });
  const lists = checksOfCluster({ ...world, options });
  const verify = isUpdate(options) ? [] : verifyIds(world.pools, world.addons);
  const every = [...nodes, ...rest, ...lists.registration, ...lists.readOnly, ...lists.concurrent, ...lists.disruptive];
  const count = requireChosen(options, [...every, ...verify]);
  const session = new CheckSession(options.progress, options.paint, count, options.verbose);
  const isShown = (result: CheckResult) => isAsked(result, options) || result.outcome === "failed";
  const after = (steps: readonly Pick<Check, "id">[], checks: readonly RehearsalCheck[]) =>
    selected(needing(idsOf(steps), checks), options);
  const broughtUp = [...nodes, ...rest];

  await session.run(nodes, {}, { isShown });
  const working = session.run(rest, {}, { isShown });
  const { registration } = lists;
  await session.run(after(nodes, registration), toolsOf(world, applied), { fold: "the pools", atOnce: 4 });
  // Pods may come before the gates of pools have opened. What fails the check of the program tells.
  await Promise.race([inForce().catch(() => working), working]);
  const asks = verify.some((check) => isAsked(check, options)) && session.allPassed(idsOf([...nodes, ...registration]));
  const { asked, ended } = asks ? await askVerify(session, world, options, working, idsOf(broughtUp)) : {};
  await working;
  const context = toolsOf(world, applied);
  // They mostly wait for pods.
  await session.run(after(broughtUp, lists.readOnly), context, { fold: "the cluster", atOnce: 4 });
  // Verify would see a request that was denied.
  const isSeen = ({ id }: RehearsalCheck) => id === "names of nodes";
  const hostile = (of: boolean) =>
    session.run(
      after(
        broughtUp,
        lists.concurrent.filter((check) => isSeen(check) === of),
      ),
      context,
      { fold: "a hostile worker" },
    );
  await Promise.all([asked, hostile(false)]);
  await Promise.all([ended, hostile(true)]);
  await session.run(after(broughtUp, lists.disruptive), context);
  return session.results;
}

const idsOf = (checks: readonly Pick<Check, "id">[]): readonly string[] => checks.map(({ id }) => id);

/**
 * Begins what verify asks: of the stack's own objects and workloads once the program is worked off.
 * @returns its end, and that of the namespace that its checks work in, for which a controller-manager waits 5 seconds
 */
async function askVerify(
  session: CheckSession,
  { kubeconfig, pools }: World,
  options: RehearsalOptions,
  working: Promise<unknown>,
  broughtUp: readonly string[],
) {
  const { checks, tools, end } = await verifyRun(kubeconfig, pools);
  const fold = "what verify asks of a cluster";
  // They need no namespace, and may have to wait.
  const isOfStack = ({ id }: VerifyCheck) => /^(objects|workloads|machines|nodes\/.*)$/.test(id);
  const part = (of: boolean): readonly VerifyCheck[] =>
    selected(
      checks.filter((check) => isOfStack(check) === of),
      options,
    );
  const others = session.run(part(false), tools, { fold, atOnce: 8 });
  const ofStack = working.then(() =>
    session.run(needing(broughtUp, part(true)), tools, { fold: `${fold}, of the stack's own`, atOnce: 3 }),
  );
  return { asked: Promise.all([others, ofStack]), ended: others.then(() => session.run(selected([end], options), {})) };
}

function bringUpOf(world: World, onApplied: (result: Applied) => void) {
  const { mirror } = world.infra;
  return bringUpChecks({
    ...world,
    workers: world.decoded.filter(({ machine }) => machine.group !== undefined),
    // A file that the mirror lacks ends the wait for what cannot come.
    unlessLacking: async (waiting) => await (mirror === undefined ? waiting : Promise.race([waiting, mirror.lacks])),
    onApplied,
  });
}

function toolsOf({ cluster, cloud, ...world }: World, applied: Applied): RehearsalTools {
  return {
    callsOfBoot: [...cloud.calls],
    refusedObjects: applied.refused,
    warnings: applied.warnings,
    api: cluster.api,
    kubectl: cluster.kubectl,
    pools: world.pools,
    registered: cluster.registered,
    cloud,
    // The machines of now: checks replace some.
    get linuxWorkers() {
      return cloud.machines.flatMap(({ id, group }) => (group !== undefined && cluster.machines.has(id) ? [id] : []));
    },
    passGate: world.passGate,
  };
}

/** What is left for people: logs, the nodes, shells. */
async function lookBack({ cluster }: World, options: RehearsalOptions, isUp: boolean): Promise<void> {
  const { programs, progress, updateTo, workFolder } = options;
  if (options.logs !== undefined) await keepLogs(cluster, workFolder, options.logs);
  if (isUp) progress.line(await nodesOf(cluster, programs.kubectl.path));
  progress.line(releasesText([programs, ...(updateTo === undefined ? [] : [updateTo.programs])]));
  const shells = new Map([...cluster.machines.values()].map(({ name, machine }) => [name, shellIn(machine)]));
  await options.onReady?.({ kubeconfigFile: cluster.kubeconfigFile, kubectl: programs.kubectl.path, shells });
}

function pinnedImages({ pools }: StackConfig): PinnedImages {
  return new Map(pools.map(({ image, os }) => [image, os.replace("windows-", "")]));
}

/** The nodes as people see them, or why not: the rehearsal may have broken the cluster. */
async function nodesOf({ kubeconfigFile }: Cluster, kubectl: string): Promise<string> {
  const columns = "kubernetes.io/os,fenestra.dev/pool,topology.kubernetes.io/zone";
  const look = ["--request-timeout=10s", "get", "nodes", "--output=wide", `--label-columns=${columns}`];
  // kubectl asks a control plane that is away five times.
  const answer = runCommand([kubectl, "--kubeconfig", kubeconfigFile, ...look], { timeoutMs: 10_000 });
  return await answer.then(({ stdout, stderr }) => (stdout || stderr).trimEnd(), messageOf);
}

/**
 * Copies the logs that would go with the rehearsal: of units and commands, also of machines that are gone, and
 * `/var/log` of running Linux machines, with their pods' logs and the audit log.
 */
async function keepLogs(cluster: Cluster, workFolder: string, folder: string): Promise<void> {
  await cp(path.join(workFolder, "logs"), folder, { recursive: true });
  for (const { name, machine } of cluster.machines.values())
    await cp(`/proc/${machine.pid}/root/var/log`, path.join(folder, name, "var-log"), {
      recursive: true,
      // Links lead into the machine.
      verbatimSymlinks: true,
    });
}
