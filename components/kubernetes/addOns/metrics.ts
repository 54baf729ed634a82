import type { ClusterSpec } from "../../model/clusterSpec.ts";
import { monitoringNamespace } from "../../model/nodeSettings.ts";
import { ports } from "../../model/ports.ts";
import type { AddOnEntry } from "../addOnEntry.ts";
import { image } from "../images.ts";
import {
  type Account,
  boundClusterRole,
  clusterRights,
  type Manifest,
  readsAuthentication,
  rule,
  serviceAccount,
} from "../manifest.ts";
import {
  configMap,
  daemonSet,
  deployment,
  everyTaint,
  hostPath,
  hostProcessPod,
  httpsService,
  linuxOnly,
  onAnyLinux,
  privilegedNamespace,
  small,
  systemLabels,
  unprivileged,
} from "../workload.ts";
import { cloudController } from "./cloudController.ts";
import { networking } from "./networking.ts";
import { mountedFile } from "./nodeAgents.ts";

const account: Account = { name: "metrics-server", namespace: "kube-system" };

export const metricsServer: AddOnEntry = {
  name: "metrics-server",
  after: [networking, cloudController],
  settings: ["metricsServer"],
  manifests: metricsServerManifests,
};

/**
 * metrics-server, for `kubectl top` and the horizontal autoscaler: Windows kubelets serve /metrics/resource too. It
 * checks kubelets' certificates by the cluster's CA, which the node controller gives them.
 */
function metricsServerManifests(spec: ClusterSpec): readonly Manifest[] {
  return [
    serviceAccount(account),
    ...clusterRights(account, "fenestra:metrics-server", [
      rule("", ["nodes/metrics"], ["get"]),
      rule("", ["pods", "nodes"], ["get", "list", "watch"]),
    ]),
    {
      apiVersion: "rbac.authorization.k8s.io/v1",
      kind: "ClusterRole",
      metadata: {
        name: "fenestra:aggregated-metrics-reader",
        labels: {
          "rbac.authorization.k8s.io/aggregate-to-admin": "true",
          "rbac.authorization.k8s.io/aggregate-to-edit": "true",
          "rbac.authorization.k8s.io/aggregate-to-view": "true",
        },
      },
      rules: [rule("metrics.k8s.io", ["pods", "nodes"], ["get", "list", "watch"])],
    },
    boundClusterRole(account, "fenestra:metrics-server-auth-delegator", "system:auth-delegator"),
    readsAuthentication(account, "metrics-server-auth-reader"),
    workload(spec),
    httpsService(account, { appProtocol: "https" }),
    {
      apiVersion: "apiregistration.k8s.io/v1",
      kind: "APIService",
      // Its certificate is generated at start, so the API server's traffic to it is encrypted but not authenticated.
      metadata: { name: "v1beta1.metrics.k8s.io", annotations: { "pulumi.com/skipAwait": "true" } },
      spec: {
        group: "metrics.k8s.io",
        version: "v1beta1",
        groupPriorityMinimum: 100,
        versionPriority: 100,
        insecureSkipTLSVerify: true,
        service: { name: account.name, namespace: account.namespace },
      },
    },
  ];
}

function workload(spec: ClusterSpec): Manifest {
  const pod = {
    ...onAnyLinux,
    container: {
      image: image(spec, "registry.k8s.io/metrics-server/metrics-server"),
      args: [
        "--secure-port=10250",
        "--cert-dir=/tmp",
        "--kubelet-certificate-authority=/var/run/secrets/kubernetes.io/serviceaccount/ca.crt",
        "--kubelet-preferred-address-types=InternalIP",
        "--kubelet-use-node-status-port",
        "--metric-resolution=15s",
      ],
      ports: [{ name: "https", containerPort: 10250 }],
      livenessProbe: { httpGet: { path: "/livez", port: "https", scheme: "HTTPS" }, periodSeconds: 10 },
      readinessProbe: {
        httpGet: { path: "/readyz", port: "https", scheme: "HTTPS" },
        periodSeconds: 10,
        initialDelaySeconds: 20,
      },
      securityContext: unprivileged(1000),
      volumeMounts: [{ name: "tmp", mountPath: "/tmp" }],
      resources: small("100m", "200Mi", "512Mi"),
    },
    volumes: [{ name: "tmp", emptyDir: {} }],
  };
  // A roll of its only pod would leave autoscaling blind for a minute; it has no host port.
  return deployment(account, 1, pod, { maxSurge: 1, maxUnavailable: 0 });
}

export const monitoring: AddOnEntry = {
  name: "monitoring",
  after: [],
  settings: ["exporters", "nodeProblemDetector", "logs"],
  manifests: () => [privilegedNamespace(monitoringNamespace)],
};

const linux: Account = { name: "node-exporter", namespace: monitoringNamespace };
const windows: Account = { name: "windows-exporter", namespace: monitoringNamespace };

export const exporters: AddOnEntry = {
  name: "exporters",
  after: [monitoring],
  settings: ["exporters"],
  manifests: exporterManifests,
};

/** Prometheus exporters for the nodes of both systems, each with a Service. */
function exporterManifests(spec: ClusterSpec): readonly Manifest[] {
  const hasWindows = spec.windows.length > 0;
  return [
    linuxExporter(spec),
    ...(hasWindows ? [windowsConfiguration, windowsExporter(spec)] : []),
    ...[linux, ...(hasWindows ? [windows] : [])].map(metricsService),
  ];
}

function linuxExporter(spec: ClusterSpec): Manifest {
  return daemonSet(linux, {
    nodeSelector: linuxOnly,
    tolerations: everyTaint,
    hostNetwork: true,
    hostPID: true,
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
function windowsExporter(spec: ClusterSpec): Manifest {
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
