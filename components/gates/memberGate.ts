import * as pulumi from "@pulumi/pulumi";
import { type ApiClient, memberProblem } from "./apiProbe.ts";
import { known } from "./known.ts";
import { type Patience, waitFor } from "./waitFor.ts";

/** Arguments of `memberGate`. */
export interface MemberGateArgs {
  /** Changes when, and only when, the machine was replaced: its id. */
  readonly machine: pulumi.Input<string>;
  /** Name of the machine's node. Default: `machine`. */
  readonly node?: pulumi.Input<string>;
  /** When the machine was made, RFC 3339, where the node keeps its name over a replacement. */
  readonly since?: pulumi.Input<string>;
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
    const api = await known(args.api);
    const machine = await known(args.machine);
    const node = args.node === undefined ? machine : await known(args.node);
    const since = args.since === undefined ? {} : { since: await known(args.since) };
    await waitFor(`control-plane machine ${node}`, () => memberProblem(api, { node, ...since }), args.patience);
  });
  return new pulumi.Stash(name, { input: args.machine }, { ...opts, hooks: { beforeUpdate: [hook] } });
}
