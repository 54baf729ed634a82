import { z } from "zod";
import { CheckSkipped, expect, NotYet, until } from "../check.ts";
import { ports } from "../facts.ts";
import type { NodeGroup } from "./nodes.ts";
import { from } from "./pods.ts";
import { reaches } from "./probe.ts";
import type { VerifyCheck } from "./probePods.ts";

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
