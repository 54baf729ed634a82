import type { StackConfig } from "../config/schema.ts";
import { type Artifact, findArtifact } from "./artifacts.ts";
import { otherReleases } from "./releases.ts";
import type { ServiceAccountName } from "./workloadIdentity.ts";

/** Service account of the collectors, the only one with the right to write the logs. */
export const logsAccount: ServiceAccountName = { namespace: "fenestra-monitoring", name: "log-collector" };

/** Collectors by the nodes that they run on, each with its own configuration, and with a log stream of its name in CloudWatch. */
export const logCollectors = ["control-plane", "linux", "windows"] as const;

/** Which nodes a collector runs on. */
export type LogCollector = (typeof logCollectors)[number];

/** The collector for Windows in the lock file. */
const windowsCollector = { name: "otelcol-contrib", version: otherReleases["otelcol-contrib"], os: "windows" } as const;

/** Where logs are sent, and which. */
export type LogSettings = NonNullable<StackConfig["addons"]["logs"]>;

/** The archive that Windows nodes install: the stack file's, else that of the lock file once it has a digest. */
export function windowsLogCollector(
  settings: Pick<LogSettings, "windowsCollector">,
  lock: readonly Artifact[],
): { readonly url: string; readonly sha256: string } | undefined {
  if (settings.windowsCollector !== undefined) return settings.windowsCollector;
  const found = findArtifact(lock, windowsCollector);
  return found === undefined || found.digest === null ? undefined : { url: found.url, sha256: found.digest };
}

/** Log group of a cluster in CloudWatch. */
export function logGroupName(cluster: string): string {
  return `/fenestra/${cluster}`;
}
