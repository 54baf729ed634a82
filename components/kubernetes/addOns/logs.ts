import { createHash } from "node:crypto";
import { controlPlanePaths } from "../../machine/linux/kubeadm.ts";
import { noProxy } from "../../machine/proxy.ts";
import { windowsPaths, windowsScript } from "../../machine/windows/paths.ts";
import { tokenFacts } from "../../model/cloudFacts/identities.ts";
import type { ClusterSpec } from "../../model/clusterSpec.ts";
import { type LogCollector, type LogSettings, logCollectors, logsAccount } from "../../model/nodeSettings.ts";
import { controlPlaneKey } from "../../model/pools.ts";
import type { AddOnEntry } from "../addOnEntry.ts";
import { image } from "../images.ts";
import {
  type Container,
  clusterRights,
  type Manifest,
  mapText,
  rule,
  serviceAccount,
  type Text,
  type Volume,
} from "../manifest.ts";
import { configMap, daemonSet, everyTaint, hostPath, linuxOnly, nodeName, onNodesThat, small } from "../workload.ts";
import {
  collectorMebibytes,
  collectorName,
  headerVariable,
  journalFolder,
  journalRoot,
  logConfiguration,
  stateFolders,
} from "./logConfiguration.ts";
import { monitoring } from "./metrics.ts";
import { networking } from "./networking.ts";
import { windowsAgent } from "./nodeAgents.ts";
import { identityFolders, identityTokenSeconds } from "./workloadIdentity.ts";

/** Variables of a collector's identity in the cloud. */
type LogIdentity = Readonly<Record<string, Text>>;

/**
 * Where the image looks for its configuration (open-telemetry/opentelemetry-collector-releases: Dockerfile of contrib).
 */
const linuxConfiguration = "/etc/otelcol-contrib";
const windowsConfiguration = `${windowsPaths.kubernetes}\\${collectorName}`;

export const logs: AddOnEntry = {
  name: "logs",
  after: [monitoring, networking],
  settings: ["logs"],
  manifests: (spec, { nodeEndpoint, logIdentity }) => logManifests(spec, nodeEndpoint, logIdentity),
};

/**
 * A collector of logs on every node: on Linux from an image, on Windows the node's own program as HostProcess pod,
 * since no image is for Windows Server 2025, and a plain pod reads no event log. On control-plane machines it reads the
 * audit log too.
 *
 * @param identity required for the services of the clouds
 */
function logManifests(spec: ClusterSpec, nodeEndpoint: Text, identity: LogIdentity | undefined): readonly Manifest[] {
  const { logs: settings } = spec.addons;
  if (settings === undefined) return [];
  const collectors = logCollectors.filter((collector) => collector !== "windows" || spec.windows.length > 0);
  return [
    serviceAccount(logsAccount),
    ...clusterRights(logsAccount, "fenestra:log-collector", [rule("", ["pods"], ["get", "list", "watch"])]),
    ...collectors.flatMap((collector): Manifest[] => {
      const configuration = logConfiguration(spec, collector, settings);
      const common = containerParts(spec, collector, settings, configuration, identity);
      return [
        configMap({ ...logsAccount, name: workloadName(collector) }, { "config.yaml": configuration }),
        collector === "windows"
          ? windowsCollector(spec, nodeEndpoint, common)
          : linuxCollector(spec, collector, common),
      ];
    }),
  ];
}

function workloadName(collector: LogCollector): string {
  return collector === "linux" ? collectorName : `${collectorName}-${collector}`;
}

interface ContainerParts {
  readonly env: NonNullable<Container["env"]>;
  /** Volume with the identity's token for the cloud. */
  readonly token: Volume | undefined;
  readonly resources: NonNullable<Container["resources"]>;
}

function containerParts(
  spec: ClusterSpec,
  collector: LogCollector,
  { otlp }: LogSettings,
  configuration: string,
  identity: LogIdentity | undefined,
): ContainerParts {
  const token = { audience: tokenFacts[spec.cloud].audience, expirationSeconds: identityTokenSeconds, path: "token" };
  const limit = collectorMebibytes.container[collector === "windows" ? "windows" : "linux"];
  return {
    env: [
      // A collector reads its configuration only at its start.
      { name: "CONFIGURATION", value: createHash("sha256").update(configuration).digest("hex").slice(0, 16) },
      ...(otlp?.headers ?? []).map(({ secret, key }, index) => ({
        name: headerVariable(index),
        valueFrom: { secretKeyRef: { name: secret, key } },
      })),
      ...Object.entries(identity ?? {}).map(([name, value]) => ({ name, value })),
    ],
    token:
      identity === undefined
        ? undefined
        : { name: "identity", projected: { sources: [{ serviceAccountToken: token }] } },
    resources: small("50m", "128Mi", `${limit}Mi`),
  };
}

function proxyVariables(spec: ClusterSpec, nodeEndpoint?: Text): NonNullable<Container["env"]> {
  const { httpProxy } = spec;
  if (httpProxy === undefined) return [];
  const direct = noProxy(spec);
  return [
    { name: "HTTPS_PROXY", value: httpProxy },
    {
      name: "NO_PROXY",
      value: nodeEndpoint === undefined ? direct : mapText(nodeEndpoint, (host) => `${direct},${host}`),
    },
  ];
}

type Folder = readonly [name: string, path: string, at: string, type: string];

const linuxFolders: readonly Folder[] = [
  ["pods", "/var/log/pods", "/var/log/pods", "DirectoryOrCreate"],
  ["programs", "/usr", `${journalRoot}/usr`, "Directory"],
  // Links to folders of /usr: every program names its loader by the first, and the loader is a link by the second.
  ["loader", "/lib64", `${journalRoot}/lib64`, "Directory"],
  ["libraries", "/lib", `${journalRoot}/lib`, "Directory"],
  ["journal", journalFolder, `${journalRoot}${journalFolder}`, "DirectoryOrCreate"],
];
const auditFolder: Folder = ["audit", controlPlanePaths.auditLogs, controlPlanePaths.auditLogs, "DirectoryOrCreate"];

/**
 * Runs as root, since logs are root's, with one right of root: to read the journal it runs the node's own journalctl in
 * a root that has the node's programs and the journal alone (pkg/stanza: operator/input/journald, `root_path`).
 */
function linuxCollector(
  spec: ClusterSpec,
  collector: "control-plane" | "linux",
  { env, token, resources }: ContainerParts,
): Manifest {
  const isControlPlane = collector === "control-plane";
  const folders = isControlPlane ? [...linuxFolders, auditFolder] : linuxFolders;
  const tokenFile = { name: tokenFacts[spec.cloud].fileVariable, value: `${identityFolders.linux}/token` };
  return daemonSet(
    { ...logsAccount, name: workloadName(collector) },
    {
      nodeSelector: linuxOnly,
      affinity: onNodesThat({ key: controlPlaneKey, operator: isControlPlane ? "Exists" : "DoesNotExist" }),
      tolerations: everyTaint,
      serviceAccountName: logsAccount.name,
      containers: [
        {
          name: collectorName,
          image: image(spec, "ghcr.io/open-telemetry/opentelemetry-collector-releases/opentelemetry-collector-contrib"),
          env: [nodeName, ...env, ...(token === undefined ? [] : [tokenFile]), ...proxyVariables(spec)],
          securityContext: {
            runAsUser: 0,
            allowPrivilegeEscalation: false,
            readOnlyRootFilesystem: true,
            capabilities: { drop: ["ALL"], add: ["SYS_CHROOT"] },
            seccompProfile: { type: "RuntimeDefault" },
          },
          volumeMounts: [
            { name: "configuration", mountPath: linuxConfiguration, readOnly: true },
            { name: "state", mountPath: stateFolders.linux },
            ...folders.map(([name, , mountPath]) => ({ name, mountPath, readOnly: true })),
            ...(token === undefined ? [] : [{ name: token.name, mountPath: identityFolders.linux, readOnly: true }]),
          ],
          resources,
        },
      ],
      volumes: [
        { name: "configuration", configMap: { name: workloadName(collector) } },
        hostPath("state", "/var/lib/fenestra/log-collector", "DirectoryOrCreate"),
        ...folders.map(([name, path, , type]) => hostPath(name, path, type)),
        ...(token === undefined ? [] : [token]),
      ],
    },
  );
}

/** The script finds the variables' files, which are elsewhere on Windows Server 2019, and makes the kubeconfig. */
function windowsCollector(spec: ClusterSpec, nodeEndpoint: Text, { env, token, resources }: ContainerParts): Manifest {
  return windowsAgent(
    spec,
    { ...logsAccount, name: workloadName("windows") },
    windowsScript("start-collector.ps1"),
    resources,
    {
      serviceAccountName: logsAccount.name,
      env: [
        ...env,
        { name: "COLLECTOR_CONFIG", value: `${windowsConfiguration}\\config.yaml` },
        ...(token === undefined
          ? []
          : [{ name: tokenFacts[spec.cloud].fileVariable, value: `${identityFolders.windows}\\token` }]),
        ...proxyVariables(spec, nodeEndpoint),
      ],
      mounts: [
        { name: "configuration", mountPath: windowsConfiguration, readOnly: true },
        ...(token === undefined ? [] : [{ name: token.name, mountPath: identityFolders.windows, readOnly: true }]),
      ],
      volumes: [
        { name: "configuration", configMap: { name: workloadName("windows") } },
        ...(token === undefined ? [] : [token]),
      ],
    },
  );
}
