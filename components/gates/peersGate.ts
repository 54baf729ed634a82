import * as pulumi from "@pulumi/pulumi";
import type { ControlPlaneMember } from "../model/addressPlan.ts";
import { showProblem } from "../model/problem.ts";
import { compareVersions } from "../model/releases.ts";
import { reachedProblems } from "../model/upgrade.ts";
import {
  type ApiClient,
  addressProblem,
  apiProblem,
  askApi,
  type ControlPlaneNode,
  controlPlaneNodes,
  field,
  list,
  readObject,
  text,
} from "./apiProbe.ts";
import { type MachineToStart, type MayStart, refuseStart } from "./mayStart.ts";
import { messageOf } from "./messageOf.ts";
import { systemClock } from "./poll.ts";
import { type Patience, resolvedValue, waitForApi } from "./waitFor.ts";

/** What a control-plane machine is going to be made from. */
export interface MachineToCome {
  /** Changes with all that the program itself decides and that replaces the machine. */
  readonly fingerprint: pulumi.Input<string>;
  /** Other values of resources whose change replaces it: ids of what it is made with. */
  readonly parts: readonly pulumi.Input<string>[];
  /** What it is started with. */
  readonly start: MachineToStart;
  /** All else that it waits for. A failure there would leave the gate passed and the machine as it was. */
  readonly after: readonly pulumi.Resource[];
}

export interface PeersGateArgs {
  readonly machine: MachineToCome;
  readonly member: ControlPlaneMember;
  readonly members: readonly ControlPlaneMember[];
  /** Kubernetes release that the machine is going to run. */
  readonly version: string;
  /** The API, through the load balancer. */
  readonly api: pulumi.Input<ApiClient>;
  /** Default: the cloud is not asked. */
  readonly mayStart?: MayStart | undefined;
  /**
   * Default: every 2 seconds for a minute; a kubelet renews its lease every 10. The machine before was a healthy member
   * a moment ago.
   */
  readonly patience?: Patience;
}

/**
 * A gate before a control-plane machine: it holds what the machine is made from, so it is updated when the machine is
 * about to be replaced, and refuses that while the new one could not start or another one is not a healthy member. With
 * two of three away etcd would have no quorum. Kubernetes' Cluster API and kops check the same before each machine
 * (kubernetes-sigs/cluster-api#2241).
 */
export function peersGate(name: string, args: PeersGateArgs, opts: pulumi.CustomResourceOptions): pulumi.Stash {
  const { machine, member, members, version } = args;
  const hook = new pulumi.ResourceHook(name, async ({ oldInputs }) => {
    // Machines that are going to be added are no members yet.
    const present = Number(field(oldInputs?.input, "replicas"));
    if (!(Number.isInteger(present) && present >= 1))
      throw new Error(`the state of ${name} cannot be read: it must hold how many machines the control plane had`);
    await refuseStart(machine.start, args.mayStart);
    const others = members.filter(({ index }) => index !== member.index && index < present);
    if (others.length === 0) return;
    const api = await resolvedValue(args.api);
    if (await controlPlaneIsDown(api, name)) return;
    const lives = leaseRenewed(api);
    let nodes: readonly ControlPlaneNode[] | undefined;
    const problem = async (): Promise<string | undefined> => {
      nodes = await controlPlaneNodes(api);
      const listed = nodes;
      if (
        !listed.some(({ address }) => others.some((other) => other.address === address)) &&
        (await isAlone(api, others))
      )
        return undefined;
      const problems = await Promise.all(others.map(({ address }) => addressProblem(api, address, listed, lives)));
      return problems.filter((each) => each !== undefined).join("; ") || undefined;
    };
    const what = `the control plane beside ${member.etcdName}`;
    await waitForApi(api, what, problem, { limitSeconds: 60, ...args.patience }).catch((error: unknown) => {
      throw new Error(advice(member, messageOf(error), nodes !== undefined));
    });
    const judged = (nodes ?? []).filter((node) => others.some(({ address }) => address === node.address));
    refuseRelease(judged, version);
  });
  const input = { fingerprint: machine.fingerprint, parts: machine.parts, replicas: members.length };
  return new pulumi.Stash(name, { input }, { ...opts, dependsOn: [...machine.after], hooks: { beforeUpdate: [hook] } });
}

function advice({ etcdName }: ControlPlaneMember, problem: string, reached: boolean): string {
  if (!reached)
    return [
      `control-plane machine ${etcdName} is not replaced now, since the API cannot be reached from here: ${problem}.`,
      "Nothing is known to be broken. Look at VPN, proxy, access.public.allow and this machine's clock, and update again.",
      "If the control plane itself is away: docs/operations/updates.md, The API is away",
    ].join(" ");
  return [
    `control-plane machine ${etcdName} is not replaced now, since etcd could lose its quorum: ${problem}.`,
    "Undo the change, bring the other machine back first (`pulumi refresh --exclude '**kubernetes:*/*:*::**'` and `pulumi up` if it is gone,",
    "its next number in controlPlane.generations if it is unhealthy), and then update again.",
  ].join(" ");
}

/**
 * Whether the machine is etcd's only member, although more were asked for: an update that was to add them was cut off.
 * None of the others has a Node or an API server, which would renew its address every few seconds (kubernetes 1.36:
 * pkg/controlplane/reconcilers/lease.go), and etcd has a quorum all the same: of two members or more it would have none.
 */
async function isAlone(api: ApiClient, others: readonly ControlPlaneMember[]): Promise<boolean> {
  const slice = await readObject(api, "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices/kubernetes");
  const serving = list(field(slice, "endpoints")).flatMap((endpoint) => list(field(endpoint, "addresses")));
  return (
    serving.length > 0 &&
    !others.some(({ address }) => serving.includes(address)) &&
    (await apiProblem({ ...api, client: undefined })) === undefined
  );
}

/**
 * The guard refuses this in a preview by the state; here it is refused by what runs, because an update may come without
 * a preview.
 */
function refuseRelease(nodes: readonly ControlPlaneNode[], wanted: string): void {
  const [oldest] = nodes
    .filter(({ version }) => /^\d+\.\d+\.\d+/.test(version))
    .toSorted((a, b) => compareVersions(a.version, b.version));
  const problems = oldest === undefined ? [] : reachedProblems(oldest.version, wanted);
  if (problems.length > 0)
    throw new Error([`node ${oldest?.name} is what is compared:`, ...problems.map(showProblem)].join("\n"));
}

/** How long a kubelet counts that was heard, in milliseconds: two of its renewals. */
const heardMs = 20_000;

/**
 * Finds nodes whose kubelet lives now. What a kubelet has said stays until the node controller gives it up after 50
 * seconds (--node-monitor-grace-period), so the pods of a machine that has just died are ready until then. A kubelet
 * renews its lease every 10 seconds (kubernetes 1.36: pkg/kubelet/kubelet.go, nodeLeaseRenewIntervalFraction), and only
 * its own (NodeRestriction). Times are compared with each other and with no clock of this machine.
 *
 * @returns a probe that says what is wrong with a node, or `undefined` while a look within the last {@link heardMs} saw
 * its lease renewed: nodes renew at moments of their own, so one look sees no two of them
 */
export function leaseRenewed(api: ApiClient): (node: string) => Promise<string | undefined> {
  const newest = new Map<string, number>();
  const heard = new Map<string, number>();
  return async (node) => {
    const path = `/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/${node}`;
    const renewed = text(field(field(await readObject(api, path), "spec"), "renewTime"));
    const at = Date.parse(renewed);
    if (Number.isNaN(at)) return `the lease of ${node} has no time`;
    // The newest of all looks: one of three API servers may be behind.
    const before = newest.get(node);
    newest.set(node, Math.max(at, before ?? at));
    const now = systemClock.now();
    if (before !== undefined && at > before) heard.set(node, now);
    const silentMs = now - (heard.get(node) ?? Number.NEGATIVE_INFINITY);
    return silentMs <= heardMs ? undefined : `${node} has given no sign of life since ${renewed}`;
  };
}

/** Set to `down` for one update, when there is no control plane left whose quorum must be kept. */
export const downVariable = "FENESTRA_CONTROL_PLANE";

/**
 * Whether the deployer declares that the whole control plane is down, or has never come up, and nothing speaks against
 * it. From outside that looks like a missing route to it, so only a person can decide it. An API that is ready has a
 * quorum to lose: then the word is not believed. No machine waits for another meanwhile; the last gate still waits for
 * all of them.
 */
export async function controlPlaneIsDown(api: ApiClient, gate: string): Promise<boolean> {
  if (process.env[downVariable] !== "down") return false;
  const answer = await askApi(api, "/readyz").catch(() => undefined);
  const isDown = answer?.status !== 200;
  const said = isDown
    ? "stands aside: its machine may go while others are away"
    : "looks all the same, since the control plane answers: remove the variable";
  void pulumi.log.warn(`${downVariable}=down is set: ${gate} ${said}`);
  return isDown;
}
