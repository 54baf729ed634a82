import * as pulumi from "@pulumi/pulumi";
import { type ApiClient, apiProblem, type MemberNode, memberProblem } from "./apiProbe.ts";
import { resolvedValue } from "./resolvedValue.ts";
import { type Patience, waitFor } from "./waitFor.ts";

export interface ApiGateArgs {
  /** Ids of all control-plane machines: the gate waits again when one of them changes. */
  readonly machines: pulumi.Input<pulumi.Input<string>[]>;
  /** The same machines as nodes. */
  readonly members: readonly pulumi.Input<MemberNode>[];
  /** The API, through the load balancer that the deployer reaches. */
  readonly api: pulumi.Input<ApiClient>;
  readonly patience?: Patience;
}

/**
 * The gate behind the whole control plane: it opens when `/readyz` answers and every machine is a healthy member, those that were added by
 * this update too. Pools and everything in the cluster depend on it, so that a kubelet is never newer than the API.
 */
export function apiGate(name: string, args: ApiGateArgs, opts: pulumi.CustomResourceOptions): pulumi.Stash {
  const hook = new pulumi.ResourceHook(name, async () => {
    const api = await resolvedValue(args.api);
    const members = await Promise.all(args.members.map((member) => resolvedValue(member)));
    await waitFor(`the Kubernetes API at ${api.server}`, () => controlPlaneProblem(api, members), args.patience);
  });
  return new pulumi.Stash(name, { input: args.machines }, { ...opts, hooks: { beforeCreate: [hook], beforeUpdate: [hook] } });
}

async function controlPlaneProblem(api: ApiClient, members: readonly MemberNode[]): Promise<string | undefined> {
  const problem = await apiProblem(api);
  if (problem !== undefined) return problem;
  const problems = await Promise.all(members.map((member) => memberProblem(api, member)));
  return problems.filter((each) => each !== undefined).join("; ") || undefined;
}
