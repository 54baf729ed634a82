import type { ClusterSpec } from "../../model/clusterSpec.ts";
import { buildLabel, windowsTaint } from "../../model/pools.ts";
import { text, texts } from "./cel.ts";

/** One thing that Windows ignores or cannot do. */
export interface WindowsLimit {
  /**
   * CEL that is true when the pod does not ask for it. `variables.pod` is its spec, `variables.containers` are all its containers,
   * `variables.class` is the RuntimeClass that it has or will be given, empty for none; `variables.ofDaemonSet` says whose pod it is.
   */
  readonly expression: string;
  /** What happens and the fix; `{pod}` stands for the path of the pod's spec. */
  readonly message: string;
}

const noVolume = (test: string): string =>
  `!has(variables.pod.volumes) || !variables.pod.volumes.exists(v, has(v.emptyDir) && has(v.emptyDir.medium) && ${test})`;

const probes = ["livenessProbe", "readinessProbe", "startupProbe"]
  .map((probe) => `(has(c.${probe}) && (has(c.${probe}.httpGet) || has(c.${probe}.tcpSocket)))`)
  .join(" || ");

/**
 * What the API server accepts for a Windows pod although Windows does not do it (kubernetes/website: concepts/windows/intro.md,
 * "Compatibility and limitations"). What it refuses by itself is not repeated.
 */
export function windowsLimits(spec: Pick<ClusterSpec, "kubernetes" | "windows">): readonly WindowsLimit[] {
  const { windows: network } = spec.kubernetes.podNetwork;
  const deaf = spec.windows.filter((release) => !network.hostReachesOwnPods(release)).map(({ name }) => name);
  return [
    {
      expression: "!(has(variables.pod.hostNetwork) && variables.pod.hostNetwork)",
      message: "Windows ignores hostNetwork but for HostProcess pods: leave {pod}.hostNetwork out, or use a HostProcess pod",
    },
    {
      expression: noVolume('v.emptyDir.medium == "Memory"'),
      message: "Windows has no memory-backed emptyDir: the volume lies on the node's disk",
    },
    {
      expression: noVolume('v.emptyDir.medium.startsWith("HugePages")'),
      message: "Windows has no huge pages: use an emptyDir without medium",
    },
    {
      expression: `variables.containers.all(c, !has(c.resources) || ((!has(c.resources.limits) || c.resources.limits.all(r, !r.startsWith("hugepages-"))) && (!has(c.resources.requests) || c.resources.requests.all(r, !r.startsWith("hugepages-")))))`,
      message: "Windows has no huge pages: no node offers them, and the pod stays Pending",
    },
    {
      expression: "variables.containers.all(c, !has(c.volumeDevices) || c.volumeDevices.size() == 0)",
      message: "Windows cannot attach block devices to containers: use a file system volume",
    },
    ...(network.hostPorts
      ? []
      : [
          {
            expression: "variables.containers.all(c, !has(c.ports) || c.ports.all(p, !has(p.hostPort)))",
            message:
              "the pod network of Windows nodes makes no host ports (containernetworking/plugins#530): use a Service of type NodePort or LoadBalancer",
          },
        ]),
    {
      expression: '!has(variables.pod.dnsPolicy) || variables.pod.dnsPolicy != "Default"',
      message:
        "a kubelet on Windows has no resolver to hand on, so a pod with dnsPolicy Default resolves no name: set {pod}.dnsPolicy to None with {pod}.dnsConfig, or leave it out",
    },
    {
      expression: '!has(variables.pod.dnsPolicy) || variables.pod.dnsPolicy != "ClusterFirstWithHostNet"',
      message: "Windows pods have no host network, so dnsPolicy ClusterFirstWithHostNet means nothing there: leave {pod}.dnsPolicy out",
    },
    {
      expression:
        'variables.containers.all(c, !has(c.volumeMounts) || c.volumeMounts.all(m, !has(m.mountPropagation) || m.mountPropagation == "None"))',
      message: "Windows ignores mountPropagation",
    },
    {
      expression: 'variables.containers.all(c, has(c.resources) && has(c.resources.limits) && "memory" in c.resources.limits)',
      message:
        "a Windows node ends no process when memory runs out and hangs instead: set resources.limits.memory on every container, or a default by a LimitRange of the namespace",
    },
    {
      expression: `variables.ofDaemonSet || variables.class != "" || (has(variables.pod.nodeSelector) && ${text(buildLabel)} in variables.pod.nodeSelector)`,
      message: `the Windows build of this pod cannot be told from its image, so it stays Pending: set {pod}.runtimeClassName to one of ${spec.windows
        .map(({ name }) => name)
        .join(", ")}`,
    },
    ...daemonSetLimits(spec.windows.length > 1),
    ...(deaf.length === 0
      ? []
      : [
          {
            expression: `!(variables.class in ${texts(deaf)}) || variables.containers.all(c, !(${probes}))`,
            message: `nodes of ${deaf.join(", ")} cannot reach their own pods by address, so HTTP and TCP probes fail there: use exec probes`,
          },
        ]),
  ];
}

const affinity = "variables.pod.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution";

/** CEL: the pod's own selector or affinity names one of these labels of nodes. */
const chooses = (labels: readonly string[]): string =>
  [
    `(has(variables.pod.nodeSelector) && ${texts(labels)}.exists(l, l in variables.pod.nodeSelector))`,
    `(has(variables.pod.affinity) && has(variables.pod.affinity.nodeAffinity) && has(${affinity}) && ${affinity}.nodeSelectorTerms.all(t, has(t.matchExpressions) && t.matchExpressions.exists(e, e.key in ${texts(labels)})))`,
  ].join(" || ");

const { key, value, effect } = windowsTaint;
const toleratesWindows = [
  "has(variables.pod.tolerations) && variables.pod.tolerations.exists(t,",
  `(!has(t.key) || t.key == "" || (t.key == ${text(key)} && (!has(t.value) || t.value in ["", ${text(value)}]))) &&`,
  `(!has(t.effect) || t.effect in ["", ${text(effect)}]))`,
].join(" ");

/** What a DaemonSet cannot leave to a RuntimeClass, which acts on its pods after their nodes were chosen (kubernetes/kubernetes#111590). */
function daemonSetLimits(severalBuilds: boolean): readonly WindowsLimit[] {
  return [
    {
      expression: `!variables.ofDaemonSet || ((${chooses(["kubernetes.io/os", buildLabel])}) && ${toleratesWindows})`,
      message: `which nodes get a pod of a DaemonSet is decided by its template alone, before a RuntimeClass adds anything: set {pod}.nodeSelector to kubernetes.io/os: windows, and tolerate ${key}=${value}:${effect} in {pod}.tolerations`,
    },
    ...(severalBuilds
      ? [
          {
            expression: `!variables.ofDaemonSet || !has(variables.pod.runtimeClassName) || ${chooses([buildLabel])}`,
            message: `a DaemonSet makes a pod for every node that its template fits, and its RuntimeClass keeps those for another build Pending: leave {pod}.runtimeClassName out, or choose the build in {pod}.nodeSelector by ${buildLabel}`,
          },
        ]
      : []),
  ];
}
