import { windowsPrograms } from "../../machine/windows/paths.ts";
import type { ClusterSpec } from "../../model/clusterSpec.ts";
import { monitoringNamespace } from "../../model/nodeSettings.ts";
import { operatingSystems } from "../../model/operatingSystems.ts";
import { buildLabel } from "../../model/pools.ts";
import type { AddOnEntry } from "../addOnEntry.ts";
import { image } from "../images.ts";
import {
  type Account,
  boundClusterRole,
  type Container,
  type Manifest,
  serviceAccount,
  type Text,
} from "../manifest.ts";
import {
  configMap,
  daemonSet,
  everyTaint,
  hostPath,
  hostProcessPod,
  linuxOnly,
  nodeName,
  onNodesThat,
  small,
} from "../workload.ts";
import { monitoring } from "./metrics.ts";
import { apiByName } from "./nodeAgents.ts";

const linux: Account = { name: "node-problem-detector", namespace: monitoringNamespace };
const windows: Account = { name: "node-problem-detector-windows", namespace: monitoringNamespace };

/**
 * What is checked on Windows, by the health checker's name (kubernetes/node-problem-detector:
 * cmd/healthchecker/options).
 */
const windowsChecks = {
  kubelet: { condition: "KubeletUnhealthy", args: [] },
  // The checker's default path of crictl is another one.
  cri: {
    condition: "ContainerRuntimeUnhealthy",
    args: [`--crictl-path=${windowsPrograms.crictl}`, "--cri-timeout=10s"],
  },
} as const;
type CheckedComponent = keyof typeof windowsChecks;
const checkedComponents: readonly CheckedComponent[] = ["kubelet", "cri"];

/** The image's base is that of 2022, which 2025 runs too, and this release does not (Dockerfile.windows). */
const withoutDetector = operatingSystems["windows-2019"];

export const nodeProblemDetector: AddOnEntry = {
  name: "node-problem-detector",
  after: [monitoring],
  settings: ["nodeProblemDetector"],
  manifests: (spec, { nodeEndpoint }) => nodeProblemDetectorManifests(spec, nodeEndpoint),
};

/**
 * node-problem-detector on both systems, but not on Windows Server 2019. On Windows it does not check kube-proxy, a pod
 * that the kubelet restarts, and repairs nothing: the node's own health task does that.
 */
function nodeProblemDetectorManifests(spec: ClusterSpec, nodeEndpoint: Text): readonly Manifest[] {
  return [
    serviceAccount(linux),
    boundClusterRole(linux, "fenestra:node-problem-detector", "system:node-problem-detector"),
    linuxDetector(spec),
    ...(spec.windows.every(({ build }) => build === withoutDetector.build)
      ? []
      : [
          serviceAccount(windows),
          boundClusterRole(windows, "fenestra:node-problem-detector-windows", "system:node-problem-detector"),
          windowsConfiguration(),
          windowsDetector(spec, nodeEndpoint),
        ]),
  ];
}

function linuxDetector(spec: ClusterSpec): Manifest {
  return daemonSet(linux, {
    nodeSelector: linuxOnly,
    tolerations: everyTaint,
    container: {
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
    volumes: [hostPath("log", "/var/log", "Directory"), hostPath("kmsg", "/dev/kmsg", "CharDevice")],
  });
}

/**
 * A check as the detector's custom plug-in monitor reads it (kubernetes/node-problem-detector:
 * config/windows-health-checker-*.json). A HostProcess pod's image is below `C:\hpc` (microsoft/hcsshim:
 * internal/jobcontainers/storage.go); with a missing path the detector ends at its start
 * (pkg/custompluginmonitor/types/config.go, `Validate`).
 */
function windowsCheck(component: CheckedComponent) {
  const { condition, args } = windowsChecks[component];
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
        path: "C:\\hpc\\etc\\kubernetes\\node\\bin\\health-checker.exe",
        args: [`--component=${component}`, "--enable-repair=false", "--health-check-timeout=15s", ...args],
        timeout: "20s",
      },
    ],
  };
}

function windowsConfiguration(): Manifest {
  const files = checkedComponents.map((name) => [
    `health-checker-${name}.json`,
    `${JSON.stringify(windowsCheck(name), null, 2)}\n`,
  ]);
  return configMap(windows, Object.fromEntries(files));
}

function windowsDetector(spec: ClusterSpec, nodeEndpoint: Text): Manifest {
  const folder = "C:\\config";
  const container: Omit<Container, "name"> = {
    image: image(spec, "registry.k8s.io/node-problem-detector/node-problem-detector-windows", "windows"),
    command: ["node-problem-detector.exe"],
    args: [
      "--logtostderr",
      `--config.custom-plugin-monitor=${checkedComponents.map((name) => `${folder}\\health-checker-${name}.json`).join(",")}`,
    ],
    env: [nodeName, ...apiByName(nodeEndpoint)],
    volumeMounts: [{ name: "config", mountPath: folder, readOnly: true }],
    resources: small("50m", "80Mi", "512Mi"),
  };
  return daemonSet(windows, {
    ...hostProcessPod,
    affinity: onNodesThat({ key: buildLabel, operator: "NotIn", values: [withoutDetector.build] }),
    container,
    volumes: [{ name: "config", configMap: { name: "node-problem-detector-windows" } }],
  });
}
