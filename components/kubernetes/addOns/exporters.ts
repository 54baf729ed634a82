import { monitoringNamespace } from "../../model/addOns.ts";
import type { ClusterSpec } from "../../model/clusterSpec.ts";
import { ports } from "../../model/ports.ts";
import type { AddOnEntry } from "../addOnEntry.ts";
import { type ImageSource, image } from "../images.ts";
import type { Manifest } from "../manifest.ts";
import type { Account } from "../rights.ts";
import {
  configMap,
  daemonSet,
  everyTaint,
  hostPath,
  hostProcessPod,
  linuxOnly,
  small,
  systemLabels,
  unprivileged,
} from "../workload.ts";
import { monitoring } from "./monitoring.ts";
import { mountedFile } from "./nodeAgents.ts";

const linux: Account = { name: "node-exporter", namespace: monitoringNamespace };
const windows: Account = { name: "windows-exporter", namespace: monitoringNamespace };

export const exporters: AddOnEntry = {
  name: "exporters",
  after: [monitoring],
  settings: ["exporters"],
  manifests: exporterManifests,
};

/** Prometheus exporters for the nodes of both systems, each with a Service, and ServiceMonitors when wanted. */
function exporterManifests(
  spec: Pick<ClusterSpec, "addons" | "artifacts" | "kubernetes" | "windows">,
): readonly Manifest[] {
  const hasWindows = spec.windows.length > 0;
  const labels = spec.addons.serviceMonitorLabels;
  const accounts = [linux, ...(hasWindows ? [windows] : [])];
  return [
    linuxExporter(spec),
    ...(hasWindows ? [windowsConfiguration, windowsExporter(spec)] : []),
    ...accounts.map(metricsService),
    ...(spec.addons.serviceMonitors
      ? [...accounts.map((account) => serviceMonitor(account, labels)), rules(labels)]
      : []),
  ];
}

function linuxExporter(spec: ImageSource): Manifest {
  return daemonSet(linux, {
    nodeSelector: linuxOnly,
    tolerations: everyTaint,
    hostNetwork: true,
    hostPID: true,
    priorityClassName: "system-node-critical",
    automountServiceAccountToken: false,
    containers: [
      {
        name: linux.name,
        image: image(spec, "quay.io/prometheus/node-exporter"),
        args: [
          "--path.procfs=/host/proc",
          "--path.sysfs=/host/sys",
          "--path.rootfs=/host/root",
          "--path.udev.data=/host/root/run/udev/data",
          // Otherwise each volume of a pod is a series.
          "--collector.filesystem.mount-points-exclude=^/(dev|proc|run/credentials/.+|sys|var/lib/kubelet/.+)($|/)",
          // What the machine's own jobs measure: the age of etcd's last snapshot (etcd-snapshot.sh).
          "--collector.textfile.directory=/host/root/var/lib/fenestra/metrics",
          `--web.listen-address=:${ports.nodeExporter}`,
        ],
        ports: [{ name: "metrics", containerPort: ports.nodeExporter }],
        securityContext: unprivileged(65534),
        volumeMounts: [
          { name: "proc", mountPath: "/host/proc", readOnly: true },
          { name: "sys", mountPath: "/host/sys", readOnly: true },
          { name: "root", mountPath: "/host/root", readOnly: true, mountPropagation: "HostToContainer" },
        ],
        livenessProbe: { httpGet: { path: "/", port: "metrics" } },
        readinessProbe: { httpGet: { path: "/", port: "metrics" } },
        resources: small("10m", "32Mi", "180Mi"),
      },
    ],
    volumes: [
      hostPath("proc", "/proc", "Directory"),
      hostPath("sys", "/sys", "Directory"),
      hostPath("root", "/", "Directory"),
    ],
  });
}

const windowsConfiguration = configMap(
  { name: "windows-exporter-config", namespace: monitoringNamespace },
  { "config.yml": "collectors:\n  enabled: '[defaults],container'\n" },
);

/** Unlike upstream's it tolerates the taint of Windows nodes (prometheus-community/windows_exporter: kubernetes/). */
function windowsExporter(spec: ImageSource): Manifest {
  const exporter = image(spec, "ghcr.io/prometheus-community/windows-exporter", "windows");
  const openPort = [
    `if (-not (Get-NetFirewallRule -Name windows-exporter -ErrorAction SilentlyContinue)) {`,
    `New-NetFirewallRule -Name windows-exporter -DisplayName windows-exporter -Direction Inbound -Protocol TCP -LocalPort ${ports.windowsExporter} -Action Allow }`,
  ].join(" ");
  return daemonSet(windows, {
    ...hostProcessPod,
    automountServiceAccountToken: false,
    initContainers: [
      {
        name: "firewall",
        image: exporter,
        command: ["powershell.exe", "-NoProfile", "-NonInteractive", "-Command", openPort],
        resources: small("10m", "64Mi", "512Mi"),
      },
    ],
    containers: [
      {
        name: windows.name,
        image: exporter,
        args: [`--config.file=${mountedFile("/config.yml")}`],
        ports: [{ name: "metrics", containerPort: ports.windowsExporter }],
        livenessProbe: { httpGet: { path: "/health", port: "metrics" }, timeoutSeconds: 10 },
        readinessProbe: { httpGet: { path: "/health", port: "metrics" }, timeoutSeconds: 10 },
        volumeMounts: [{ name: "config", mountPath: "/config.yml", subPath: "config.yml" }],
        resources: small("50m", "128Mi", "512Mi"),
      },
    ],
    volumes: [{ name: "config", configMap: { name: "windows-exporter-config" } }],
  });
}

function metricsService({ name, namespace }: Account): Manifest {
  return {
    apiVersion: "v1",
    kind: "Service",
    metadata: { name, namespace, labels: systemLabels(name), annotations: { "pulumi.com/skipAwait": "true" } },
    spec: {
      clusterIP: "None",
      selector: systemLabels(name),
      ports: [
        {
          name: "metrics",
          port: name === linux.name ? ports.nodeExporter : ports.windowsExporter,
          targetPort: "metrics",
        },
      ],
    },
  };
}

function serviceMonitor({ name, namespace }: Account, labels: Readonly<Record<string, string>>): Manifest {
  return {
    apiVersion: "monitoring.coreos.com/v1",
    kind: "ServiceMonitor",
    metadata: { name, namespace, labels: { ...labels, ...systemLabels(name) } },
    spec: { selector: { matchLabels: systemLabels(name) }, endpoints: [{ port: "metrics" }] },
  };
}

function rules(labels: Readonly<Record<string, string>>): Manifest {
  return {
    apiVersion: "monitoring.coreos.com/v1",
    kind: "PrometheusRule",
    metadata: { name: "fenestra", namespace: monitoringNamespace, labels: { ...labels, ...systemLabels("fenestra") } },
    spec: {
      groups: [
        {
          name: "fenestra",
          rules: alerts.map(({ name, expression, minutes, section }) => ({
            alert: name,
            expr: expression,
            for: `${minutes}m`,
            annotations: { summary: `docs/operations/incidents.md: ${section}` },
          })),
        },
      ],
    },
  };
}

/** Sections of the manual, linked from docs/operations/incidents.md. */
const sections = {
  api: ["the API is away", "updates.md#the-api-is-away"],
  certificates: ["certificates", "keys.md"],
  duties: ["duties that fail", "debugging.md#a-node-controller-that-does-not-get-its-work-done"],
  disk: ["a disk is full", "#a-disk-is-full"],
  nodes: ["nodes that do not work", "debugging.md"],
  requests: ["no certificate", "debugging.md#a-worker-that-gets-no-certificate"],
  room: ["room in etcd", "backup.md"],
  snapshots: ["failed snapshots", "backup.md"],
  symptoms: ["by symptom", "#by-symptom"],
} as const;

type Row = readonly [name: string, expression: string, minutes: number, section: keyof typeof sections];

/** What somebody should be told of: by the exporters, of etcd and the API, and by kube-state-metrics. */
const rows: readonly Row[] = [
  ["SnapshotLate", "time() - fenestra_etcd_snapshot_timestamp_seconds > 9 * 3600", 0, "snapshots"],
  [
    "LinuxDiskFull",
    'node_filesystem_avail_bytes{mountpoint=~"/(var/lib/etcd-data)?"} / node_filesystem_size_bytes < 0.15',
    5,
    "disk",
  ],
  // Drives' letters only: hidden partitions are full by nature, and volumes of pods are not the node's.
  [
    "WindowsDiskFull",
    'windows_logical_disk_free_bytes{volume=~"[A-Z]:"} / windows_logical_disk_size_bytes < 0.15',
    5,
    "disk",
  ],
  ["EtcdFull", "etcd_mvcc_db_total_size_in_bytes / etcd_server_quota_backend_bytes > 0.8", 5, "room"],
  ["EtcdWithoutLeader", "etcd_server_has_leader == 0", 1, "api"],
  [
    "ApiFails",
    'sum(rate(apiserver_request_total{code=~"5.."}[5m])) / sum(rate(apiserver_request_total[5m])) > 0.05',
    5,
    "api",
  ],
  ["NodeNotReady", 'kube_node_status_condition{condition="Ready",status="true"} == 0', 15, "nodes"],
  ["NodePressure", 'kube_node_status_condition{condition=~".*Pressure",status="true"} == 1', 5, "disk"],
  ["RequestDenied", "increase(fenestra_certificate_requests_denied_total[1h]) > 0", 0, "requests"],
  ["RequestUnanswered", "fenestra_certificate_requests_waiting > 0", 15, "requests"],
  ["NodeControllerIdle", "max(fenestra_node_controller_leads) < 1", 2, "duties"],
  ["NodeControllerLate", "time() - max by (duty) (fenestra_node_controller_done_timestamp_seconds) > 120", 1, "duties"],
  ["PodPending", 'kube_pod_status_phase{phase="Pending"} == 1', 15, "symptoms"],
  [
    "ClientCertificateEnds",
    'rate(apiserver_client_certificate_expiration_seconds_bucket{le="86400"}[1h]) > 0',
    0,
    "certificates",
  ],
];

export const alerts = rows.map(([name, expression, minutes, section]) => ({
  name: `Fenestra${name}`,
  expression,
  minutes,
  section: sections[section][0],
  link: sections[section][1],
}));
