import type { StackConfig } from "../config/schema.ts";

/** In-cluster add-ons with every default decided. */
export interface AddOns {
  readonly cloudController: boolean;
  readonly storage: boolean;
  /** Windows shares as volumes; `undefined` when the SMB driver is off. */
  readonly smb: StackConfig["addons"]["smb"];
  readonly guardRails: boolean;
  readonly csrApprover: boolean;
  readonly metricsServer: boolean;
  readonly exporters: boolean;
  readonly serviceMonitors: boolean;
  readonly nodeProblemDetector: boolean;
  /** Where logs are sent; `undefined` when they stay on the nodes. */
  readonly logs: StackConfig["addons"]["logs"];
  readonly autoscaler: boolean;
  /** Limits of the autoscaler over all pools; `undefined` for its defaults. */
  readonly autoscalerLimits: StackConfig["addons"]["autoscalerLimits"];
  /** Accounts for pods; `undefined` when gMSA is off. */
  readonly gmsa: StackConfig["addons"]["gmsa"];
  readonly samples: boolean;
}

/** The add-ons that a config enables: the autoscaler follows the pools, the samples follow the environment. */
export function addOns({ addons, pools, environment }: StackConfig): AddOns {
  return {
    ...addons,
    autoscaler: addons.autoscaler ?? pools.some((pool) => pool.autoscale !== undefined),
    autoscalerLimits: addons.autoscalerLimits,
    smb: addons.smb,
    logs: addons.logs,
    gmsa: addons.gmsa,
    samples: addons.samples ?? environment !== "production",
  };
}
