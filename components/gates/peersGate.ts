import * as pulumi from "@pulumi/pulumi";
import { z } from "zod";
import type { ControlPlaneMember } from "../model/addressPlan.ts";
import { messageOf } from "../model/messages.ts";
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
  readObject,
} from "./apiProbe.ts";
import { systemClock } from "./poll.ts";
import { type MachineToStart, type MayStart, refuseStart } from "./startGate.ts";
import { type Patience, resolvedValue, waitForApi } from "./waitFor.ts";

/** What a control-plane machine is going to be made from. */
export interface MachineToCome {
  /** Changes with all that the program itself decides and that replaces the machine. */
  readonly fingerprint: pulumi.Input<string>;
  /** Ids of other resources whose change replaces it. */
  readonly parts: readonly pulumi.Input<string>[];
  readonly start: MachineToStart;
  /** All else that it waits for: a failure there would leave the gate passed and the machine as it was. */
  readonly after: readonly pulumi.Resource[];
}

/** What the gate keeps of the update before: how many machines the control plane had. */
const kept = z.object({ replicas: z.int().positive() });

interface PeersGateArgs {
  readonly machine: MachineToCome;
  readonly member: ControlPlaneMember;
  readonly members: readonly ControlPlaneMember[];
  /** Kubernetes release that the machine is going to run. */
  readonly version: string;
  /** A size of other hardware for a member's machine, by its name. */
  readonly otherSize: (etcdName: string) => string;
  readonly api: pulumi.Input<ApiClient>;
  /** Default: the cloud is not asked. */
  readonly mayStart?: MayStart | undefined;
  /**
   * Default: every 2 seconds for a minute, since the machine before was healthy a moment ago; a kubelet renews its
   * lease every 10 seconds.
   */
  readonly patience?: Patience;
}

/**
 * A gate before a control-plane machine. It holds what the machine is made from, so it is updated when the machine is
 * about to be replaced, and refuses that while the new one could not start or another is no healthy member: with two of
 * three away etcd has no quorum. Cluster API and kops check the same (kubernetes-sigs/cluster-api#2241). A machine that
 * is away itself, such as one whose size its zone did not have, may always be made: nothing goes for it.
 */
export function peersGate(name: string, args: PeersGateArgs, opts: pulumi.CustomResourceOptions): pulumi.Stash {
  const { machine, member, members, version, otherSize } = args;
  const hook = new pulumi.ResourceHook(name, async ({ oldInputs }) => {
    const before = kept.safeParse(oldInputs?.input).data;
    if (before === undefined)
      throw new Error(`the state of ${name} cannot be read: it must hold how many machines the control plane had`);
    await refuseStart(machine.start, args.mayStart);
    // Machines yet to be added are no members.
    const others = members.filter(({ index }) => index !== member.index && index < before.replicas);
    if (others.length === 0) return;
    const api = await resolvedValue(args.api);
    if (await controlPlaneIsDown(api, name)) return;
    const lives = leaseRenewed(api);
    let nodes: readonly ControlPlaneNode[] | undefined;
    let away: readonly ControlPlaneMember[] = others;
    const problem = async (): Promise<string | undefined> => {
      nodes = await controlPlaneNodes(api);
      const listed = nodes;
      const problems = await Promise.all(others.map(({ address }) => addressProblem(api, address, listed, lives)));
      away = others.filter((_, index) => problems[index] !== undefined);
      if (away.length === 0 || (await areAway(api, listed, [member])) || (await areAway(api, listed, others)))
        return undefined;
      return problems.filter((each) => each !== undefined).join("; ");
    };
    const what = `the control plane beside ${member.etcdName}`;
    await waitForApi(api, what, problem, { limitSeconds: 60, ...args.patience }).catch((error: unknown) => {
      const bringBack = nodes && away.map(({ etcdName }) => ({ etcdName, size: otherSize(etcdName) }));
      throw new Error(advice(member, messageOf(error), bringBack));
    });
    const judged = (nodes ?? []).filter((node) => others.some(({ address }) => address === node.address));
    refuseRelease(judged, version);
  });
  const input = { fingerprint: machine.fingerprint, parts: machine.parts, replicas: members.length };
  return new pulumi.Stash(name, { input }, { ...opts, dependsOn: [...machine.after], hooks: { beforeUpdate: [hook] } });
}

function advice(
  { etcdName }: ControlPlaneMember,
  problem: string,
  bringBack: readonly { readonly etcdName: string; readonly size: string }[] | undefined,
): string {
  if (bringBack === undefined)
    return [
      `control-plane machine ${etcdName} is not replaced now, since the API cannot be reached from here: ${problem}.`,
      "Nothing is known to be broken. Look at VPN, proxy, access.public.allow and this machine's clock, and update again.",
      "If the control plane itself is away: docs/operations/updates.md, The API is away",
    ].join(" ");
  const names = bringBack.map((each) => each.etcdName).join(" and ");
  const sizes = bringBack.map((each) => `${each.etcdName}: ${each.size}`).join(", ");
  return [
    `control-plane machine ${etcdName} is not replaced now, since etcd could lose its quorum: ${problem}.`,
    `Undo what replaces ${etcdName}, and bring ${names} back first: what is gone by`,
    "`pulumi refresh --exclude '**kubernetes:*/*:*::**'` and `pulumi up`, and where the cloud has no machine of its size",
    `with \`sizes: { ${sizes} }\` below fenestra:controlPlane;`,
    "what is unhealthy by its next number in controlPlane.generations. Then update again.",
  ].join(" ");
}

/** Addresses of API servers. Without any there are no endpoints. */
const slice = z.object({
  endpoints: z
    .array(z.object({ addresses: z.array(z.string()) }))
    .nullish()
    .transform((all) => all ?? []),
});

/**
 * Whether none of these machines is there while etcd has a quorum: none has a Node or an API server, which would renew
 * its address every few seconds (kubernetes 1.36: pkg/controlplane/reconcilers/lease.go). Where it is so of all others,
 * an update that was to add them was cut off, and the machine is etcd's only member: two or more would have no quorum.
 */
async function areAway(
  api: ApiClient,
  nodes: readonly ControlPlaneNode[],
  members: readonly ControlPlaneMember[],
): Promise<boolean> {
  const isOne = (address: string) => members.some((member) => member.address === address);
  if (nodes.some(({ address }) => isOne(address))) return false;
  const path = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices/kubernetes";
  const serving = (await readObject(api, path, slice)).object.endpoints.flatMap(({ addresses }) => addresses);
  return serving.length > 0 && !serving.some(isOne) && (await apiProblem({ ...api, client: undefined })) === undefined;
}

/** The guard refuses this in a preview, by the state; here what runs decides, since an update may come without one. */
function refuseRelease(nodes: readonly ControlPlaneNode[], wanted: string): void {
  const [oldest] = nodes
    .filter(({ version }) => /^\d+\.\d+\.\d+/.test(version))
    .toSorted((a, b) => compareVersions(a.version, b.version));
  const problems = oldest === undefined ? [] : reachedProblems(oldest.version, wanted);
  if (problems.length > 0)
    throw new Error([`node ${oldest?.name} is what is compared:`, ...problems.map(showProblem)].join("\n"));
}

const lease = z.object({
  metadata: z.object({ creationTimestamp: z.string().default("") }),
  spec: z.object({ renewTime: z.string().default("") }),
});

/** How long a kubelet counts as heard, in milliseconds: two of its renewals. */
const heardMs = 20_000;

/**
 * Finds nodes whose kubelet lives: the pods of a machine that died are ready until the node controller gives it up
 * after 50 seconds (--node-monitor-grace-period). A kubelet renews its lease every 10 seconds (kubernetes 1.36:
 * pkg/kubelet/kubelet.go, nodeLeaseRenewIntervalFraction), and only its own (NodeRestriction). Its times are compared
 * with each other, and when it was made with the API's clock: with no clock of this machine.
 *
 * @returns a probe that says what is wrong with a node, or `undefined` while its lease was made within the last
 * {@link heardMs}, or a look within them saw it renewed, since each node renews at a moment of its own
 */
export function leaseRenewed(api: ApiClient): (node: string) => Promise<string | undefined> {
  const newest = new Map<string, number>();
  const heard = new Map<string, number>();
  return async (node) => {
    const path = `/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/${node}`;
    const { object, at: apiSeconds } = await readObject(api, path, lease);
    const { metadata, spec } = object;
    const at = Date.parse(spec.renewTime);
    if (Number.isNaN(at)) return `the lease of ${node} has no time`;
    // The newest of all looks: one of three API servers may be behind.
    const before = newest.get(node);
    newest.set(node, Math.max(at, before ?? at));
    const now = systemClock.now();
    if (before !== undefined && at > before) heard.set(node, now);
    const silentMs = now - (heard.get(node) ?? Number.NEGATIVE_INFINITY);
    // A new kubelet renews it first after 10 seconds.
    const ageMs = Math.abs(apiSeconds * 1000 - Date.parse(metadata.creationTimestamp));
    return silentMs <= heardMs || ageMs <= heardMs
      ? undefined
      : `${node} has given no sign of life since ${spec.renewTime}`;
  };
}

/** Set to `down` for one update, when no control plane is left whose quorum must be kept. */
export const downVariable = "FENESTRA_CONTROL_PLANE";

/**
 * Whether the deployer declares the whole control plane down, or never up, which from outside looks like a missing
 * route, so that only a person can decide it. It is not believed while the API is ready and has a quorum to lose. While
 * it is believed, no machine waits for another; the last gate still waits for all.
 */
export async function controlPlaneIsDown(api: ApiClient, gate: string): Promise<boolean> {
  if (process.env[downVariable] !== "down") return false;
  const isDown = (await askApi(api, "/readyz").catch(() => undefined))?.status !== 200;
  const said = isDown
    ? "stands aside: its machine may go while others are away"
    : "looks all the same, since the control plane answers: remove the variable";
  void pulumi.log.warn(`${downVariable}=down is set: ${gate} ${said}`);
  return isDown;
}
