import type { V1Node } from "@kubernetes/client-node";
import { statusOf } from "../../checks/cluster/api.ts";
import { uninitializedTaintKey } from "../../checks/facts.ts";
import type { Api } from "../api/client.ts";

/** An instance as the cloud knows it. */
export interface CloudInstance {
  readonly providerId: string;
  readonly zone: string;
  readonly region: string;
  readonly instanceType: string;
  readonly address: string;
  /** Private DNS name, which the cloud controller on AWS writes into the Node. */
  readonly privateDns?: string;
  /** Whether it carries the tag by which the cloud controller knows the cluster's instances. */
  readonly ofCluster: boolean;
}

/**
 * Fake of the cloud controller manager: it finds the instance by the node's provider id, sets addresses and the labels of zone, region and
 * type, and removes the `uninitialized` taint. A node whose provider id it cannot find keeps the taint, as with the real one.
 *
 * @returns names of the nodes that it initialised
 */
export async function initialiseNodes({ core }: Api, instances: readonly CloudInstance[]): Promise<readonly string[]> {
  const nodes = (await core.listNode()).items.filter(({ spec }) => spec?.taints?.some(({ key }) => key === uninitializedTaintKey));
  const done = await Promise.all(nodes.map(async (node) => ((await initialise(node)) ? [node.metadata?.name ?? ""] : [])));
  return done.flat();

  /** Addresses as on AWS (kubernetes/cloud-provider-aws v1.35.2: pkg/providers/v1/aws.go, `extractIPv4NodeAddresses`). */
  async function withAddresses(node: V1Node, { address, privateDns }: CloudInstance): Promise<V1Node> {
    if (privateDns === undefined) return node;
    const addresses = [
      { type: "InternalIP", address },
      { type: "InternalDNS", address: privateDns },
      { type: "Hostname", address: privateDns },
    ];
    const name = node.metadata?.name ?? "";
    return await core.replaceNodeStatus({ name, body: { ...node, status: { ...node.status, addresses } } });
  }

  async function initialise(registered: V1Node): Promise<boolean> {
    const instance = instances.find(({ providerId }) => providerId === registered.spec?.providerID);
    if (instance === undefined || !instance.ofCluster) return false;
    const name = registered.metadata?.name ?? "";
    try {
      const node = await withAddresses(registered, instance);
      await core.replaceNode({
        name,
        body: {
          ...node,
          metadata: {
            ...node.metadata,
            labels: {
              ...node.metadata?.labels,
              "topology.kubernetes.io/zone": instance.zone,
              "topology.kubernetes.io/region": instance.region,
              "node.kubernetes.io/instance-type": instance.instanceType,
            },
          },
          spec: { ...node.spec, taints: (node.spec?.taints ?? []).filter(({ key }) => key !== uninitializedTaintKey) },
        },
      });
      return true;
    } catch (error) {
      // The node changed in between: the next round sees it again.
      if (statusOf(error) === 409) return false;
      throw error;
    }
  }
}

/**
 * The node lifecycle part of the cloud controller: removes nodes whose instance the cloud does not know any more. A taint of instances that
 * are shut down is not imitated: none is, here.
 */
export async function removeGoneNodes({ core }: Api, instances: readonly CloudInstance[]): Promise<void> {
  for (const name of goneNodes((await core.listNode()).items, instances)) await core.deleteNode({ name });
}

/**
 * Names of the nodes that are to be removed. A node that is Ready is never looked for in the cloud: until the controller-manager has missed
 * its lease for long enough it stays (kubernetes/cloud-provider v0.36.2: controllers/nodelifecycle/node_lifecycle_controller.go,
 * `MonitorNodes`).
 */
export function goneNodes(nodes: readonly V1Node[], instances: readonly CloudInstance[]): readonly string[] {
  const known = new Set(instances.map(({ providerId }) => providerId));
  return nodes.flatMap(({ metadata, spec, status }) => {
    const ready = status?.conditions?.find(({ type }) => type === "Ready")?.status;
    const gone = ready !== "True" && spec?.providerID !== undefined && !known.has(spec.providerID);
    return gone ? [metadata?.name ?? ""] : [];
  });
}
