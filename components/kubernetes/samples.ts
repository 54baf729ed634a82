import type { ClusterSpec } from "../model/clusterSpec.ts";
import { hasCredentials } from "../model/credentials.ts";
import type { AddOnEntry } from "./addOnEntry.ts";
import { cloudController } from "./addOns/cloudController.ts";
import { gmsa } from "./addOns/gmsa.ts";
import { metricsServer } from "./addOns/metrics.ts";
import { networking } from "./addOns/networking.ts";
import { smb } from "./addOns/smb.ts";
import { storage } from "./addOns/storage.ts";
import { workloadIdentity } from "./addOns/workloadIdentity.ts";
import { guardRails } from "./guardRails.ts";
import type { Manifest, Text } from "./manifest.ts";
import { runtimeClasses } from "./runtimeClasses.ts";
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

/** Samples come last: they need nodes, a cloud controller for their load balancers and a driver for their disks. */
export const samples: AddOnEntry = {
  name: "samples",
  after: [runtimeClasses, networking, cloudController, storage, smb, guardRails, metricsServer, gmsa, workloadIdentity],
  settings: ["samples"],
  needsPools: true,
  manifests: (spec, values) => sampleManifests(spec, values.workloadIdentity?.sampleUrl),
};

/** The samples of a cluster: each per Windows build in use, and only those whose add-on is installed. None without Windows nodes. */
function sampleManifests(
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
