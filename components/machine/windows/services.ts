import type { NodeSettings } from "../../model/nodeSettings.ts";
import type { WindowsPool } from "../../model/pools.ts";
import { ports } from "../../model/ports.ts";
import { containerdPaths } from "../containerd.ts";
import { credentialFlags } from "../credentialProvider.ts";
import { checked, kubeletFlags, workerLabels } from "../kubeletFlags.ts";
import { placeholders } from "../placeholders.ts";
import { noProxy, proxyUrl } from "../proxy.ts";
import { windowsPaths, windowsPrograms } from "./paths.ts";

/**
 * Recovery as `sc.exe failure` takes it: restart after 5, 10 and then every 60 seconds, reset after ten quiet minutes.
 * What containerd registers itself gives up after the second restart.
 */
const recovery = ["reset=", "600", "actions=", "restart/5000/restart/10000/restart/60000"] as const;

/** Seconds to wait for what kube-proxy needs before the kubelet restarts its pod. */
const podSeconds = 300;

/** Logs of the services, and the size above which the health task copies and empties them. */
export const serviceLogs = {
  containerd: `${windowsPaths.logs}\\containerd.log`,
  kubelet: `${windowsPaths.logs}\\kubelet.log`,
  bytes: 100 * 1024 * 1024,
} as const;

/** What decides whether containerd uses a proxy. */
type ProxySettings = Pick<NodeSettings, "httpProxy" | "credentials" | "noProxy" | "network" | "kubernetes">;

export function containerdService(spec: ProxySettings) {
  return {
    program: windowsPrograms.containerd,
    arguments: [
      "--config",
      windowsPaths.containerdConfig,
      "--log-level",
      "info",
      // Without a file its log is lost.
      "--log-file",
      serviceLogs.containerd,
    ],
    pipe: containerdPaths.windows.address,
    recovery,
    /** Environment of this service only: a kubelet with a proxy would use it for the API. */
    environment: spec.credentials.proxy ? [] : containerdEnvironment(spec),
  };
}

/** containerd's environment; the stage `proxy` sets one with a login. */
export function containerdEnvironment(spec: ProxySettings): readonly string[] {
  const proxy = proxyUrl(spec);
  return proxy === undefined ? [] : [`HTTP_PROXY=${proxy}`, `HTTPS_PROXY=${proxy}`, `NO_PROXY=${noProxy(spec)}`];
}

/**
 * The kubelet's service: kube-log-runner appends to its log, and the kubelet, its child, talks to the service manager
 * (kubernetes/kubernetes, pkg/windows/service). Nothing rotates the log: while the kubelet reads it for /logs it cannot
 * be renamed, and the next lines are lost (component-base: logs/kube-log-runner/internal/logrotation/logrotation.go,
 * rotate).
 */
export const kubeletService = {
  command: [windowsPrograms.kubeLogRunner, `-log-file=${serviceLogs.kubelet}`, windowsPrograms.kubelet],
  recovery,
} as const;

/** Command line of the kubelet with placeholders for this machine's values. */
export function kubeletArguments(spec: NodeSettings, pool: WindowsPool): readonly string[] {
  return kubeletFlags({
    os: "windows",
    minor: spec.kubernetes.minor,
    bootstrap: true,
    labels: workerLabels(pool),
    credentials: credentialFlags(spec, "windows"),
  });
}

/** Command line that `start-kube-proxy.ps1` runs: kernelspace, with direct server return. */
export function kubeProxyProgram(spec: Pick<NodeSettings, "kubernetes">) {
  const { kubernetes } = spec;
  return {
    program: windowsPrograms.kubeProxy,
    kubeconfig: windowsPaths.kubeProxyKubeconfig,
    seconds: podSeconds,
    arguments: checked("kube-proxy", kubernetes.minor, [
      `--kubeconfig=${windowsPaths.kubeProxyKubeconfig}`,
      `--hostname-override=${placeholders.nodeName}`,
      "--proxy-mode=kernelspace",
      ...spec.kubernetes.podNetwork.windows.kubeProxy,
      "--enable-dsr=true",
      `--bind-address=${placeholders.nodeIp}`,
      `--cluster-cidr=${kubernetes.podCidr}`,
      `--metrics-bind-address=127.0.0.1:${ports.kubeProxyMetrics}`,
      `--healthz-bind-address=0.0.0.0:${ports.kubeProxyHealth}`,
      "--v=2",
    ]),
  };
}
