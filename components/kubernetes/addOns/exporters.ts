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

/** Prometheus exporters for the nodes of both systems, each with a Service. */
function exporterManifests(
  spec: Pick<ClusterSpec, "addons" | "artifacts" | "kubernetes" | "windows">,
): readonly Manifest[] {
  const hasWindows = spec.windows.length > 0;
  const accounts = [linux, ...(hasWindows ? [windows] : [])];
  return [
    linuxExporter(spec),
    ...(hasWindows ? [windowsConfiguration, windowsExporter(spec)] : []),
    ...accounts.map(metricsService),
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
