import type { ClusterSpec } from "../model/clusterSpec.ts";
import { hasCredentials } from "../model/credentials.ts";
import type { Manifest, Text } from "./manifest.ts";
import { autoscaledManifests } from "./samples/autoscaled.ts";
import { gmsaSampleManifests } from "./samples/gmsa.ts";
import { hostProcessManifests } from "./samples/hostProcess.ts";
import { iisManifests } from "./samples/iis.ts";
import { jobManifests } from "./samples/job.ts";
import { logMonitorManifests } from "./samples/logMonitor.ts";
import { persistentManifests } from "./samples/persistent.ts";
import { readObjectManifests } from "./samples/readObject.ts";
import { runAsUserManifests } from "./samples/runAsUser.ts";
import { samplesNamespaceManifest } from "./samples/sampleSite.ts";
import { winWebserverManifests } from "./samples/winWebserver.ts";

/** The samples of a cluster: each per Windows build in use, and only those whose add-on is installed. None without Windows nodes. */
export function sampleManifests(
  spec: Pick<
    ClusterSpec,
    "addons" | "artifacts" | "cloud" | "credentials" | "httpProxy" | "kubernetes" | "noProxy" | "mirror" | "network" | "pools" | "windows"
  >,
  objectUrl: Text | undefined,
): readonly Manifest[] {
  if (spec.windows.length === 0) return [];
  return [
    samplesNamespaceManifest(),
    ...winWebserverManifests(spec),
    ...iisManifests(spec),
    // Its pods fetch LogMonitor, and pods get no login of the machines.
    ...(hasCredentials(spec.credentials) ? [] : logMonitorManifests(spec)),
    ...jobManifests(spec),
    ...runAsUserManifests(spec),
    ...hostProcessManifests(spec),
    ...(spec.addons.storage ? persistentManifests(spec) : []),
    ...gmsaSampleManifests(spec),
    ...(spec.addons.metricsServer ? autoscaledManifests(spec) : []),
    ...(objectUrl === undefined ? [] : readObjectManifests(spec, objectUrl)),
  ];
}
