import { readFileSync } from "node:fs";
import { readScript } from "../machine/script.ts";
import { curlArguments, sources } from "../machine/windows/artifacts.ts";
import { requireArtifact, windowsImage } from "../model/artifacts.ts";
import type { ClusterSpec } from "../model/clusterSpec.ts";
import { hasCredentials } from "../model/nodeSettings.ts";
import type { WindowsFacts } from "../model/operatingSystems.ts";
import { ccgPluginLabel } from "../model/pools.ts";
import { otherReleases } from "../model/releases.ts";
import type { AddOnEntry } from "./addOnEntry.ts";
import { cloudController } from "./addOns/cloudController.ts";
import { credentialSpecRole, gmsa } from "./addOns/gmsa.ts";
import { metricsServer } from "./addOns/metrics.ts";
import { networking } from "./addOns/networking.ts";
import { volumes } from "./addOns/volumes.ts";
import { workloadIdentity } from "./addOns/workloadIdentity.ts";
import { documentsOf } from "./guardRails/ownNode.ts";
import { runtimeClasses } from "./guardRails/places.ts";
import { guardRails } from "./guardRails.ts";
import { image } from "./images.ts";
import type { Manifest, Text } from "./manifest.ts";

/** Last: they need nodes, a cloud controller for their load balancers and a driver for their disks. */
export const samples: AddOnEntry = {
  name: "samples",
  after: [runtimeClasses, networking, cloudController, volumes, guardRails, metricsServer, gmsa, workloadIdentity],
  settings: ["samples"],
  needsPools: true,
  manifests: (spec, values) => sampleManifests(spec, values.workloadIdentity?.sampleUrl),
};

/** By `NAME`, what stands for `"@NAME@"` in a file: a text, a whole part, or nothing, which leaves the field out. */
type Values = Readonly<Record<string, unknown>>;

const own = (file: string): URL => new URL(`samples/${file}`, import.meta.url);

/** A document with values in place of `@NAME@`; only texts may stand within a longer text. */
function filled(document: string, values: Values): Manifest {
  const valueFor = (name: string): unknown => {
    if (!Object.hasOwn(values, name)) throw new RangeError(`a sample names @${name}@, of which there is no value`);
    return values[name];
  };
  return JSON.parse(document, (_, value: unknown) => {
    if (typeof value !== "string") return value;
    const whole = /^@([A-Z0-9_]+)@$/.exec(value)?.[1];
    return whole === undefined
      ? value.replaceAll(/@([A-Z0-9_]+)@/g, (_text, name: string) => String(valueFor(name)))
      : valueFor(whole);
  });
}

/** Each sample per Windows build in use, and only those whose add-on is installed. */
function sampleManifests(spec: ClusterSpec, objectUrl: Text | undefined): readonly Manifest[] {
  const { addons, windows } = spec;
  if (windows.length === 0) return [];
  const common = { ...clusterValues(spec), OBJECT_URL: objectUrl };
  const of = (name: string, builds = windows): readonly Manifest[] =>
    documentsOf(own(`${name}.yaml`))
      .map((each) => JSON.stringify(each))
      .flatMap((document) =>
        document.includes("@YEAR@")
          ? builds.map((os) => filled(document, { ...common, ...buildValues(spec, os) }))
          : [filled(document, common)],
      );
  return [
    ...of("namespace"),
    ...of("win-webserver"),
    ...of("iis"),
    // Its pods fetch LogMonitor, and pods get no login of the machines.
    ...(hasCredentials(spec.credentials) ? [] : of("log-monitor")),
    ...of("job"),
    ...of("run-as-user"),
    ...of("host-process"),
    ...(addons.storage ? of("persistent") : []),
    ...(common.GMSA_NAME === undefined ? [] : of("gmsa", domainBuilds(spec))),
    ...(addons.metricsServer ? of("autoscaled") : []),
    ...(objectUrl === undefined ? [] : of("read-object")),
  ].filter(
    (manifest) => addons.cloudController || manifest.kind !== "Service" || manifest.spec?.type !== "LoadBalancer",
  );
}

/** Builds whose nodes can act in the domain: with an account of the plug-in, those of a pool that has it. */
function domainBuilds({ addons, pools, windows }: ClusterSpec): readonly WindowsFacts[] {
  if (addons.gmsa?.credentialSpecs[0]?.secret === undefined) return windows;
  return windows.filter(({ name }) =>
    pools.some((pool) => pool.os === "windows" && pool.ccgPlugin && pool.release.name === name),
  );
}

function buildValues(spec: ClusterSpec, os: WindowsFacts): Values {
  // Within the container where the kubelet cannot reach pods by their addresses.
  const answers = spec.kubernetes.podNetwork.windows.hostReachesOwnPods(os)
    ? { httpGet: { path: "/", port: "http" } }
    : { exec: { command: ["curl.exe", "--silent", "--fail", "--output", "NUL", "http://localhost/"] } };
  return {
    RELEASE: os.name,
    YEAR: os.name.replace("windows-", ""),
    SERVERCORE: windowsImage(spec.artifacts, "servercore", os),
    NANOSERVER: windowsImage(spec.artifacts, "nanoserver", os),
    IIS: windowsImage(spec.artifacts, "servercore/iis", os),
    ANSWERS: { ...answers, periodSeconds: 5, timeoutSeconds: 5 },
  };
}

function clusterValues(spec: ClusterSpec) {
  const { addons, artifacts, cloud, facts } = spec;
  const name = "registry.k8s.io/e2e-test-images/agnhost";
  const [account] = addons.gmsa?.credentialSpecs ?? [];
  // Windows PowerShell cannot sign requests to S3; the machines' scripts can.
  const signer = facts.access.signsObjects
    ? readScript(new URL("../machine/windows/scripts/sigv4.ps1", import.meta.url))
    : "";
  return {
    ...logMonitorValues(spec),
    HOST_PROCESS: image(spec, "mcr.microsoft.com/oss/kubernetes/windows-host-process-containers-base-image", "windows"),
    AGNHOST: requireArtifact(artifacts, { name, version: otherReleases[name].recent, os: "linux" }).url,
    WEB_SERVER: readFileSync(own("winWebserver.ps1"), "utf8"),
    // Who sets the number owns the field: with an autoscaler the next server-side apply would end in a conflict
    // (pulumi/pulumi-kubernetes#2491).
    WEB_SERVERS: addons.metricsServer ? undefined : 2,
    READ_SH: readScript(own(`readObject.${cloud}.sh`)),
    READ_PS1: signer + readScript(own(`readObject.${cloud}.ps1`)),
    GMSA_NAME: account?.name,
    GMSA_ROLE: credentialSpecRole(account?.name ?? ""),
    GMSA_DOMAIN: account?.domain.dnsName,
    CCG_NODES: account?.secret === undefined ? undefined : { [ccgPluginLabel]: "true" },
  };
}

/** Where the init container finds LogMonitor.exe, and the digest it must have. */
function logMonitorValues(spec: ClusterSpec): Values {
  const artifact = requireArtifact(spec.artifacts, {
    name: "LogMonitor.exe",
    version: otherReleases["LogMonitor.exe"],
    os: "windows",
  });
  const unknown = artifact.digest === null && artifact.checksumUrl !== undefined;
  return {
    FETCH: readFileSync(own("logMonitor.ps1"), "utf8"),
    LOG_MONITOR_CURL: curlArguments(spec).join(" "),
    LOG_MONITOR_URLS: sources(spec, artifact.url).join(" "),
    LOG_MONITOR_SHA256: artifact.digest ?? "",
    LOG_MONITOR_RELEASES: unknown ? sources(spec, artifact.checksumUrl).join(" ") : "",
  };
}
