import * as pulumi from "@pulumi/pulumi";
import { type ApiClient, type MemberNode, memberProblem } from "./apiProbe.ts";
import { controlPlaneIsDown } from "./peersGate.ts";
import { resolvedValue } from "./resolvedValue.ts";
import { type Patience, waitFor } from "./waitFor.ts";

/** What `memberGate` is made from. */
export interface MemberGateArgs {
  /** Changes when, and only when, the machine was replaced: its id. */
  readonly machine: pulumi.Input<string>;
  /** Its node. */
  readonly node: pulumi.Input<MemberNode>;
  /** The API, through the load balancer. */
  readonly api: pulumi.Input<ApiClient>;
  readonly patience?: Patience;
}

/**
 * A gate between one control-plane machine and the next. It holds the machine's id, so it is updated when the machine was replaced, and
 * waits, before that update is saved, until the new machine is a healthy etcd member. A failed wait leaves the old state, so the next run
 * waits at the same gate again. The first creation waits for nothing: one machine of three has no quorum.
 */
export function memberGate(name: string, args: MemberGateArgs, opts: pulumi.CustomResourceOptions): pulumi.Stash {
  const hook = new pulumi.ResourceHook(name, async () => {
    if (controlPlaneIsDown()) return;
    const api = await resolvedValue(args.api);
    const member = await resolvedValue(args.node);
    await waitFor(`control-plane machine ${member.node}`, () => memberProblem(api, member), args.patience);
  });
  return new pulumi.Stash(name, { input: args.machine }, { ...opts, hooks: { beforeUpdate: [hook] } });
}
