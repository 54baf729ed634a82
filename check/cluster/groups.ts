import type { V1CertificateSigningRequest } from "@kubernetes/client-node";
import { CheckSkipped, NotYet, until } from "../check.ts";
import { controlPlaneId, type NodeGroup, nodeGroups, nodeProblems, nodesOf } from "./nodes.ts";
import type { VerifyCheck } from "./probePods.ts";

/** Ready, with the labels and taints of their system. */
export function groupNodesCheck(id: string, count: number, describe: string): VerifyCheck {
  return {
    id: `nodes/${id}`,
    title: `${count} ${count === 1 ? "node" : "nodes"} of ${id} Ready, with the labels and taints of ${describe}`,
    run: async ({ api, signal, note }) => {
      const lookAt = "kubectl get nodes -o wide --show-labels; kubectl describe node <name>";
      const found = await until("the nodes", { signal, lookAt }, async () => {
        const nodes = nodesOf((await api.core.listNode()).items);
        const own =
          id === controlPlaneId
            ? nodes.filter((node) => node.controlPlane)
            : (nodeGroups(nodes).find((group) => group.id === id)?.nodes ?? []);
        if (own.length === 0) throw new NotYet("there are none");
        const wrong = own.flatMap(nodeProblems);
        if (wrong.length > 0) throw new NotYet(wrong.join("\n"));
        return own;
      });
      note(found.map(({ name }) => name).join(", "));
      for (const { name, traces } of found) for (const line of traces) note(`${name}: ${line}`);
    },
  };
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
