import type { V1Pod, V1PodSpec, V1Service } from "@kubernetes/client-node";
import { type NodeFacts, windowsTaint } from "../checks/cluster/nodes.ts";
import { checkLabels, checkPod } from "../checks/cluster/pods.ts";
import { allowingLabels, controlPlaneKey } from "../checks/facts.ts";
import { verifyImages } from "../components/kubernetes/images.ts";
import { controlPlaneId, type NodeGroup } from "./nodes.ts";

/** A pod of this run that answers HTTP with its name, and in which commands can be run. */
export interface ProbePod {
  readonly pod: string;
  readonly group: string;
  readonly os: "linux" | "windows";
  readonly node: string;
  /** In the node's own network: a pod with hostNetwork on Linux, a HostProcess pod on Windows. It answers nothing. */
  readonly host: boolean;
}

export const probePort = 8080;
/** A port on which no probe pod listens. A probe that "reaches" it proves nothing. */
export const closedPort = 8099;
/** Port of the Services in front of probe pods. */
export const servicePort = 80;

const images = verifyImages();

/** Image of a group's probe pods. */
export function probeImage({ release }: Pick<NodeGroup, "release">): string {
  return images.probePod(release);
}

/** Image of a pod that only waits. */
export const pauseImage = images.pause;

/** Labels of the namespace: HostProcess and hostNetwork pods are part of the checks, and a pod on a control-plane machine. */
export const verifyNamespaceLabels = {
  ...checkLabels,
  "pod-security.kubernetes.io/enforce": "privileged",
  [allowingLabels.hostProcess]: "allowed",
  [allowingLabels.controlPlane]: "allowed",
};

/** The group's probe pods: two on one node and one on another, as far as there are nodes. */
export function probePodsOf({ id, os, nodes }: NodeGroup): readonly ProbePod[] {
  const [first, second] = nodes.filter(({ cordoned }) => !cordoned);
  const on = (suffix: string, node: NodeFacts | undefined): readonly ProbePod[] =>
    node === undefined ? [] : [{ pod: `${id}-${suffix}`, group: id, os, node: node.name, host: false }];
  return [...on("a0", first), ...on("a1", first), ...on("b0", second)];
}

/** The group's probe pod in the network of its first node. */
export function hostProbePodOf({ id, os, nodes }: NodeGroup): ProbePod | undefined {
  const node = nodes.find(({ cordoned }) => !cordoned);
  return node === undefined ? undefined : { pod: `${id}-host`, group: id, os, node: node.name, host: true };
}

/** Where a pod that names its node may run: by affinity, since naming it outright would pass by the scheduler and its taints. */
function onNode(node: string): Pick<V1PodSpec, "affinity"> {
  const term = { matchFields: [{ key: "metadata.name", operator: "In", values: [node] }] };
  return { affinity: { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [term] } } } };
}

const [windowsKey = "", windowsValue = ""] = windowsTaint.replace(/:.*/, "").split("=");
const toleratesWindows = [{ key: windowsKey, operator: "Equal", value: windowsValue, effect: "NoSchedule" }];
const toleratesControlPlane = [{ key: controlPlaneKey, operator: "Exists", effect: "NoSchedule" }];

/** What makes a pod a pod for the group's system, beyond its node. */
export function forGroup({ os, release }: Pick<NodeGroup, "os" | "release">): Partial<V1PodSpec> {
  if (os === "linux") return { os: { name: "linux" }, nodeSelector: { "kubernetes.io/os": "linux" } };
  return {
    os: { name: "windows" },
    nodeSelector: { "kubernetes.io/os": "windows" },
    ...(release === undefined ? { tolerations: toleratesWindows } : { runtimeClassName: release.name }),
  };
}

const resources = { requests: { cpu: "10m", memory: "32Mi" }, limits: { memory: "256Mi" } };

/** The pod itself. */
export function probePodManifest(probePod: ProbePod, group: NodeGroup): V1Pod {
  if (probePod.host) return hostPod(probePod);
  const container = {
    name: "probe",
    image: probeImage(group),
    // Not netexec, which runs whatever command anybody asks it to, and a load balancer of the check may be public.
    args: ["serve-hostname", `--port=${probePort}`],
    ports: [{ containerPort: probePort }],
    resources,
  };
  return checkPod(
    probePod.pod,
    { ...forGroup(group), ...onNode(probePod.node), containers: [container] },
    { "fenestra.dev/probe-pod": group.id },
  );
}

function hostPod({ pod, os, node, group }: ProbePod): V1Pod {
  const windows = os === "windows";
  const container = windows
    ? {
        name: "probe",
        image: images.hostProcess,
        command: ["powershell.exe", "-NoProfile", "-NonInteractive", "-Command", "Start-Sleep -Seconds 86400"],
        resources,
      }
    : { name: "probe", image: probeImage({ release: undefined }), args: ["pause"], resources };
  return checkPod(pod, {
    os: { name: os },
    hostNetwork: true,
    ...(windows
      ? {
          nodeSelector: { "kubernetes.io/os": "windows" },
          tolerations: toleratesWindows,
          securityContext: { windowsOptions: { hostProcess: true, runAsUserName: "NT AUTHORITY\\SYSTEM" } },
        }
      : {}),
    ...(group === controlPlaneId ? { tolerations: toleratesControlPlane } : {}),
    ...onNode(node),
    containers: [container],
  });
}

/** Name of the Service in front of a group's probe pods. */
export function serviceName(group: string): string {
  return `to-${group}`.replaceAll(".", "-");
}

/** From where the load balancers of a run are reached; `none`: there are none. */
export const balancerKinds = ["internal", "public", "none"] as const;
export type BalancerKind = (typeof balancerKinds)[number];

/** What makes a cloud's load balancer one of the network's own, by cloud. */
const internal = {
  "service.beta.kubernetes.io/aws-load-balancer-internal": "true",
  "service.beta.kubernetes.io/azure-load-balancer-internal": "true",
};

/** A Service in front of a group's probe pods; its load balancer is an internal one unless it is to be public, for these networks. */
export function probeService(
  group: string,
  type: "NodePort" | "LoadBalancer",
  kind: BalancerKind = "internal",
  sources: readonly string[] = [],
): V1Service {
  return {
    apiVersion: "v1",
    kind: "Service",
    metadata: {
      name: type === "LoadBalancer" ? `${serviceName(group)}-lb` : serviceName(group),
      labels: checkLabels,
      ...(type === "LoadBalancer" && kind === "internal" ? { annotations: internal } : {}),
    },
    spec: {
      type,
      ...(kind === "public" ? { loadBalancerSourceRanges: [...sources] } : {}),
      selector: { "fenestra.dev/probe-pod": group },
      ports: [{ name: "http", port: servicePort, targetPort: probePort }],
    },
  };
}
