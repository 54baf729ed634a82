import { X509Certificate } from "node:crypto";
import type { V1CertificateSigningRequest } from "@kubernetes/client-node";
import { expect, expectEqual, needing } from "../../check/check.ts";
import { nodesCheck } from "../../check/cluster/nodes.ts";
import { uninitializedTaintKey } from "../../check/facts.ts";
import type { NodeTemplate } from "../clouds/cloud.ts";
import type { ExpectedPool, RehearsalCheck } from "./context.ts";

/** Taint of every Windows node, in lower case; written out, since a check must not learn it from the program. */
const windowsTaint = { key: "os", value: "windows", effect: "NoSchedule" };

/** Whether a certificate request was made by a kubelet for this node and signed by the controller-manager. */
function isSignedFor({ spec, status }: V1CertificateSigningRequest, node: string): boolean {
  if (spec.signerName !== "kubernetes.io/kube-apiserver-client-kubelet" || status?.certificate === undefined)
    return false;
  const subject = new X509Certificate(Buffer.from(status.certificate, "base64")).subject;
  return subject === `O=system:nodes\nCN=system:node:${node}` && (spec.username ?? "").startsWith("system:bootstrap:");
}

/** Id of the check that a pool's nodes register, without which no pod gets to them. */
export const poolRegistrationId = (pool: Pick<ExpectedPool, "name">): string => `pool ${pool.name}: registration`;

const nodes = (count: number): string => (count === 1 ? "1 node" : `${count} nodes`);

export function poolChecks(pool: ExpectedPool): readonly RehearsalCheck[] {
  return [
    {
      id: poolRegistrationId(pool),
      title: `pool ${pool.name}: ${nodes(pool.count)} registered with the right labels and taints, by certificates from real requests`,
      run: async ({ registered, creators, api }) => {
        const own = [...registered.values()].filter((node) => node.pool === pool.name);
        expectEqual(own.length, pool.count, "nodes that registered");
        const requests = (await api.certificates.listCertificateSigningRequest()).items;
        for (const node of own) {
          expectEqual(creators.get(node.name), `system:node:${node.name}`, `user that created Node ${node.name}`);
          expect(
            requests.some((request) => isSignedFor(request, node.name)),
            `there is no signed certificate request of ${node.name}`,
          );
          expectEqual(node.labels["kubernetes.io/os"], pool.os, `label kubernetes.io/os of ${node.name}`);
          expectEqual(node.labels["kubernetes.io/arch"], "amd64", `label kubernetes.io/arch of ${node.name}`);
          expectEqual(node.labels["fenestra.dev/pool"], pool.name, `label fenestra.dev/pool of ${node.name}`);
          expectEqual(
            node.labels["node.kubernetes.io/windows-build"],
            pool.build,
            `label node.kubernetes.io/windows-build of ${node.name}`,
          );
          const uninitialized = node.taints.filter(({ key }) => key === uninitializedTaintKey);
          expectEqual(uninitialized.length, 1, `taints ${uninitializedTaintKey} of ${node.name}`);
          const os = node.taints
            .filter(({ key }) => key === "os")
            .map(({ key, value, effect }) => ({ key, value, effect }));
          expectEqual(os, pool.os === "windows" ? [windowsTaint] : [], `taint os of ${node.name}`);
        }
      },
    },
    ...needing(
      [poolRegistrationId(pool)],
      [
        nodesCheck({
          id: `pool ${pool.name}: ready`,
          title: `pool ${pool.name}: ${nodes(pool.count)} Ready, initialised, with a pod network of their own`,
          own: (all) => all.filter(({ labels }) => labels["fenestra.dev/pool"] === pool.name),
          count: pool.count,
          problems: ({ name, podCidr = "none", labels }) => [
            ...((pool.podAddresses === "interface" ? /^none$/ : /^\d+\.\d+\.\d+\.\d+\/24$/).test(podCidr)
              ? []
              : [`node ${name} has pod network ${podCidr}`]),
            ...(labels["topology.kubernetes.io/zone"] === undefined ? [`node ${name} has no zone`] : []),
          ],
          skip: pool.count === 0 ? "the stack file asks for no node in it" : undefined,
        }),
      ],
    ),
  ];
}

/** What scaling from zero is promised is what nodes of the pool really register. */
export function autoscalerCheck(templates: readonly NodeTemplate[]): RehearsalCheck {
  return {
    id: "scale from zero",
    title: "labels and taints that the autoscaler is promised equal those that a node of the pool registers",
    run: async ({ registered, note }) => {
      const seen: string[] = [];
      for (const { pool, labels, taints } of templates) {
        const node = [...registered.values()].find((candidate) => candidate.pool === pool);
        // An empty pool has no node to compare with.
        if (node === undefined) continue;
        seen.push(pool);
        for (const [key, value] of Object.entries(labels))
          expectEqual(node.labels[key], value, `label ${key} of a node of ${pool}`);
        const lasting = node.taints.filter(
          ({ key }) => key !== uninitializedTaintKey && !key.startsWith("node.kubernetes.io/"),
        );
        expectEqual(
          Object.fromEntries(lasting.map(({ key, value, effect }) => [key, `${value ?? ""}:${effect}`])),
          taints,
          `taints of a node of ${pool}`,
        );
      }
      expect(templates.length === 0 || seen.length > 0, "no autoscaled pool has a node");
      note(seen.length === 0 ? "no pool of this stack is autoscaled" : `compared: ${seen.join(", ")}`);
    },
  };
}
