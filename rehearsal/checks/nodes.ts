import { X509Certificate } from "node:crypto";
import type { V1CertificateSigningRequest } from "@kubernetes/client-node";
import { expect, expectEqual } from "../../check/check.ts";
import { uninitializedTaintKey } from "../../check/facts.ts";
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

export function registrationCheck(pool: ExpectedPool): RehearsalCheck {
  return {
    id: poolRegistrationId(pool),
    title: `pool ${pool.name}: ${nodes(pool.count)} registered with the right labels and taints, by certificates from real requests`,
    run: async ({ registered, api }) => {
      const own = [...registered.values()].filter((node) => node.pool === pool.name);
      expectEqual(own.length, pool.count, "nodes that registered");
      const requests = (await api.certificates.listCertificateSigningRequest()).items;
      for (const node of own) {
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
  };
}
