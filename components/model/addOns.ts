import type { StackConfig } from "../config/schema.ts";

type Settings = StackConfig["addons"];

/** Add-ons whose default follows from the rest of the stack file. */
type Decided = "autoscaler" | "samples";

/** In-cluster add-ons with every default decided. */
export type AddOns = Readonly<Omit<Settings, Decided> & Record<Decided, boolean>>;

/** The add-ons that a config enables: the autoscaler follows the pools, the samples follow the environment. */
export function addOns({ addons, pools, environment }: Pick<StackConfig, "addons" | "environment" | "pools">): AddOns {
  return {
    ...addons,
    autoscaler: addons.autoscaler ?? pools.some((pool) => pool.autoscale !== undefined),
    samples: addons.samples ?? environment !== "production",
  };
}
