import * as pulumi from "@pulumi/pulumi";
import type { ControlPlaneMember } from "../model/addressPlan.ts";
import { cloudFacts } from "../model/cloudFacts/cloudFacts.ts";
import { type ClusterSpec, settingsOfMember } from "../model/clusterSpec.ts";
import { exampleProblems } from "../model/exampleValues.ts";
import type { ServiceAccountTokens } from "../model/keyLists.ts";
import { ports } from "../model/ports.ts";
import { ConfigError, type Problem } from "../model/problem.ts";
import {
  type ClusterState,
  changeProblems,
  movingProblems,
  type ReachedState,
  reachedOf,
  readState,
  stackGuardName,
  stateOf,
} from "../model/upgrade.ts";
import type { Pki } from "../pki/pki.ts";
import {
  type ApiClient,
  apiProblem,
  type MemberNode,
  machineComponents,
  markProblem,
  memberProblem,
} from "./apiProbe.ts";
import { controlPlaneIsDown, leaseRenewed, type MachineToCome, peersGate } from "./peersGate.ts";
import type { MayStart } from "./startGate.ts";
import { type Patience, resolvedValue, waitForApi } from "./waitFor.ts";

interface ApiGateArgs {
  /** Ids of all control-plane machines: the gate waits again when one changes. */
  readonly machines: pulumi.Input<pulumi.Input<string>[]>;
  /** The same machines as nodes. */
  readonly members: readonly pulumi.Input<MemberNode>[];
  readonly api: pulumi.Input<ApiClient>;
  readonly patience?: Patience;
}

/**
 * The gate behind the whole control plane opens when `/readyz` answers and every machine is a healthy member, also
 * those just added. Pools and everything in the cluster depend on it, so that no kubelet is newer than the API.
 */
export function apiGate(name: string, args: ApiGateArgs, opts: pulumi.CustomResourceOptions): pulumi.Stash {
  const hook = new pulumi.ResourceHook(name, async () => {
    const api = await resolvedValue(args.api);
    const members = await Promise.all(args.members.map((member) => resolvedValue(member)));
    const lives = leaseRenewed(api);
    const probe = () => controlPlaneProblem(api, members, lives);
    // All others wait for it.
    const patience = { everySeconds: 1, ...args.patience };
    await waitForApi(api, `the Kubernetes API at ${api.server}`, probe, patience);
  });
  return new pulumi.Stash(
    name,
    { input: args.machines },
    { ...opts, hooks: { beforeCreate: [hook], beforeUpdate: [hook] } },
  );
}

async function controlPlaneProblem(
  api: ApiClient,
  members: readonly MemberNode[],
  lives: Lives,
): Promise<string | undefined> {
  const problem = await apiProblem(api);
  if (problem !== undefined) return problem;
  const problems = await Promise.all(members.map((member) => livingProblem(api, member, lives)));
  return problems.filter((each) => each !== undefined).join("; ") || undefined;
}

type Lives = ReturnType<typeof leaseRenewed>;

/**
 * A machine that died is ready for 50 seconds more, so its kubelet must have been heard since the first look, of which
 * each one counts: the next renewal may be 10 seconds away.
 */
async function livingProblem(api: ApiClient, member: MemberNode, lives: Lives): Promise<string | undefined> {
  const heard = lives(member.node);
  heard.catch(() => undefined);
  return (
    (await memberProblem(api, member, machineComponents)) ?? (await markProblem(api, member.node)) ?? (await heard)
  );
}

interface MemberGateArgs {
  /** Id of the machine. */
  readonly machine: pulumi.Input<string>;
  readonly node: pulumi.Input<MemberNode>;
  readonly api: pulumi.Input<ApiClient>;
  readonly patience?: Patience;
}

/**
 * A gate between one control-plane machine and the next. It holds the machine's id, so a replacement updates it, and it
 * waits, before that update is saved, until the new machine is a healthy etcd member. A failed wait leaves the old
 * state, so the next run waits again. The first creation waits for nothing: one machine of three has no quorum.
 */
export function memberGate(name: string, args: MemberGateArgs, opts: pulumi.CustomResourceOptions): pulumi.Stash {
  const hook = new pulumi.ResourceHook(name, async () => {
    const api = await resolvedValue(args.api);
    if (await controlPlaneIsDown(api, name)) return;
    const member = await resolvedValue(args.node);
    const lives = leaseRenewed(api);
    const probe = () => livingProblem(api, member, lives);
    await waitForApi(api, `control-plane machine ${member.node}`, probe, args.patience);
  });
  return new pulumi.Stash(name, { input: args.machine }, { ...opts, hooks: { beforeUpdate: [hook] } });
}

type GateBefore = (machine: MachineToCome) => pulumi.Resource;

interface ChainMachine {
  /** Changes when, and only when, the machine was replaced. */
  readonly instanceId: pulumi.Output<string>;
  readonly node: pulumi.Output<MemberNode>;
  readonly ready: readonly pulumi.Resource[];
}

interface MemberArgs {
  readonly spec: ReturnType<typeof settingsOfMember>;
  readonly member: ControlPlaneMember;
  readonly subnetId: pulumi.Input<string>;
  readonly gate: GateBefore;
}

/** What the machines of both clouds are made from. */
export interface MachineArgs extends MemberArgs {
  /** How service accounts' tokens are issued and checked; `undefined` for kubeadm's way. */
  readonly tokens: pulumi.Input<ServiceAccountTokens> | undefined;
  /** What must exist before the machine boots. */
  readonly after: readonly pulumi.Resource[];
}

/** What the clusters of both clouds are made from. */
export interface ClusterArgs {
  readonly spec: ClusterSpec;
  /** Secret: logins for what machines fetch, if any. */
  readonly credentials?: pulumi.Output<string> | undefined;
  /** Asks the cloud before a machine is deleted for another one. By default nobody asks. */
  readonly mayStart?: MayStart | undefined;
}

interface ControlPlaneArgs {
  readonly spec: ClusterSpec;
  readonly api: pulumi.Input<ApiClient>;
  /** Control-plane subnets in the order of the zones. */
  readonly subnetIds: readonly pulumi.Input<string>[];
  /** What must exist before the API can be reached: listeners and targets, load balancers and the name. */
  readonly reachable: readonly pulumi.Resource[];
  readonly mayStart: MayStart | undefined;
  readonly makeMachine: (name: string, args: MemberArgs, opts: pulumi.ComponentResourceOptions) => ChainMachine;
}

/**
 * Equal machines in a chain, the same on both clouds, each between a `peersGate` and a `memberGate`: two are never down
 * at the same time, and the first creation waits only at the last gate.
 */
export class ControlPlane extends pulumi.ComponentResource {
  /** Pools and everything in the cluster depend on it. */
  readonly apiGate: pulumi.Resource;

  constructor(name: string, args: ControlPlaneArgs, opts?: pulumi.ComponentResourceOptions) {
    super(`fenestra:${args.spec.cloud}:ControlPlane`, name, {}, opts);
    const { spec, api, subnetIds, reachable, mayStart } = args;
    const { members, size, sizes } = spec.controlPlane;
    const otherSize = (name: string) => cloudFacts[spec.cloud].sizes.another((sizes[name] ?? size).name);
    const { version } = spec.kubernetes;
    const machines: ChainMachine[] = [];
    let last: pulumi.Resource = changeGuard(`${name}-upgrade`, { version, replicas: members.length }, { parent: this });
    for (const member of members) {
      const { index } = member;
      const subnetId = subnetIds[member.zoneIndex];
      if (subnetId === undefined) throw new RangeError(`there is no control-plane subnet in zone ${member.zone}`);
      const earlier = [last, ...reachable];
      const gate: GateBefore = (machine) => {
        const after = [...earlier, ...machine.after];
        const own = { machine: { ...machine, after }, member, members, version, api, mayStart, otherSize };
        return peersGate(`${name}-before-${index}`, own, { parent: this });
      };
      const machine = args.makeMachine(
        `${name}-${index}`,
        { spec: settingsOfMember(spec, member), member, subnetId, gate },
        { parent: this },
      );
      last = memberGate(
        `${name}-gate-${index}`,
        { machine: machine.instanceId, node: machine.node, api },
        { parent: this, dependsOn: [...machine.ready, ...reachable] },
      );
      machines.push(machine);
    }
    const instanceIds = machines.map(({ instanceId }) => instanceId);
    this.apiGate = apiGate(
      `${name}-api`,
      { machines: [...instanceIds], members: machines.map(({ node }) => node), api },
      { parent: this, dependsOn: [last, ...reachable] },
    );
    reachedGuard(`${name}-reached`, reachedOf(spec), { parent: this, dependsOn: [this.apiGate] });
    this.registerOutputs({ instanceIds });
  }
}

export function stackGuard(spec: ClusterSpec): pulumi.Stash {
  return changeGuard(stackGuardName, stateOf(spec), {}, exampleProblems(spec));
}

/**
 * Refuses, already in the preview, what would destroy the cluster's data or what a control plane cannot do. A `Stash`
 * keeps the old values, which a program that calls no cloud cannot see.
 *
 * @param unfit problems that forbid creating the cluster; refused in the first update only, so that an example can be
 * previewed
 */
export function changeGuard(
  name: string,
  state: ClusterState,
  opts: pulumi.CustomResourceOptions,
  unfit: readonly Problem[] = [],
): pulumi.Stash {
  const first =
    unfit.length === 0
      ? []
      : [
          new pulumi.ResourceHook(`${name}-first`, () => {
            throw new ConfigError(unfit);
          }),
        ];
  const hook = new pulumi.ResourceHook(name, ({ oldInputs }) => refuseChange(oldInputs?.input, state), {
    onDryRun: true,
  });
  return new pulumi.Stash(name, { input: state }, { ...opts, hooks: { beforeCreate: first, beforeUpdate: [hook] } });
}

/**
 * Keeps what all control-plane machines have reached, since it depends on their last gate, and refuses in the preview
 * what is too far from it. The guard before the machines knows only what was asked for, even by an update that was cut
 * off.
 */
export function reachedGuard(name: string, to: ReachedState, opts: pulumi.CustomResourceOptions): pulumi.Stash {
  const hook = new pulumi.ResourceHook(name, ({ oldInputs }) => refuseMove(oldInputs?.input, to), { onDryRun: true });
  // The form of older states.
  const input = to.serviceAccountKeys === undefined && to.encryptionKeys === undefined ? to.version : to;
  return new pulumi.Stash(name, { input }, { ...opts, hooks: { beforeUpdate: [hook] } });
}

function refuseChange(kept: unknown, wanted: ClusterState): void {
  const from = readState(kept);
  if (from === undefined)
    throw new Error(
      "the state of the guard cannot be read; it must hold the version and the replicas of the control plane",
    );
  const problems = changeProblems(from, wanted);
  if (problems.length > 0) throw new ConfigError(problems);
}

function refuseMove(reached: unknown, wanted: ReachedState): void {
  const problems = movingProblems(reached, wanted);
  if (problems === undefined) throw new Error("the state of the release that was reached cannot be read");
  if (problems.length > 0) throw new ConfigError(problems);
}

export function apiUrl(host: pulumi.Input<string>): pulumi.Output<string> {
  return pulumi.interpolate`https://${host}:${ports.api}`;
}

/** API client of the gates: the administrator's certificate, trusting only the cluster's own authority. */
export function adminClient(server: pulumi.Output<string>, pki: Pki): pulumi.Output<ApiClient> {
  return pulumi
    .all([server, pki.kubernetesCa.certificate, pki.admin.certificate, pki.admin.key])
    .apply(([known, caCertificate, certificate, key]) => ({
      server: known,
      caCertificate,
      client: { certificate, key },
    }));
}
