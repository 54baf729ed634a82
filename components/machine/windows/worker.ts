import { stringify } from "yaml";
import { requireArtifact, windowsImage } from "../../model/artifacts.ts";
import type { PodNetwork } from "../../model/podNetwork.ts";
import { ports } from "../../model/ports.ts";
import { pauseImage, versionFor, versions } from "../../model/releases.ts";
import { healthSeconds, heartbeatSeconds, noticeSeconds } from "../../model/timings.ts";
import { cloudSection } from "../cloudAccess.ts";
import { containerdConfig, containerdPaths } from "../containerd.ts";
import { credentialFiles } from "../credentialProvider.ts";
import { kubeletConfiguration } from "../kubeletConfig.ts";
import {
  fingerprinted,
  type PayloadFile,
  trustFiles,
  userFiles,
  type WorkerPayload,
  withTemplates,
} from "../payload.ts";
import { bootstrapKubeconfig } from "../placeholders.ts";
import { registryConfigDir, registryMirrorFiles } from "../registryMirrors.ts";
import { readScript, secretPatterns } from "../script.ts";
import { loginSettings, userPaths } from "./logins.ts";
import { protectedFolders, windowsPaths, windowsPrograms, windowsScript } from "./paths.ts";
import { networkRepairs } from "./repairs.ts";
import { kubeProxyProgram, serviceLogs } from "./services.ts";
import {
  hashedStages,
  stageSections,
  stagesOf,
  stageWaves,
  type WindowsWorkerArgs,
  windowsExitCodes,
  windowsReboots,
  windowsStages,
} from "./stages.ts";

/** Scripts that a Windows node receives whatever its pod network, real files in a folder beside this module. */
const sharedScripts = [
  "bootstrap.ps1",
  "run.ps1",
  "stage.ps1",
  ...windowsStages.map(({ script }) => script),
  "fetch.ps1",
  "files.ps1",
  "lib.ps1",
  "settings.ps1",
  "image.ps1",
  "task.ps1",
  "fetch-files.ps1",
  "hns.ps1",
  "routes.ps1",
  "state.ps1",
  "services.ps1",
  "report.ps1",
  "sigv4.ps1",
  "web.ps1",
  "identity.ps1",
  "joined.ps1",
  "notice.ps1",
  "drain.ps1",
  "watch-notices.ps1",
  "watch-health.ps1",
  "start-collector.ps1",
  "bake.ps1",
] as const;

/** The scripts that a Windows node receives, by name, those of its pod network too, and the one that makes images. */
export function windowsScripts({ windows: { scripts } }: PodNetwork): readonly string[] {
  return [...sharedScripts, scripts.repair, "prepull.ps1", "pod.ps1", ...scripts.agents, "collect-logs.ps1"];
}

/** One of `windowsScripts` as a node gets it. */
export function readWindowsScript(name: string, { windows: { folder, scripts } }: PodNetwork): string {
  const own = [scripts.repair, ...scripts.agents].includes(name);
  return readScript(own ? new URL(name, folder) : new URL(`scripts/${name}`, import.meta.url));
}

/**
 * Seconds between Ready and the pull of images that pods may need: two gigabytes would compete with the first pods on
 * two processors.
 */
const prePullSeconds = 300;

/** How often a task that is not running is restarted, in minutes. */
const taskMinutes = 5;

/**
 * Columns of a node's pods that the drain reads, for `kubectl get --output custom-columns=`; a missing value is
 * `<none>`. Not whole pods as JSON: Windows PowerShell refuses keys that differ only in case, such as the labels `App`
 * and `app` (PowerShell/PowerShell#3705).
 */
export const podColumns = [
  "NAMESPACE:.metadata.namespace",
  "NAME:.metadata.name",
  "PHASE:.status.phase",
  "OWNERS:.metadata.ownerReferences[*].kind",
  "MIRROR:.metadata.annotations.kubernetes\\.io/config\\.mirror",
  "DELETED:.metadata.deletionTimestamp",
].join(",");

/** Payload of a Windows worker. Contains no secret. */
export function windowsWorkerPayload(args: WindowsWorkerArgs): WorkerPayload {
  const { spec, pool } = args;
  const network = spec.kubernetes.podNetwork;
  const configs: readonly PayloadFile[] = [
    { path: windowsPaths.kubeletConfig, content: stringify(kubeletConfiguration({ spec, pool })) },
    {
      path: windowsPaths.containerdConfig,
      content: containerdConfig({
        os: "windows",
        pauseImage: pauseImage(spec.artifacts, spec.kubernetes.version),
        hyperV: pool.hyperV,
      }),
    },
    ...credentialFiles(spec, "windows", args.access),
    ...trustFiles(spec, "windows"),
    ...registryMirrorFiles({ os: "windows", registries: spec.mirror.registries, credentials: spec.credentials }),
    ...network.windows.files(spec, pool),
    { path: windowsPaths.bootstrapTemplate, content: bootstrapKubeconfig() },
    ...loginSettings(spec),
  ];
  const used = new Set(stagesOf(spec, pool).map(({ name }) => name));
  const unused = [
    "bake.ps1",
    ...windowsStages.flatMap(({ name, script }) => (used.has(name) ? [] : [script])),
    ...(spec.addons.logs === undefined ? ["start-collector.ps1"] : []),
  ];
  const scripts = windowsScripts(network)
    .filter((name) => !unused.includes(name))
    .map((name) => ({ path: windowsScript(name), content: readWindowsScript(name, network) }));
  const machine = {
    path: windowsPaths.machine,
    content: `${JSON.stringify(windowsMachine(args, configs), null, 2)}\n`,
  };
  return fingerprinted(
    {
      kind: "windows",
      files: [
        machine,
        { path: windowsPaths.repairs, content: `${JSON.stringify(networkRepairs, null, 2)}\n` },
        { path: windowsScript("secret-patterns.txt"), content: secretPatterns },
        ...withTemplates("windows", configs),
        ...scripts,
        ...userFiles(pool, userPaths),
      ],
      entry: windowsPaths.entry,
    },
    spec,
    pool,
  );
}

/** How long a node drains, in seconds, and by what it knows that it must. */
function drainSettings({ timings, machines }: WindowsWorkerArgs["spec"]["facts"]) {
  return {
    seconds: timings.drain.windows,
    spotSeconds: timings.spotDrain.windows,
    /** Reserved from an announced time for notifying the cloud. */
    reserveSeconds: 20,
    pauseSeconds: 5,
    heartbeatSeconds,
    away: timings.balancerLeaves,
    ends: machines.drainEvents.leaves.join(" "),
    columns: podColumns,
  };
}

/** What the tasks of health and of notices look at, how often and how patiently. */
const watchSettings = {
  noticeSeconds,
  healthSeconds: 30,
  roundSeconds: 600,
  beatSeconds: 300,
  lostRounds: 2,
  sickRounds: 10,
  kubeletHealth: "http://127.0.0.1:10248/healthz",
  proxyHealth: `http://127.0.0.1:${ports.kubeProxyHealth}/livez`,
  healthPort: ports.joined,
  healthPatience: healthSeconds.patience,
  logBytes: serviceLogs.bytes,
} as const;

/** Every setting of a pool's machines as data, read by the scripts. */
function windowsMachine({ spec, pool, access }: WindowsWorkerArgs, configs: readonly PayloadFile[]) {
  const { cloud, lifecycle } = access;
  const { windows: facts } = spec.facts.machines;
  const ofPods = spec.kubernetes.podNetwork;
  const rules = stagesOf(spec, pool);
  const sections = stageSections({ spec, pool, access }, configs);
  const contents = configs.map(({ path, content }) => [path, content] as const);
  const stages = hashedStages(rules, { spec, pool, access, sections, contents }, (name) =>
    readWindowsScript(name, ofPods),
  );
  return {
    pool: pool.name,
    kubernetes: spec.kubernetes.version,
    cloud: cloudSection(cloud),
    lifecycle: lifecycle ?? null,
    foreground: facts.foreground,
    statusFiles: facts.statusFiles,
    console: facts.console,
    protected: protectedFolders([
      ...ofPods.windows.protectedFolders,
      ...(spec.credentials.registries.length === 0 ? [] : [registryConfigDir.windows]),
    ]),
    tasks: [
      { name: "fenestra-run", script: windowsScript("run.ps1"), minutes: 0 },
      { name: "fenestra-notices", script: windowsScript("watch-notices.ps1"), minutes: taskMinutes },
      { name: "fenestra-health", script: windowsScript("watch-health.ps1"), minutes: taskMinutes },
    ],
    waves: stageWaves(rules),
    stages,
    exitCodes: windowsExitCodes,
    reboots: windowsReboots,
    // The last pause repeats. The lock is another's for longer than any stage may take: it hangs.
    retry: { pauseSeconds: [10, 20, 40, 80, 160, 300], jitter: 0.2, foregroundAttempts: 3, lockSeconds: 2100 },
    readySeconds: 900,
    paths: machinePaths,
    programs: {
      kubectl: windowsPrograms.kubectl,
      crictl: windowsPrograms.crictl,
      hostLocal: windowsPrograms.hostLocal,
    },
    ...sections,
    kubeletEndpoint: containerdPaths.windows.endpoint,
    ...ofPods.windows.data,
    kubeProxy: kubeProxyProgram(spec),
    drain: drainSettings(spec.facts),
    watch: watchSettings,
    // Pulled while the kubelet waits for its certificate.
    firstImages: firstImages(spec),
    // The base image of most Windows pods, of the pool's build: exactly the reference that pods name.
    prePull: { images: [windowsImage(spec.artifacts, "servercore", pool.release)], afterSeconds: prePullSeconds },
    cloudLogs: facts.cloudLogs,
  };
}

/** What a Ready node runs first: the sandbox, and the base of the pod network's and kube-proxy's pods. */
function firstImages({ artifacts, kubernetes: { version } }: WindowsWorkerArgs["spec"]): readonly string[] {
  const name = "mcr.microsoft.com/oss/kubernetes/windows-host-process-containers-base-image";
  return [
    pauseImage(artifacts, version),
    requireArtifact(artifacts, { name, version: versionFor(versions.images[name], version, "windows"), os: "windows" })
      .url,
  ];
}

/** Paths that the scripts need, by the names they use. */
const machinePaths = {
  machine: windowsPaths.machine,
  repairs: windowsPaths.repairs,
  node: windowsPaths.node,
  state: windowsPaths.state,
  image: windowsPaths.image,
  logs: windowsPaths.logs,
  dumps: windowsPaths.dumps,
  downloads: windowsPaths.downloads,
  cniBin: windowsPaths.cniBin,
  containerdConfig: windowsPaths.containerdConfig,
  kubeletState: windowsPaths.kubeletState,
  certificates: windowsPaths.kubeletCertificates,
  clusterCa: windowsPaths.clusterCa,
  kubeconfig: windowsPaths.kubeletKubeconfig,
  kubeconfigTemplate: windowsPaths.bootstrapTemplate,
  bootstrapKubeconfig: windowsPaths.bootstrapKubeconfig,
  serviceAccountToken: windowsPaths.serviceAccountToken,
} as const;
