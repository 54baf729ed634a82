import type { ClusterSpec } from "../../model/clusterSpec.ts";
import type { WindowsFacts } from "../../model/operatingSystems.ts";
import type { Container, Manifest, PodSpec, Volume } from "../manifest.ts";

/** Namespace of the samples. */
export const samplesNamespace = "fenestra-samples";

/** The namespace of the samples. Baseline refuses host access, which no sample but the HostProcess one needs. */
export function samplesNamespaceManifest(): Manifest {
  return {
    apiVersion: "v1",
    kind: "Namespace",
    metadata: { name: samplesNamespace, labels: { "pod-security.kubernetes.io/enforce": "baseline" } },
  };
}

/**
 * Requests and limits of a small Windows web server: without a limit one container can exhaust a node, because Windows has no OOM killer. All samples
 * of a build fit on one machine of the default size, beside the agents of the node.
 */
export const sampleResources = {
  requests: { cpu: "100m", memory: "256Mi" },
  limits: { cpu: "1", memory: "800Mi" },
};

/** Suffix of a sample's name: the year of the release. */
export function yearOf(os: WindowsFacts): string {
  return os.name.replace("windows-", "");
}

/** What differs between the pods of Windows samples. */
export interface WindowsPod {
  readonly os: WindowsFacts;
  readonly container: Omit<Container, "resources">;
  readonly volumes?: Volume[];
  readonly initContainers?: Container[];
  /** Other fields of the pod: user, nodes of its build, restart policy. */
  readonly pod?: Pick<PodSpec, "serviceAccountName" | "securityContext" | "nodeSelector" | "restartPolicy">;
}

/** What differs between the samples that are one Windows web server. */
export interface WindowsSite extends WindowsPod {
  readonly name: string;
  /** How a new version takes over. A disk can be on one machine only, so its pod is recreated. Default a rolling update. */
  readonly strategy?: "Recreate";
  /** Pods. `autoscaled` leaves the number to a HorizontalPodAutoscaler. Default 1. */
  readonly replicas?: number | "autoscaled";
}

/** Labels by which a sample's Service finds its pods. */
export function sampleLabels(name: string): Record<string, string> {
  return { "app.kubernetes.io/name": name, "app.kubernetes.io/part-of": "fenestra-samples" };
}

/** A sample's pod: `runtimeClassName` brings node selector and toleration of the build. */
export function windowsPod({ os, container, volumes, initContainers, pod }: WindowsPod): PodSpec {
  return {
    ...pod,
    os: { name: "windows" },
    runtimeClassName: os.name,
    automountServiceAccountToken: false,
    ...(initContainers === undefined ? {} : { initContainers }),
    containers: [{ ...container, resources: sampleResources }],
    ...(volumes === undefined ? {} : { volumes }),
  };
}

/** A Deployment of one Windows web server. */
export function windowsDeployment(site: WindowsSite): Manifest {
  const labels = sampleLabels(site.name);
  return {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name: site.name, namespace: samplesNamespace, labels },
    spec: {
      // Setting the number means owning the field: with an autoscaler the next server-side apply would end in a conflict (pulumi/pulumi-kubernetes#2491).
      ...(site.replicas === "autoscaled" ? {} : { replicas: site.replicas ?? 1 }),
      ...(site.strategy === undefined ? {} : { strategy: { type: site.strategy } }),
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: windowsPod(site) },
    },
  };
}

/** A Service of port 80 of a sample. */
export function sampleService(site: string, type: "NodePort" | "LoadBalancer"): Manifest {
  return {
    apiVersion: "v1",
    kind: "Service",
    metadata: {
      name: type === "LoadBalancer" ? `${site}-lb` : site,
      namespace: samplesNamespace,
      labels: sampleLabels(site),
    },
    spec: { type, selector: sampleLabels(site), ports: [{ name: "http", port: 80, targetPort: "http" }] },
  };
}

/** The sample's Service of type LoadBalancer; none without a cloud controller, which creates the load balancer. */
export function loadBalancer(spec: Pick<ClusterSpec, "addons">, site: string): readonly Manifest[] {
  return spec.addons.cloudController ? [sampleService(site, "LoadBalancer")] : [];
}
