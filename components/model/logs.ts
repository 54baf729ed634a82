import type { StackConfig } from "../config/schema.ts";
import type { ServiceAccountName } from "./workloadIdentity.ts";

/** Service account of the collectors, the only one with the right to write the logs. */
export const logsAccount: ServiceAccountName = { namespace: "fenestra-monitoring", name: "log-collector" };

/** Collectors by the nodes that they run on, each with its own configuration, and with a log stream of its name in CloudWatch. */
export const logCollectors = ["control-plane", "linux", "windows"] as const;

export type LogCollector = (typeof logCollectors)[number];

export type LogSettings = NonNullable<StackConfig["addons"]["logs"]>;

/** Log group of a cluster in CloudWatch. */
export function logGroupName(cluster: string): string {
  return `/fenestra/${cluster}`;
}
