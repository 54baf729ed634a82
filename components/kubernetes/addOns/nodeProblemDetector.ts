import type { ClusterSpec } from "../../model/clusterSpec.ts";
import { image } from "../images.ts";
import type { Container, Manifest } from "../manifest.ts";
import { windowsBuilds } from "../runtimeClasses.ts";
import {
  type Account,
  boundClusterRole,
  daemonSet,
  everyTaint,
  hostPath,
  hostProcessPod,
  linuxOnly,
  nodeName,
  serviceAccount,
  small,
} from "../workload.ts";
import { monitoringNamespace } from "./monitoring.ts";

const linux: Account = { name: "node-problem-detector", namespace: monitoringNamespace };
const windows: Account = { name: "node-problem-detector-windows", namespace: monitoringNamespace };

/** Components that run as Windows services on our nodes, with the condition that a check of each sets. */
const checkedServices = { kubelet: "KubeletUnhealthy", containerd: "ContainerdUnhealthy" } as const;
type CheckedService = keyof typeof checkedServices;
const checkedNames: readonly CheckedService[] = ["kubelet", "containerd"];

/**
 * node-problem-detector on both systems. On Windows kube-proxy is a pod here and not a service, which the kubelet restarts by itself, so
 * its check is left out, and so is the repair of the others: the node's own watchdog does it.
 */
export function nodeProblemDetectorManifests(spec: ClusterSpec): readonly Manifest[] {
  return [
    serviceAccount(linux),
    boundClusterRole(linux, "fenestra:node-problem-detector", "system:node-problem-detector"),
    linuxDetector(spec),
    ...(windowsBuilds(spec).length === 0
      ? []
      : [
          serviceAccount(windows),
          boundClusterRole(windows, "fenestra:node-problem-detector-windows", "system:node-problem-detector"),
          windowsConfiguration(),
          windowsDetector(spec),
        ]),
  ];
}

function linuxDetector(spec: ClusterSpec): Manifest {
  return daemonSet(
    linux,
    {
      nodeSelector: linuxOnly,
      tolerations: everyTaint,
      serviceAccountName: linux.name,
      containers: [
        {
          name: linux.name,
          image: image(spec, "registry.k8s.io/node-problem-detector/node-problem-detector"),
          command: [
            "/node-problem-detector",
            "--logtostderr",
            "--config.system-log-monitor=/config/kernel-monitor.json,/config/readonly-monitor.json",
          ],
          env: [nodeName],
          securityContext: { privileged: true },
          volumeMounts: [
            { name: "log", mountPath: "/var/log", readOnly: true },
            { name: "kmsg", mountPath: "/dev/kmsg", readOnly: true },
          ],
          resources: small("10m", "80Mi", "160Mi"),
        },
      ],
      volumes: [hostPath("log", "/var/log", "Directory"), hostPath("kmsg", "/dev/kmsg", "CharDevice")],
    },
    "10%",
  );
}

/** A check as the detector's custom plug-in monitor reads it (kubernetes/node-problem-detector: config/windows-health-checker-*.json). */
export function windowsCheck(component: CheckedService) {
  const condition = checkedServices[component];
  return {
    plugin: "custom",
    pluginConfig: { invoke_interval: "30s", timeout: "20s", max_output_length: 80, concurrency: 1 },
    source: `health-checker-${component}`,
    metricsReporting: true,
    conditions: [{ type: condition, reason: `${component}IsHealthy`, message: `${component} is functioning properly` }],
    rules: [
      {
        type: "permanent",
        condition,
        reason: condition,
        path: "C:\\etc\\kubernetes\\node\\bin\\health-checker.exe",
        args: [`--component=${component}`, "--enable-repair=false", "--health-check-timeout=15s"],
        timeout: "20s",
      },
    ],
  };
}

function windowsConfiguration(): Manifest {
  return {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name: "node-problem-detector-windows", namespace: monitoringNamespace },
    data: Object.fromEntries(
      checkedNames.map((name) => [`health-checker-${name}.json`, `${JSON.stringify(windowsCheck(name), null, 2)}\n`]),
    ),
  };
}

function windowsDetector(spec: ClusterSpec): Manifest {
  const folder = "C:\\config";
  const container: Container = {
    name: windows.name,
    image: image(spec, "registry.k8s.io/node-problem-detector/node-problem-detector-windows", "windows"),
    command: ["node-problem-detector.exe"],
    args: [
      "--logtostderr",
      `--config.custom-plugin-monitor=${checkedNames.map((name) => `${folder}\\health-checker-${name}.json`).join(",")}`,
    ],
    env: [nodeName],
    volumeMounts: [{ name: "config", mountPath: folder, readOnly: true }],
    resources: small("50m", "80Mi", "256Mi"),
  };
  return daemonSet(
    windows,
    {
      ...hostProcessPod,
      serviceAccountName: windows.name,
      containers: [container],
      volumes: [{ name: "config", configMap: { name: "node-problem-detector-windows" } }],
    },
    "10%",
  );
}
