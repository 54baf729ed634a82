import * as pulumi from "@pulumi/pulumi";
import type { ControlPlaneMember } from "../model/addressPlan.ts";
import { fromJson } from "../model/json.ts";
import { showProblem } from "../model/problem.ts";
import { compareVersions } from "../model/releases.ts";
import { reachedProblems } from "../model/upgrade.ts";
import {
  type ApiClient,
  addressProblem,
  askApi,
  type ControlPlaneNode,
  controlPlaneNodes,
  field,
  text,
} from "./apiProbe.ts";
import { messageOf } from "./messageOf.ts";
import { type Patience, resolvedValue, waitFor } from "./waitFor.ts";

export interface PeersGateArgs {
  /** Changes when, and only when, the machine is going to be replaced. */
  readonly fingerprint: pulumi.Input<string>;
  readonly member: ControlPlaneMember;
  readonly members: readonly ControlPlaneMember[];
  /** Kubernetes release that the machine is going to run. */
  readonly version: string;
  /** The API, through the load balancer. */
  readonly api: pulumi.Input<ApiClient>;
  /**
   * Default: every 2 seconds for a minute; a kubelet renews its lease every 10. The machine before was a healthy member
   * a moment ago.
   */
  readonly patience?: Patience;
}

/**
 * A gate before a control-plane machine: it holds what the machine is made from, so it is updated when the machine is
 * about to be replaced, and refuses that while another machine is not a healthy member. With two of three away etcd
 * would have no quorum. Kubernetes' Cluster API and kops check the same before each machine
 * (kubernetes-sigs/cluster-api#2241).
 */
export function peersGate(name: string, args: PeersGateArgs, opts: pulumi.CustomResourceOptions): pulumi.Stash {
  const { member, members, version } = args;
  const hook = new pulumi.ResourceHook(name, async ({ oldInputs }) => {
    if (controlPlaneIsDown()) return;
    // Machines that are going to be added are no members yet.
    const present = field(oldInputs?.input, "replicas");
    const others = members.filter(({ index }) => index !== member.index && index < Number(present));
    if (others.length === 0) return;
    const api = await resolvedValue(args.api);
    const lives = leaseRenewed(api);
    let nodes: readonly ControlPlaneNode[] = [];
    const problem = async (): Promise<string | undefined> => {
      nodes = await controlPlaneNodes(api);
      const problems = await Promise.all(others.map(({ address }) => addressProblem(api, address, nodes, lives)));
      return problems.filter((each) => each !== undefined).join("; ") || undefined;
    };
    const what = `the control plane beside ${member.etcdName}`;
    await waitFor(what, problem, { limitSeconds: 60, ...args.patience }).catch((error: unknown) => {
      throw new Error(advice(member, messageOf(error)));
    });
    refuseRelease(nodes, version);
  });
  const input = { fingerprint: args.fingerprint, replicas: members.length };
  return new pulumi.Stash(name, { input }, { ...opts, hooks: { beforeUpdate: [hook] } });
}

function advice({ etcdName }: ControlPlaneMember, problem: string): string {
  return [
    `control-plane machine ${etcdName} is not replaced now, since etcd could lose its quorum: ${problem}.`,
    "Undo the change, bring the other machine back first (`pulumi refresh --exclude '**kubernetes:*/*:*::**'` and `pulumi up` if it is gone,",
    "`pulumi up --replace <its URN>` if it is unhealthy), and then update again. If the control plane is away as a whole, or has never come up, say so once:",
    `${downVariable}=down pulumi up`,
  ].join(" ");
}

/**
 * The guard refuses this in a preview by the state; here it is refused by what runs, because an update may come without
 * a preview.
 */
function refuseRelease(nodes: readonly ControlPlaneNode[], wanted: string): void {
  const [oldest] = nodes.map(({ version }) => version).sort(compareVersions);
  const problems = oldest === undefined ? [] : reachedProblems(oldest, wanted);
  if (problems.length > 0) throw new Error(problems.map(showProblem).join("\n"));
}

/**
 * Finds nodes whose kubelet lives now. What a kubelet has said stays until the node controller gives it up after 50
 * seconds (--node-monitor-grace-period), so the pods of a machine that has just died are ready until then. A kubelet
 * renews its lease every 10 seconds (kubernetes 1.36: pkg/kubelet/kubelet.go, nodeLeaseRenewIntervalFraction), and only
 * its own (NodeRestriction). Times are compared with each other and with no clock of this machine.
 *
 * @returns a probe that says what is wrong with a node, or `undefined` once its lease has been renewed since the first
 * look at it
 */
function leaseRenewed(api: ApiClient): (node: string) => Promise<string | undefined> {
  const first = new Map<string, string>();
  return async (node) => {
    const { status, body } = await askApi(
      api,
      `/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/${node}`,
    );
    if (status !== 200) return `the lease of ${node}: the API answers ${status}`;
    const renewed = text(field(field(fromJson(body), "spec"), "renewTime"));
    const before = first.get(node) ?? renewed;
    first.set(node, before);
    return renewed === before ? `${node} has given no sign of life since ${renewed}` : undefined;
  };
}

/** Set to `down` for one update, when there is no control plane left whose quorum must be kept. */
export const downVariable = "FENESTRA_CONTROL_PLANE";

/**
 * Whether the deployer declares that the whole control plane is down, or has never come up. From outside that looks
 * like a missing route to it, so only a person can decide it. No machine then waits for another; the last gate still
 * waits for all of them.
 */
export function controlPlaneIsDown(): boolean {
  return process.env[downVariable] === "down";
}
