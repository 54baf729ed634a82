import type { StackConfig } from "../config/schema.ts";
import type { PodNetwork } from "./podNetwork.ts";
import type { ServiceAccountName } from "./workloadIdentity.ts";

type Settings = StackConfig["addons"];

/** Add-ons whose default follows from the rest of the stack file. */
type Decided = "autoscaler" | "samples";

/** In-cluster add-ons with every default decided. */
export type AddOns = Readonly<Omit<Settings, Decided> & Record<Decided, boolean>>;

export function addOns({ addons, pools, environment }: Pick<StackConfig, "addons" | "environment" | "pools">): AddOns {
  return {
    ...addons,
    autoscaler: addons.autoscaler ?? pools.some((pool) => pool.autoscale !== undefined),
    samples: addons.samples ?? environment !== "production",
  };
}

/** Namespace of the node agents, privileged since they access the node itself. */
export const monitoringNamespace = "fenestra-monitoring";

/** Namespaces for HostProcess pods, pods with the host's namespaces and pods on control-plane machines. */
export function systemNamespaces(spec: {
  readonly kubernetes: { readonly podNetwork: Pick<PodNetwork, "namespace"> };
}): readonly string[] {
  const { namespace } = spec.kubernetes.podNetwork;
  return ["kube-system", ...(namespace === undefined ? [] : [namespace]), monitoringNamespace];
}

/** Service account of the collectors, the only one that may write the logs. */
export const logsAccount: ServiceAccountName = { namespace: "fenestra-monitoring", name: "log-collector" };

/** Collectors by their nodes, each with its own configuration, and a log stream of its name in CloudWatch. */
export const logCollectors = ["control-plane", "linux", "windows"] as const;

export type LogCollector = (typeof logCollectors)[number];

export type LogSettings = NonNullable<StackConfig["addons"]["logs"]>;

export function logGroupName(cluster: string): string {
  return `/fenestra/${cluster}`;
}
