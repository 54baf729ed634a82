import { X509Certificate } from "node:crypto";
import type { V1CertificateSigningRequest } from "@kubernetes/client-node";
import { expect, expectEqual } from "../../check/check.ts";
import { uninitializedTaintKey } from "../../check/facts.ts";
import { cidr, overlaps } from "../../components/model/cidr.ts";
import { waitFor } from "../host/processes.ts";
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
  };
}

export const objectsAccepted: RehearsalCheck = {
  id: "objects",
  title:
    "the API server accepts every object of the program with strict validation, and the program's own policies have nothing to say of them",
  run: async ({ refusedObjects, warnings }) => {
    expect(refusedObjects.length === 0, refusedObjects.join("\n"));
    const ours = warnings.filter((warning) => warning.includes("ValidatingAdmissionPolicy"));
    expect(ours.length === 0, ours.join("\n"));
  },
};

/**
 * Each pod with a network of its own has an address of its node's own range or interface. Only pods of Linux nodes have
 * real addresses.
 */
export const podAddresses: RehearsalCheck = {
  id: "pod addresses",
  title: "pods of Linux nodes have addresses of their own node: of its range, or of its network interface",
  run: async ({ api, cloud, pools, note }) => {
    const nodes = new Map((await api.core.listNode()).items.map((node) => [node.metadata?.name ?? "", node]));
    const machines = new Map(cloud.machines.map((machine) => [cloud.identity(machine).nodeName, machine]));
    const onInterface = pools.some(({ podAddresses: place }) => place === "interface");
    // The first of them may still be starting.
    const judged = await waitFor("a pod", 20_000, async () => {
      const { items } = await api.core.listPodForAllNamespaces();
      const running = items.filter(
        ({ spec, status }) =>
          spec?.hostNetwork !== true &&
          status?.podIP !== undefined &&
          status.phase === "Running" &&
          nodes.get(spec?.nodeName ?? "")?.metadata?.labels?.["kubernetes.io/os"] === "linux",
      );
      return running.length > 0 && running;
    }).catch(() => []);
    expect(judged.length > 0, "no pod has a network of its own");
    const own = (node: string, address: string): boolean =>
      onInterface
        ? (machines.get(node)?.secondaryIps ?? []).includes(address)
        : overlaps(cidr(nodes.get(node)?.spec?.podCIDR ?? "0.0.0.0/32"), cidr(`${address}/32`));
    const wrong = judged.filter(({ spec, status }) => !own(spec?.nodeName ?? "", status?.podIP ?? ""));
    expectEqual(
      wrong.map(({ metadata, spec, status }) => `${metadata?.name} on ${spec?.nodeName} has ${status?.podIP}`),
      [],
      "pods with other addresses",
    );
    const taken = judged.map(({ status }) => status?.podIP);
    expectEqual(new Set(taken).size, taken.length, "different addresses");
    const ranges = [...nodes.values()].filter(({ spec }) => spec?.podCIDR !== undefined).length;
    expectEqual(ranges, onInterface ? 0 : nodes.size, "nodes with a range of pods");
    note(`${judged.length} pods`);
  },
};
