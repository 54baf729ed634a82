import { loadConfig } from "../../components/config/load.ts";
import { skipVariable } from "../../components/gates/startGate.ts";
import { reveal } from "../../components/gates/values.ts";
import { messageOf } from "../../components/model/messages.ts";
import type { SimulatedMachine } from "../../plan/fakes/machines.ts";
import type { RecordedHook, SimulatedCloud } from "../../plan/program/engine.ts";
import type { RecordedProgram, RecordedResource } from "../../plan/program/recorded.ts";
import { runProgramWithHooks } from "../../plan/program/runProgram.ts";
import { type Fate, fateOf, nextUpdate } from "../../plan/providers/nextUpdate.ts";
import { applyObject, depths, isKubernetesObject, objectOf, plainValue, takesFields } from "../api/apply.ts";
import { isReady } from "../api/client.ts";
import type { CloudSimulation } from "../clouds/cloud.ts";
import { limitsMs, type Progress } from "../host/command.ts";
import { waitFor } from "../host/processes.ts";
import { takeFromKwok } from "../machines/kwok.ts";
import type { ProgramName } from "../programs/catalog.ts";
import type { Programs } from "../programs/obtain.ts";
import type { Cluster, Release } from "./cluster.ts";
import type { ControlPlaneLab } from "./controlPlaneLab.ts";
import type { DecodedMachine } from "./surroundings.ts";

type Config = Readonly<Record<string, string>>;

interface UpdateParts {
  readonly stack: string;
  /** The stack's config in the first update. */
  readonly config: Config;
  /** Absolute path of the program's entry. */
  readonly entry: string;
  /** What the first update registered. */
  readonly program: RecordedProgram;
  readonly simulate: SimulatedCloud;
  readonly cloud: CloudSimulation;
  readonly decode: (machine: SimulatedMachine) => DecodedMachine;
  readonly progress: Progress;
}

/**
 * Further updates of a stack: the program runs again with another release, from the state that the updates before have
 * reached.
 */
export class Updates {
  readonly #parts: UpdateParts;
  readonly #state: Map<string, RecordedResource>;

  constructor(parts: UpdateParts) {
    this.#parts = parts;
    this.#state = new Map(parts.program.resources.map((resource) => [resource.urn, resource]));
  }

  /** Runs the program for a release; nothing happens to the cluster yet. */
  async begin(release: Release): Promise<Update> {
    const { stack, config, entry, simulate, cloud, decode } = this.#parts;
    const { program, hooks } = await runProgramWithHooks({
      entry,
      stack,
      config: withRelease(config, release.programs["kube-apiserver"].version),
      mode: "known-outputs",
      simulate: nextUpdate(simulate, this.#state),
    });
    const machines = cloud.update(program).map(decode);
    return new Update({ ...this.#parts, program, hooks, machines, release, state: this.#state });
  }
}

interface Prepared extends UpdateParts {
  readonly hooks: ReadonlyMap<string, RecordedHook>;
  /** The machines that the program asks for. */
  readonly machines: readonly DecodedMachine[];
  readonly release: Release;
  /** Is kept up to date as the update goes on. */
  readonly state: Map<string, RecordedResource>;
}

/**
 * One update, as the engine carries it out: what has changed, in the order of the program's dependencies
 * (pulumi/pulumi: pkg/resource/deploy). A gate's hook is asked before the gate; a control-plane machine is deleted
 * before its successor is made; a group replaces its machines one by one, the new one first, as an instance refresh
 * with 100 percent healthy and a rolling upgrade with surge do.
 */
export class Update {
  readonly #of: Prepared;
  readonly #asked: ReadonlyMap<string, RecordedResource>;
  readonly #depths: ReadonlyMap<string, number>;
  readonly #layers: (readonly RecordedResource[])[];

  constructor(of: Prepared) {
    this.#of = of;
    this.#asked = new Map(of.program.resources.map((resource) => [resource.urn, resource]));
    const isStep = (resource: RecordedResource) => this.#carryOut(resource) !== undefined;
    this.#depths = depths(of.program, isStep);
    const steps = Map.groupBy(of.program.resources.filter(isStep), ({ urn }) => this.#depths.get(urn) ?? 0);
    this.#layers = [...steps].sort(([a], [b]) => a - b).map(([, layer]) => layer);
  }

  get machines(): readonly DecodedMachine[] {
    return this.#of.machines;
  }

  /** Names of the steps that are left, in order. */
  get steps(): readonly string[] {
    return this.#layers.flat().map(({ name }) => name);
  }

  /** @param until name of the resource to stop behind, as if the update had failed there. Default: to the end. */
  async run(cluster: Cluster, lab: ControlPlaneLab, until?: string): Promise<void> {
    const { release, program, state } = this.#of;
    cluster.useRelease(release);
    for (let layer = this.#layers.shift(); layer !== undefined; layer = this.#layers.shift()) {
      await Promise.all(layer.map((resource) => this.#carryOut(resource)?.(cluster, lab)));
      const reached = Math.max(...layer.map(({ urn }) => this.#depths.get(urn) ?? 0));
      const done = this.#layers.length === 0 ? Number.POSITIVE_INFINITY : reached;
      for (const resource of program.resources)
        if ((this.#depths.get(resource.urn) ?? 0) <= done) state.set(resource.urn, resource);
      if (layer.some(({ name }) => name === until)) return;
    }
    await this.#deleteOthers(cluster);
    this.#of.cloud.endUpdate();
    if (until !== undefined) throw new Error(`the update has no step ${until}`);
  }

  /** Deletes the objects that the program no longer asks for, as the engine does at the end. */
  async #deleteOthers({ kubectl }: Cluster): Promise<void> {
    const { program, state, progress } = this.#of;
    const asked = new Set(program.resources.map(({ urn }) => urn));
    for (const [urn, resource] of [...state].reverse()) {
      if (asked.has(urn)) continue;
      state.delete(urn);
      if (!isKubernetesObject(resource)) continue;
      const { code, stderr } = await kubectl(
        ["delete", "--ignore-not-found", "--wait=false", "--filename", "-"],
        JSON.stringify(objectOf(resource)),
      );
      if (code !== 0) throw new Error(`${resource.name} cannot be deleted: ${stderr.trim()}`);
      progress.line(`update: ${resource.name} is deleted`);
    }
  }

  #carryOut(resource: RecordedResource): ((cluster: Cluster, lab: ControlPlaneLab) => Promise<void>) | undefined {
    const { state, cloud, machines, progress } = this.#of;
    const old = state.get(resource.urn);
    const fate: Fate | "new" = old === undefined ? "new" : fateOf(resource.urn, state, this.#asked);
    if (!resource.custom || fate === "stays") return undefined;
    if (isKubernetesObject(resource)) return (cluster) => apply(resource, cluster, takesFields(this.#of.program));
    const running = cloud.machines.filter(({ urn }) => urn === resource.urn);
    const wanted = machines.filter(({ machine }) => machine.urn === resource.urn);
    const [successor] = wanted;
    if (successor !== undefined && successor.machine.group === undefined) {
      if (fate !== "replaced") return undefined;
      return async (_, lab) => {
        progress.line(`update: ${resource.name} is replaced`);
        await lab.replaceBy(successor);
      };
    }
    if (running.length + wanted.length > 0) return (cluster) => rollGroup(running, wanted, cloud, cluster, progress);
    const hooks = resource.options.hooks[fate === "new" ? "beforeCreate" : "beforeUpdate"] ?? [];
    if (resource.type !== "pulumi:index:Stash" || hooks.length === 0) return undefined;
    const kept = old?.inputs.input === undefined ? undefined : plainValue(old.inputs.input, resource.name);
    return async () => {
      for (const hook of hooks) await callHook(this.#of, hook, kept);
      progress.line(`update: gate ${resource.name}: open`);
    };
  }
}

/** Replaces a group's machines one by one, the new one first. */
async function rollGroup(
  running: readonly SimulatedMachine[],
  wanted: readonly DecodedMachine[],
  cloud: CloudSimulation,
  cluster: Cluster,
  progress: Progress,
): Promise<void> {
  const last = [...running];
  for (const worker of wanted) {
    cloud.launch(worker.machine);
    await cluster.startWorkers([worker]);
    await untilReady(cloud.identity(worker.machine).nodeName, cluster);
    const first = last.shift();
    if (first !== undefined) await retire(first, cloud, cluster);
    progress.line(`update: ${worker.machine.name} has joined${first === undefined ? "" : `, ${first.name} is gone`}`);
  }
  for (const machine of last) await retire(machine, cloud, cluster);
  const { group } = wanted[0]?.machine ?? {};
  if (group !== undefined) cloud.endRoll(group);
}

async function apply(resource: RecordedResource, { api }: Cluster, force: boolean): Promise<void> {
  const { refused } = await applyObject(objectOf(resource), api, force);
  if (refused.length > 0) throw new Error(refused.join("; "));
}

async function untilReady(name: string, { api, refusals }: Cluster): Promise<void> {
  const look = async (): Promise<boolean> => {
    const node = await api.core.readNode({ name });
    if (!isReady(node) || node.spec?.taints?.some(({ key }) => key.startsWith("node.cloudprovider")) === true)
      throw new Error("it is not Ready");
    return true;
  };
  await waitFor(`node ${name} to be Ready`, limitsMs.machine, look).catch(async (error: unknown) => {
    throw new Error([messageOf(error), ...(await refusals.lasting())].join("; "));
  });
}

/**
 * Takes a machine of a group away when its pods have moved: a Linux machine drains itself by its own script, a Windows
 * machine is drained here.
 */
async function retire(machine: SimulatedMachine, cloud: CloudSimulation, cluster: Cluster): Promise<void> {
  const { nodeName } = cloud.identity(machine);
  if (cluster.machines.has(machine.id)) {
    const mayGo = cloud.announceEnd(machine);
    const look = async (): Promise<boolean> => mayGo();
    await waitFor(`${machine.name} to drain`, limitsMs.machine, look);
  } else {
    const drain = ["drain", nodeName, "--ignore-daemonsets", "--delete-emptydir-data", "--force", "--timeout=100s"];
    const { code, stderr } = await cluster.kubectl(drain);
    if (code !== 0) throw new Error(`${machine.name} does not drain: ${stderr.trim()}`);
    await takeFromKwok(cluster.api, nodeName);
  }
  await cluster.powerOffMachine(machine);
  cloud.terminate(machine);
}

function withRelease(config: Config, version: string): Config {
  const key = "fenestra:kubernetes";
  const present: unknown = JSON.parse(config[key] ?? "{}");
  return { ...config, [key]: JSON.stringify({ ...(typeof present === "object" ? present : {}), version }) };
}

/**
 * The programs at hand, of the stack's minor, decide the patch release: kubeadm and the program's gates compare what
 * runs with what was asked for.
 */
export function withPatchOf(config: Config, programs: Programs, progress: Progress): Config {
  const asked = loadConfig(config).kubernetes.version;
  const { version } = programs["kube-apiserver"];
  if (asked === version) return config;
  progress.line(
    `the stack asks for Kubernetes ${asked}; the programs at hand are ${version}, so this rehearsal runs with ${version}`,
  );
  return withRelease(config, version);
}

/** The releases that ran, in order. Pure. */
export function releasesText(ran: readonly Programs[]): string {
  const releases = (name: ProgramName) =>
    [...new Set(ran.map((programs) => releaseOf(programs[name])))].join(", then ");
  return `ran: Kubernetes ${releases("kube-apiserver")}; etcd ${releases("etcd")}; kwok ${releases("kwok")}`;
}

function releaseOf({ version, source }: Programs[ProgramName]): string {
  return source === undefined ? version : `${version} (the source of ${source} with this number)`;
}

/**
 * Calls a hook of the program as an engine does before it makes or changes the hook's resource (pulumi/pulumi:
 * sdk/proto/pulumi/callback.proto, ResourceHookRequest).
 *
 * @param kept what a Stash kept from an earlier update
 * @throws what the hook throws
 */
export async function callHook(
  { program, hooks }: { readonly program: RecordedProgram; readonly hooks: ReadonlyMap<string, RecordedHook> },
  name: string,
  kept?: unknown,
): Promise<void> {
  // No cloud is asked whether it would start a machine.
  process.env[skipVariable] = "all";
  const hook = hooks.get(name);
  if (hook === undefined) throw new Error(`the program registered no hook ${name}`);
  const owner = program.resources.find(({ options }) => Object.values(options.hooks).flat().includes(name));
  const newInputs = reveal({ ...owner?.inputs });
  await Reflect.apply(hook.callback, undefined, [{ oldInputs: { input: kept }, newInputs }]);
}
