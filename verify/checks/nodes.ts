import { messageOf } from "../api.ts";
import { CheckSkipped, expect, type VerifyCheck } from "../check.ts";
import { type NodeGroup, nodeFacts, nodeGroups, nodeProblems } from "../nodes.ts";
import { NotYet, until } from "../poll.ts";
import { workloadProblems } from "../workloads.ts";

/** Group id of control-plane machines in these checks. */
const controlPlane = "control-plane";

/** The nodes of a group, or the control plane, are Ready with the labels and taints of their system. */
export function nodesCheck(id: string, count: number, describe: string): VerifyCheck {
  return {
    id: `nodes/${id}`,
    title: `${count} ${count === 1 ? "node" : "nodes"} of ${id} Ready, with the labels and taints of ${describe}`,
    run: async ({ api, signal, note }) => {
      const names = await until(
        `the nodes of ${id}`,
        async () => {
          const nodes = (await api.core.listNode()).items.map(nodeFacts);
          const own =
            id === controlPlane
              ? nodes.filter((node) => node.controlPlane)
              : (nodeGroups(nodes).find((group) => group.id === id)?.nodes ?? []);
          if (own.length === 0) throw new NotYet("there are none left");
          const problems = own.flatMap(nodeProblems);
          if (problems.length > 0) throw new NotYet(problems.join("; "));
          return own.map(({ name }) => name);
        },
        { signal, intervalMs: 2_000, lookAt: "kubectl get nodes -o wide --show-labels; kubectl describe node <name>" },
      );
      note(names.join(", "));
    },
  };
}

/** Pods that are made for a group get Ready on each of its first two nodes. */
export function podsReadyCheck(group: NodeGroup): VerifyCheck {
  return {
    id: `pods-ready/${group.id}`,
    title: `pods for ${group.id} get to its nodes and are listed as Ready`,
    run: async ({ stations, signal, note }) => {
      const ready = await stations.ready(group, signal);
      note(ready.map(({ pod, node }) => `${pod} on ${node}`).join(", "));
      if (group.simulated) note("the nodes are simulated: scheduling is real, the start of the containers is not");
    },
  };
}

/** Every Deployment, StatefulSet and DaemonSet of the cluster has its pods. */
export const workloadsCheck: VerifyCheck = {
  id: "workloads",
  title: "every Deployment, StatefulSet and DaemonSet of the cluster has all its pods available",
  run: async ({ api, signal, note }) => {
    let lookAt: string | undefined;
    const counts = await until(
      "all workloads",
      async () => {
        const [deployments, statefulSets, daemonSets, pods] = await Promise.all([
          api.apps.listDeploymentForAllNamespaces(),
          api.apps.listStatefulSetForAllNamespaces(),
          api.apps.listDaemonSetForAllNamespaces(),
          api.core.listPodForAllNamespaces(),
        ]);
        const workloads = {
          deployments: deployments.items,
          statefulSets: statefulSets.items,
          daemonSets: daemonSets.items,
          pods: pods.items,
        };
        const problems = workloadProblems(workloads);
        lookAt = problems[0]?.lookAt;
        if (problems.length > 0) {
          throw new NotYet(
            problems.map(({ what, reason }) => `${what}${reason === undefined ? "" : ` (${reason})`}`).join("\n"),
          );
        }
        return [deployments.items.length, statefulSets.items.length, daemonSets.items.length];
      },
      {
        signal,
        intervalMs: 1_000,
        get lookAt() {
          return lookAt ?? "kubectl get deployments,statefulsets,daemonsets -A";
        },
      },
    );
    const [deployments, statefulSets, daemonSets] = counts;
    note(`${deployments} Deployments, ${statefulSets} StatefulSets, ${daemonSets} DaemonSets`);
  },
};

/** Signer of the certificates with which kubelets answer (kubernetes.io: "Certificate Signing Requests"). */
const servingSigner = "kubernetes.io/kubelet-serving";

/** Without a serving certificate a node has no logs, exec and metrics. */
export const servingCertificatesCheck: VerifyCheck = {
  id: "serving-certificates",
  title: "no node waits for its kubelet's serving certificate, and none was refused one",
  run: async ({ api, signal, note }) => {
    const approved = await until(
      "the serving certificates",
      async () => {
        const requests = (await api.certificates.listCertificateSigningRequest()).items.filter(
          ({ spec }) => spec.signerName === servingSigner,
        );
        // Requests stay for an hour or a day after their end, and a node that was refused asks again: its newest counts.
        const newest = new Map<string, (typeof requests)[number]>();
        for (const request of requests.toSorted((a, b) => age(a) - age(b)))
          newest.set(request.spec.username ?? "", request);
        const bad = [...newest.entries()].flatMap(([user, { metadata, status }]) => {
          const refusal = status?.conditions?.find(({ type }) => type === "Denied" || type === "Failed");
          if (refusal !== undefined)
            return [`${user}: ${metadata?.name} was ${refusal.type}: ${refusal.reason ?? ""} ${refusal.message ?? ""}`];
          return status?.certificate === undefined ? [`${user}: ${metadata?.name} has no certificate yet`] : [];
        });
        expectNone(bad);
        return newest.size;
      },
      {
        signal,
        intervalMs: 2_000,
        lookAt: "kubectl get csr; kubectl -n kube-system logs deployment/kubelet-csr-approver",
      },
    );
    if (approved === 0)
      throw new CheckSkipped("no node has asked for a serving certificate within the time that requests are kept");
    note(`${approved} nodes have one`);
  },
};

function expectNone(problems: readonly string[]): void {
  if (problems.length > 0) throw new NotYet(problems.join("; "));
}

function age({ metadata }: { readonly metadata?: { readonly creationTimestamp?: Date } }): number {
  return metadata?.creationTimestamp?.getTime() ?? 0;
}

/** `kubectl top` has a value for each node. */
export function metricsCheck(nodes: readonly string[]): VerifyCheck {
  return {
    id: "metrics",
    title: "the metrics API knows processor and memory use of every node, so kubectl top and autoscaling by load work",
    run: async ({ api, signal, note }) => {
      await until(
        "metrics of every node",
        async () => {
          const { items } = await api.metrics.getNodeMetrics().catch((error: unknown) => {
            throw new NotYet(messageOf(error));
          });
          const missing = nodes.filter((name) => {
            const usage = items.find(({ metadata }) => metadata.name === name)?.usage;
            return usage === undefined || usage.memory === "0" || usage.memory === "";
          });
          if (missing.length > 0) throw new NotYet(`none for ${missing.join(", ")}`);
        },
        {
          signal,
          intervalMs: 5_000,
          lookAt: "kubectl top nodes; kubectl -n kube-system logs deployment/metrics-server",
        },
      );
      expect(nodes.length > 0, "the cluster has no nodes", "kubectl get nodes");
      note(`${nodes.length} nodes`);
    },
  };
}
