import type { V1Pod, V1PodSpec, V1Service } from "@kubernetes/client-node";
import { verifyImages } from "../../components/kubernetes/images.ts";
import { messageOf } from "../../components/model/messages.ts";
import { type Check, CheckFailure, type CheckRun, NotYet, until } from "../check.ts";
import { allowingLabels, controlPlaneKey } from "../facts.ts";
import { type ClusterApi, checkLabels, checkPod, statusOf } from "./clusterApi.ts";
import { controlPlaneId, type NodeFacts, type NodeGroup, windowsTaint } from "./nodes.ts";
import type { ExecResult, Execute } from "./probe.ts";
import { podProblem } from "./workloads.ts";

/** A pod that answers HTTP with its name, and in which commands are run. */
export interface ProbePod {
  readonly pod: string;
  readonly group: string;
  readonly os: "linux" | "windows";
  readonly node: string;
  /** In the node's own network, by hostNetwork on Linux and HostProcess on Windows. Such a pod answers nothing. */
  readonly host: boolean;
}

export const probePort = 8080;
/** A port on which no probe pod listens. */
export const closedPort = 8099;
export const servicePort = 80;

const images = verifyImages();

export function probeImage({ release }: Pick<NodeGroup, "release">): string {
  return images.probePod(release);
}

/** Of a container that only waits, on every system. */
export const pauseImage = images.pause;

/** Labels that allow HostProcess and hostNetwork pods, and one on a control-plane machine. */
export const verifyNamespaceLabels = {
  ...checkLabels,
  "pod-security.kubernetes.io/enforce": "privileged",
  [allowingLabels.hostProcess]: "allowed",
  [allowingLabels.controlPlane]: "allowed",
};

/** A group's probe pods: two on one node and one on another, as far as there are nodes. */
export function probePodsOf({ id, os, nodes }: NodeGroup): readonly ProbePod[] {
  const [first, second] = nodes.filter(({ cordoned }) => !cordoned);
  const on = (suffix: string, node: NodeFacts | undefined): readonly ProbePod[] =>
    node === undefined ? [] : [{ pod: `${id}-${suffix}`, group: id, os, node: node.name, host: false }];
  return [...on("a0", first), ...on("a1", first), ...on("b0", second)];
}

export function hostProbePodOf({ id, os, nodes }: NodeGroup): ProbePod | undefined {
  const node = nodes.find(({ cordoned }) => !cordoned);
  return node === undefined ? undefined : { pod: `${id}-host`, group: id, os, node: node.name, host: true };
}

/** Chooses a node by affinity: naming it outright would pass by the scheduler and its taints. */
function onNode(node: string): Pick<V1PodSpec, "affinity"> {
  const term = { matchFields: [{ key: "metadata.name", operator: "In", values: [node] }] };
  return {
    affinity: { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [term] } } },
  };
}

const [windowsKey = "", windowsValue = ""] = windowsTaint.replace(/:.*/, "").split("=");
const toleratesWindows = [{ key: windowsKey, operator: "Equal", value: windowsValue, effect: "NoSchedule" }];
const toleratesControlPlane = [{ key: controlPlaneKey, operator: "Exists", effect: "NoSchedule" }];

export function forGroup({ os, release }: Pick<NodeGroup, "os" | "release">): Partial<V1PodSpec> {
  if (os === "linux") return { os: { name: "linux" }, nodeSelector: { "kubernetes.io/os": "linux" } };
  return {
    os: { name: "windows" },
    nodeSelector: { "kubernetes.io/os": "windows" },
    ...(release === undefined ? { tolerations: toleratesWindows } : { runtimeClassName: release.name }),
  };
}

const resources = { requests: { cpu: "10m", memory: "32Mi" }, limits: { memory: "256Mi" } };

export function probePodManifest(probePod: ProbePod, group: NodeGroup): V1Pod {
  if (probePod.host) return hostPod(probePod);
  const container = {
    name: "probe",
    image: probeImage(group),
    // Not netexec: it runs anybody's commands, and the check's load balancer may be public.
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
    ...(windows && {
      nodeSelector: { "kubernetes.io/os": "windows" },
      tolerations: toleratesWindows,
      securityContext: { windowsOptions: { hostProcess: true, runAsUserName: "NT AUTHORITY\\SYSTEM" } },
    }),
    ...(group === controlPlaneId && { tolerations: toleratesControlPlane }),
    ...onNode(node),
    containers: [container],
  });
}

export function serviceName(group: string): string {
  return `to-${group}`.replaceAll(".", "-");
}

/** `none`: there are none. */
export const balancerKinds = ["internal", "public", "none"] as const;
export type BalancerKind = (typeof balancerKinds)[number];

/** What makes a load balancer internal, by cloud. */
const internal = {
  "service.beta.kubernetes.io/aws-load-balancer-internal": "true",
  "service.beta.kubernetes.io/azure-load-balancer-internal": "true",
};

/** The Service of a group's pods; its load balancer is internal, or public for these networks. */
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
      ...(type === "LoadBalancer" && kind === "internal" && { annotations: internal }),
    },
    spec: {
      type,
      ...(kind === "public" && { loadBalancerSourceRanges: [...sources] }),
      selector: { "fenestra.dev/probe-pod": group },
      ports: [{ name: "http", port: servicePort, targetPort: probePort }],
    },
  };
}

export interface ReadyProbePod extends ProbePod {
  readonly ip: string;
}

interface ProbeService {
  readonly name: string;
  readonly clusterIp: string;
  readonly nodePort: number;
}

/** Pods that answer and ask: a group's are made when a check first needs them, and kept to the end. */
export class ProbePods {
  readonly #api: ClusterApi;
  readonly #namespace: string;
  readonly #execute: Execute;

  constructor(api: ClusterApi, namespace: string, execute: Execute) {
    this.#api = api;
    this.#namespace = namespace;
    this.#execute = execute;
  }

  /** All are Ready. Throws CheckFailure with a reason when the signal ends the waiting. */
  async ready(group: NodeGroup, signal: AbortSignal): Promise<readonly ReadyProbePod[]> {
    const wanted = probePodsOf(group);
    if (wanted.length === 0) throw new CheckFailure(`every node of ${group.id} is cordoned`, "kubectl get nodes");
    await Promise.all(wanted.map((probePod) => this.#create(probePodManifest(probePod, group))));
    return await Promise.all(wanted.map((probePod) => this.#untilReady(probePod, signal)));
  }

  async host(group: NodeGroup, signal: AbortSignal): Promise<ReadyProbePod> {
    const probePod = hostProbePodOf(group);
    if (probePod === undefined) throw new CheckFailure(`every node of ${group.id} is cordoned`, "kubectl get nodes");
    await this.#create(probePodManifest(probePod, group));
    return await this.#untilReady(probePod, signal);
  }

  async service(group: NodeGroup): Promise<ProbeService> {
    const name = serviceName(group.id);
    const namespace = this.#namespace;
    await this.#api.core
      .createNamespacedService({ namespace, body: probeService(group.id, "NodePort") })
      .catch(unlessPresent);
    const { spec } = await this.#api.core.readNamespacedService({ namespace, name });
    const nodePort = spec?.ports?.[0]?.nodePort;
    if (spec?.clusterIP === undefined || nodePort === undefined)
      throw new CheckFailure(`Service ${name} has no cluster address or node port`, `kubectl -n ${namespace} get svc`);
    return { name, clusterIp: spec.clusterIP, nodePort };
  }

  async run(probePod: ProbePod, command: readonly string[]): Promise<ExecResult> {
    return await this.#execute(probePod.pod, command);
  }

  async #create(body: V1Pod): Promise<void> {
    await this.#api.core.createNamespacedPod({ namespace: this.#namespace, body }).catch(unlessPresent);
  }

  async #untilReady(probePod: ProbePod, signal: AbortSignal): Promise<ReadyProbePod> {
    const [namespace, name] = [this.#namespace, probePod.pod];
    return await until(
      `pod ${name} on node ${probePod.node} to be Ready`,
      {
        signal,
        lookAt: `kubectl -n ${namespace} describe pod ${name} (while verify runs), and the node ${probePod.node}`,
      },
      async () => {
        const pod = await this.#api.core.readNamespacedPod({ namespace, name });
        const problem = podProblem(pod);
        if (problem !== undefined) throw new NotYet(problem);
        const ip = pod.status?.podIP;
        if (ip === undefined) throw new NotYet("it has no address");
        return { ...probePod, ip };
      },
    );
  }
}

function unlessPresent(error: unknown): void {
  if (statusOf(error) !== 409) throw new CheckFailure(`the API server refused the pod or Service: ${messageOf(error)}`);
}

export interface VerifyTools {
  readonly api: ClusterApi;
  /** Where checks make pods, which they remove again. */
  readonly namespace: string;
  readonly probePods: Pick<ProbePods, "ready" | "host" | "service" | "run">;
}

export type VerifyContext = VerifyTools & CheckRun;

/** Its id says what is checked, and after a slash where. */
export type VerifyCheck = Check<VerifyTools>;
