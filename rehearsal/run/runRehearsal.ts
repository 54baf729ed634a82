import { cp } from "node:fs/promises";
import path from "node:path";
import { type CheckResult, needing } from "../../check/check.ts";
import type { Paint } from "../../check/report.ts";
import { loadConfig } from "../../components/config/load.ts";
import type { StackConfig } from "../../components/config/schema.ts";
import { textOf } from "../../components/gates/resources.ts";
import { clusterSpec } from "../../components/model/clusterSpec.ts";
import { placeOf, simulatedCloud } from "../../plan/fakes/cloud.ts";
import type { SimulatedMachine } from "../../plan/fakes/machines.ts";
import { runProgramWithHooks } from "../../plan/program/runProgram.ts";
import type { Applied } from "../api/apply.ts";
import { apiFor } from "../api/client.ts";
import { bringUpChecks } from "../checks/bringUp.ts";
import type { RehearsalCheck, RehearsalTools } from "../checks/context.ts";
import { type CheckOptions, checksOfCluster, expectedPools, isUpdate } from "../checks/selection.ts";
import { CheckSession, isAsked, requireChosen, type Selection, selected } from "../checks/session.ts";
import { verifyIds, verifyRun } from "../checks/verify.ts";
import { simulateCloud } from "../clouds/clouds.ts";
import { buildSimulatedInfra, type DecodedMachine } from "../cluster/bringUp.ts";
import { Cluster } from "../cluster/cluster.ts";
import { ControlPlaneLab } from "../cluster/controlPlaneLab.ts";
import { callHook } from "../cluster/hooks.ts";
import { creators } from "../cluster/inspect.ts";
import { releasesText, Updates, withPatchOf } from "../cluster/update.ts";
import { runCommand } from "../host/command.ts";
import { shellIn } from "../host/processes.ts";
import type { Progress } from "../host/progress.ts";
import type { PinnedImages } from "../machines/windowsNode.ts";
import { type Breakage, decodeMachine, withPlatform } from "./breakage.ts";
import { mirrorLine, mirrorSettings, withRehearsalCa } from "./mirrorSettings.ts";

export interface RehearsalOptions extends CheckOptions, Selection {
  readonly stack: string;
  /** The stack's config as Pulumi hands it over. */
  readonly config: Readonly<Record<string, string>>;
  /** Path of the rehearsal's own container runtime. */
  readonly containerRuntime: string;
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

const entry = path.join(import.meta.dirname, "../../index.ts");

/**
 * The whole rehearsal of a stack, inside its own namespaces. The caller then ends the process, and the kernel takes
 * everything down.
 */
export async function runRehearsal(options: RehearsalOptions): Promise<readonly CheckResult[]> {
  const { progress, workFolder, programs, stack } = options;
  const patched = withPatchOf(options.config, programs, progress);
  const own = withRehearsalCa(patched);
  const config = own?.config ?? patched;
  const stackConfig = loadConfig(config);
  const spec = clusterSpec(stackConfig);
  const simulate = simulatedCloud(placeOf(config), "real");
  const { program, hooks } = await runProgramWithHooks({
    entry: options.updateFrom === undefined ? entry : path.join(options.updateFrom, "index.ts"),
    stack,
    config,
    mode: "known-outputs",
    simulate,
  });
  progress.line(`program: ${program.resources.length} resources registered, outputs simulated`);
  const cloud = withPlatform(simulateCloud(program, spec), options.breakage?.platform);
  const decodeOne = (machine: SimulatedMachine): DecodedMachine =>
    decodeMachine(machine, cloud, options.breakage?.payload);
  const decoded = cloud.machines.map(decodeOne);
  const updates = new Updates({ stack, config, entry, program, simulate, cloud, decode: decodeOne, progress });
  const { updateTo, updateFrom } = options;
  if (updateFrom !== undefined) progress.line("this is the cluster of the older program; this one updates it");
  const next = updateTo ?? (updateFrom === undefined ? undefined : options);
  // The simulated publishers have what these machines download too.
  const coming = next === undefined ? [] : (await updates.begin(next)).machines;
  progress.line(
    `machines: ${decoded.map(({ machine }) => machine.name).join(", ")}; from here on only their user data and the simulated stores are read`,
  );

  const settings = await mirrorSettings(
    { entry, stack, config },
    stackConfig,
    own?.authority,
    options.breakage?.mirror,
  );
  const infra = await buildSimulatedInfra(cloud, [...decoded, ...coming], spec.network.cidrs, workFolder, settings);
  const { mirror } = infra;
  progress.line("network, metadata service, TLS endpoints, load balancers and artifact server are up (simulated)");
  if (mirror !== undefined) progress.line(mirrorLine(mirror));
  /** A file that the mirror lacks ends the wait for what cannot come. */
  const unlessLacking = async <T>(waiting: Promise<T>): Promise<T> =>
    await (mirror === undefined ? waiting : Promise.race([waiting, mirror.lacks]));
  // The provider's kubeconfig makes the objects; the one for people has its rights only by one of them.
  const kubeconfig = textOf(
    program.resources.find(({ type }) => type === "pulumi:providers:kubernetes")?.inputs.kubeconfig,
  );
  const people = textOf(program.outputs.kubeconfig);
  if (kubeconfig === undefined || people === undefined) throw new Error("the program makes no kubeconfig");
  const cluster = new Cluster({
    cloud,
    infra,
    programs,
    containerRuntime: options.containerRuntime,
    progress,
    workFolder,
    kubeconfig,
    pinnedImages: pinnedImages(stackConfig),
  });
  const controlPlane = decoded.filter(({ machine }) => machine.group === undefined);
  const workers = decoded.filter(({ machine }) => machine.group !== undefined);
  const lab = new ControlPlaneLab(cluster, controlPlane);
  const pools = expectedPools(stackConfig);
  const passGate = async (name: string, kept?: unknown): Promise<void> => {
    await callHook({ program, hooks }, name, kept);
    progress.line(`gate ${name}: open`);
  };
  let applied: Applied = { refused: [], warnings: [] };
  const bringUp = bringUpChecks({
    cluster,
    program,
    controlPlane,
    workers,
    passGate,
    unlessLacking,
    progress,
    onApplied: (result) => {
      applied = result;
    },
  });
  const broughtUp = bringUp.map(({ id }) => id);
  const parts = { options, program, infra, decoded, cluster, lab, pools, updates, kubeconfig };
  const lists = checksOfCluster(parts);
  const ofCluster = (checks: readonly RehearsalCheck[]) => selected(needing(broughtUp, checks), options);
  const [readOnly, disruptive] = [ofCluster(lists.readOnly), ofCluster(lists.disruptive)];
  const concurrent = ofCluster(lists.concurrent);
  const ids = isUpdate(options) ? [] : verifyIds(pools);
  requireChosen(options, [...bringUp, ...lists.readOnly, ...ids, ...lists.concurrent, ...lists.disruptive]);
  const asked = bringUp.filter((check) => isAsked(check, options));
  const asksVerify = ids.some((check) => isAsked(check, options));
  const all = [...asked, ...readOnly, ...(asksVerify ? ids : []), ...concurrent, ...disruptive];
  const session = new CheckSession(progress, options.paint, all.length, options.verbose);
  await session.run(bringUp, {}, { isShown: (result) => isAsked(result, options) || result.outcome === "failed" });
  const context: RehearsalTools = {
    creators: await creators(cluster),
    callsOfBoot: [...cloud.calls],
    refusedObjects: applied.refused,
    warnings: applied.warnings,
    api: cluster.api,
    namespace: "default",
    waitingImage: "registry.example.test/app:1.0",
    kubectl: cluster.kubectl,
    pools,
    registered: cluster.registered,
    cloud,
    // The machines of now: checks replace some.
    get linuxWorkers() {
      return cloud.machines.flatMap(({ id, group }) => (group !== undefined && cluster.machines.has(id) ? [id] : []));
    },
    passGate,
    peoplesApi: apiFor(people),
  };
  const concurrentRun = session.run(concurrent, context, { fold: "a hostile worker" });
  // They mostly wait for pods.
  await session.run(readOnly, context, { fold: "the cluster", atOnce: 4 });
  if (asksVerify && session.allPassed(broughtUp)) {
    const { checks, tools, end } = await verifyRun(kubeconfig, pools);
    await session.run(selected(checks, options), tools, { fold: "what verify asks of a cluster", atOnce: 4 });
    await session.run(selected([end], options), {});
  }
  await concurrentRun;
  await session.run(disruptive, context);
  if (options.logs !== undefined) await keepLogs(cluster, workFolder, options.logs);
  // A rehearsal may end with a broken cluster.
  const columns = "kubernetes.io/os,fenestra.dev/pool,topology.kubernetes.io/zone";
  const look = ["--kubeconfig", cluster.kubeconfigFile, "--request-timeout=10s", "get", "nodes", "--output=wide"];
  const { stdout, stderr } = await runCommand([programs.kubectl.path, ...look, `--label-columns=${columns}`]);
  progress.line((stdout || stderr).trimEnd());
  progress.line(releasesText([programs, ...(updateTo === undefined ? [] : [updateTo.programs])]));
  const shells = new Map([...cluster.machines.values()].map(({ name, machine }) => [name, shellIn(machine)]));
  await options.onReady?.({ kubeconfigFile: cluster.kubeconfigFile, kubectl: programs.kubectl.path, shells });
  return session.results;
}

function pinnedImages({ pools }: StackConfig): PinnedImages {
  return new Map(pools.map(({ image, os }) => [image, os.replace("windows-", "")]));
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
