import type { V1CertificateSigningRequest } from "@kubernetes/client-node";
import { z } from "zod";
import { CheckSkipped, expect, NotYet, until } from "../check.ts";
import { ports } from "../facts.ts";
import { controlPlaneId, type NodeGroup, nodeGroups, nodesCheck } from "./nodes.ts";
import { from } from "./pods.ts";
import { reaches } from "./probe.ts";
import type { VerifyCheck } from "./probePods.ts";

export function groupNodesCheck(id: string, count: number, describe: string): VerifyCheck {
  return nodesCheck({
    id: `nodes/${id}`,
    title: `${count} ${count === 1 ? "node" : "nodes"} of ${id} Ready, with the labels and taints of ${describe}`,
    own: (nodes) =>
      id === controlPlaneId
        ? nodes.filter((node) => node.controlPlane)
        : (nodeGroups(nodes).find((group) => group.id === id)?.nodes ?? []),
  });
}

export const podsReadyId = ({ id }: Pick<NodeGroup, "id">): string => `pods-ready/${id}`;

export function podsReadyCheck(group: NodeGroup): VerifyCheck {
  return {
    id: podsReadyId(group),
    title: `pods for ${group.id} get to its nodes and are listed as Ready`,
    run: async ({ probePods, signal, note }) => {
      const ready = await probePods.ready(group, signal);
      note(ready.map(({ pod, node }) => `${pod} on ${node}`).join(", "));
      if (group.simulated) note("the nodes are simulated: scheduling is real, the start of the containers is not");
    },
  };
}

/** Signer of kubelets' serving certificates (kubernetes.io: "Certificate Signing Requests"). */
const servingSigner = "kubernetes.io/kubelet-serving";

/**
 * What is wrong, how many nodes have a serving certificate, and whose tokens got a first one after another that was not
 * used. Pure.
 *
 * @param nodes one that is gone needs no certificate
 */
export function certificateProblems(nodes: ReadonlySet<string>, items: readonly V1CertificateSigningRequest[]) {
  // The node controller denies only what no machine of the cluster asks.
  const hostile = items.flatMap(({ metadata, status }) =>
    (status?.conditions ?? []).flatMap(({ reason, message }) =>
      reason === "FenestraDenied" ? [`somebody made ${metadata?.name}, which was denied: ${message}`] : [],
    ),
  );
  const age = ({ metadata }: V1CertificateSigningRequest): number => metadata?.creationTimestamp?.getTime() ?? 0;
  const own = items.filter(
    ({ spec }) => spec.signerName === servingSigner && nodes.has((spec.username ?? "").replace("system:node:", "")),
  );
  // Requests stay for an hour or a day, and a refused node asks again: the newest counts.
  const newest = new Map(
    own.toSorted((a, b) => age(a) - age(b)).map((request) => [request.spec.username ?? "", request]),
  );
  const bad = [...newest].flatMap(([user, { metadata, status }]) => {
    const refusal = status?.conditions?.find(({ type }) => type === "Denied" || type === "Failed");
    if (refusal !== undefined)
      return [`${user}: ${metadata?.name} was ${refusal.type}: ${refusal.reason ?? ""} ${refusal.message ?? ""}`];
    return (status?.certificate ?? "") === "" ? [`${user}: ${metadata?.name} has no certificate yet`] : [];
  });
  const again = items.flatMap(({ status }) =>
    (status?.conditions ?? []).flatMap(
      ({ type, message }) =>
        (type === "Approved" && /^first .* by (the token .*), since .* has not been used$/.exec(message ?? "")?.[1]) ||
        [],
    ),
  );
  return { problems: [...bad, ...hostile], count: newest.size, again };
}

/** Without serving certificates nodes have no logs, exec and metrics. */
export const servingCertificatesCheck: VerifyCheck = {
  id: "serving-certificates",
  title: "no node waits for its kubelet's serving certificate, and no request for a kubelet's certificate was denied",
  run: async ({ api, signal, note }) => {
    const { count: approved, again } = await until(
      "the serving certificates",
      { signal, lookAt: "kubectl get csr; kubectl -n kube-system get configmap fenestra-machines --output yaml" },
      async () => {
        const nodes = new Set((await api.core.listNode()).items.map(({ metadata }) => metadata?.name ?? ""));
        const { problems, count, again } = certificateProblems(
          nodes,
          (await api.certificates.listCertificateSigningRequest()).items,
        );
        if (problems.length > 0) throw new NotYet(problems.join("; "));
        return { count, again };
      },
    );
    if (again.length > 0)
      note(`${again.length} first certificates followed one that was not used: ${[...new Set(again)].join(", ")}`);
    if (approved === 0)
      throw new CheckSkipped("no node has asked for a serving certificate within the time that requests are kept");
    note(`${approved} nodes have one`);
  },
};

const measured = { group: "metrics.k8s.io", version: "v1beta1" } as const;

const usage = z.object({ usage: z.object({ memory: z.string().default("") }).prefault({}) });
/** Metrics of nodes, and of pods by their containers. */
const listedMetrics = z.object({
  items: z.array(
    z.object({
      ...{ metadata: z.object({ name: z.string() }), containers: z.array(usage).optional() },
      ...usage.shape,
    }),
  ),
});

/** By name, whether the memory of a node, or of each container of a pod, has a value. */
function isMeasured(listed: unknown): ReadonlyMap<string, boolean> {
  return new Map(
    listedMetrics.parse(listed).items.map(({ metadata, containers, ...own }) => {
      const memory = (containers ?? [own]).map((part) => part.usage.memory);
      return [metadata.name, memory.length > 0 && memory.every((each) => /[1-9]/.test(each))];
    }),
  );
}

export const metricsCheck: VerifyCheck = {
  id: "metrics",
  title: "the metrics API knows processor and memory use of every node, so kubectl top works",
  run: async ({ api, signal, note }) => {
    const count = await until(
      "metrics of every node",
      { signal, intervalMs: 5_000, lookAt: "kubectl top nodes; kubectl -n kube-system logs deployment/metrics-server" },
      async () => {
        // Anew each time: an autoscaler may take a node away.
        const nodes = (await api.core.listNode()).items.map(({ metadata }) => metadata?.name ?? "");
        const known = isMeasured(await api.custom.listClusterCustomObject({ ...measured, plural: "nodes" }));
        const missing = nodes.filter((name) => known.get(name) !== true);
        if (missing.length > 0) throw new NotYet(`none for ${missing.join(", ")}`);
        return nodes.length;
      },
    );
    expect(count > 0, "the cluster has no nodes", "kubectl get nodes");
    note(`${count} nodes`);
  },
};

/** HorizontalPodAutoscalers decide by these values. */
export function podMetricsCheck(group: NodeGroup): VerifyCheck {
  return {
    id: `pod-metrics/${group.id}`,
    title: `the metrics API knows what pods of ${group.id} use, so they can be scaled by load`,
    run: async ({ api, namespace, probePods, signal }) => {
      const pods = await probePods.ready(group, signal);
      await until(
        `metrics of pods of ${group.id}`,
        {
          signal,
          intervalMs: 5_000,
          lookAt: `kubectl top pods -n ${namespace} (while verify runs); kubectl -n kube-system logs deployment/metrics-server`,
        },
        async () => {
          const known = isMeasured(
            await api.custom.listNamespacedCustomObject({ ...measured, namespace, plural: "pods" }),
          );
          const missing = pods.filter(({ pod }) => known.get(pod) !== true);
          if (missing.length > 0) throw new NotYet(`none for ${missing.map(({ pod }) => pod).join(", ")}`);
        },
      );
    },
  };
}

/** Port of each exporter, and how its metrics begin. */
const exporters = {
  linux: { port: ports.linuxExporter, metric: /^node_/m },
  windows: { port: ports.windowsExporter, metric: /^windows_/m },
} as const;

/** Exporters answer other nodes, as a Prometheus anywhere would ask. @param askers groups whose first nodes ask */
export function exporterCheck(group: NodeGroup, askers: readonly NodeGroup[]): VerifyCheck {
  const { port, metric } = exporters[group.os];
  return {
    id: `metrics/${group.id}`,
    title: `the Prometheus exporters of nodes of ${group.id} answer other nodes`,
    run: async (context) => {
      const { probePods, signal, note } = context;
      const targets = group.nodes.filter(({ ready }) => ready).slice(0, 2);
      const pairs: string[] = [];
      for (const asker of askers) {
        const start = await probePods.host(asker, signal);
        for (const { internalIp, name } of targets.filter((target) => target.name !== start.node)) {
          expect(internalIp !== undefined, `node ${name} has no address`, `kubectl describe node ${name}`);
          await reaches(from(context, start), `http://${internalIp}:${port}/metrics`, {
            signal,
            judge: (answer) => (metric.test(answer) ? undefined : `none of its metrics in "${answer.slice(0, 100)}"`),
            lookAt: `kubectl -n fenestra-monitoring get pods -o wide; the firewall between the nodes, and on Windows that of the node, for port ${port}`,
          });
          pairs.push(`${start.node} -> ${name}`);
        }
      }
      if (pairs.length === 0) throw new CheckSkipped("there is no other node to ask from");
      note(pairs.join(", "));
    },
  };
}
