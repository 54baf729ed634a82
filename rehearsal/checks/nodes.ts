import { X509Certificate } from "node:crypto";
import type { V1CertificateSigningRequest } from "@kubernetes/client-node";
import { uninitializedTaintKey } from "../cluster/facts.ts";
import { type Check, type ExpectedPool, expect, expectEqual } from "./check.ts";

/** Taint of every Windows node, in lower case; written out here because a check must not learn it from the program. */
const windowsTaint = { key: "os", value: "windows", effect: "NoSchedule" };

/** Whether a certificate request is one that a kubelet made for this node and the controller-manager signed. */
function isSignedFor({ spec, status }: V1CertificateSigningRequest, node: string): boolean {
  if (spec.signerName !== "kubernetes.io/kube-apiserver-client-kubelet" || status?.certificate === undefined)
    return false;
  const subject = new X509Certificate(Buffer.from(status.certificate, "base64")).subject;
  return subject === `O=system:nodes\nCN=system:node:${node}` && (spec.username ?? "").startsWith("system:bootstrap:");
}

/** The checks on one pool's nodes. */
export function poolChecks(pool: ExpectedPool): readonly Check[] {
  return [
    {
      id: `pool ${pool.name}: registration`,
      title: `pool ${pool.name}: ${pool.count} nodes register themselves with the right labels and taints, by certificates from real requests`,
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
    {
      id: `pool ${pool.name}: ready`,
      title: `pool ${pool.name}: ${pool.count} nodes are Ready, initialised, with a pod network of their own`,
      run: async ({ api }) => {
        const nodes = (await api.core.listNode({ labelSelector: `fenestra.dev/pool=${pool.name}` })).items;
        expectEqual(nodes.length, pool.count, "nodes");
        for (const { metadata, spec, status } of nodes) {
          const name = metadata?.name ?? "";
          expectEqual(
            status?.conditions?.find(({ type }) => type === "Ready")?.status,
            "True",
            `condition Ready of ${name}`,
          );
          expect(!(spec?.taints ?? []).some(({ key }) => key === uninitializedTaintKey), `${name} is not initialised`);
          expect(/^\d+\.\d+\.\d+\.\d+\/24$/.test(spec?.podCIDR ?? ""), `${name} has pod network ${spec?.podCIDR}`);
          expect(metadata?.labels?.["topology.kubernetes.io/zone"] !== undefined, `${name} has no zone`);
        }
      },
    },
  ];
}
