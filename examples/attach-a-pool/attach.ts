import type * as pulumi from "@pulumi/pulumi";
import type { AttachedPools } from "../../components/config/attachedPools.ts";
import type { ApiClient } from "../../components/gates/apiProbe.ts";
import type { PoolRoll } from "../../components/gates/poolGate.ts";
import type { PoolSpec } from "../../components/model/pools.ts";

/** A pool as both clouds make it. */
interface MadePool {
  readonly spec: PoolSpec;
  readonly group: pulumi.Resource;
  readonly groupName: pulumi.Output<string>;
  readonly fingerprint: pulumi.Input<string>;
  readonly roll: PoolRoll;
}

/** Makes the pools on a cloud, from the output `attachment` of the cluster. */
export type Attach = (given: AttachedPools, attachment: object, api: pulumi.Output<ApiClient>) => readonly MadePool[];
