import { setTimeout as sleep } from "node:timers/promises";
import { KubeConfig, type V1Node, type V1Taint, Watch } from "@kubernetes/client-node";
import { apiFor } from "../api/client.ts";
import { limitsMs } from "../host/command.ts";
import { waitFor } from "../host/processes.ts";

/** A Node as the API server stored it when the kubelet created it. */
export interface RegisteredNode {
  readonly name: string;
  readonly pool: string | undefined;
  readonly labels: Readonly<Record<string, string>>;
  readonly taints: readonly V1Taint[];
}

/**
 * Records every Node as its kubelet made it, but for those already there: a watch gives each version, so the cloud
 * controller's changes a moment later do not get between.
 * @param registered gets them by name
 */
export async function recordRegistrations(kubeconfig: string, registered: Map<string, RegisteredNode>): Promise<void> {
  const config = new KubeConfig();
  config.loadFromString(kubeconfig);
  // The administrator has no rights before kubeadm binds them, a moment after the API server is ready.
  let version = await waitFor(
    "the list of nodes",
    limitsMs.answer,
    async () => (await apiFor(kubeconfig).core.listNode()).metadata?.resourceVersion,
  );
  const seen = (phase: string, node: V1Node): void => {
    version = node.metadata?.resourceVersion ?? version;
    if (phase === "ADDED") registered.set(node.metadata?.name ?? "", registeredNode(node));
  };
  // An API server may go away on purpose: the next watch goes on where this one ended.
  const follow = async (): Promise<void> => {
    const { promise: ended, resolve } = Promise.withResolvers<void>();
    const query = { resourceVersion: version };
    new Watch(config).watch("/api/v1/nodes", query, seen, () => resolve()).catch(() => resolve());
    await ended;
    await sleep(500);
    void follow();
  };
  void follow();
}

function registeredNode({ metadata, spec }: V1Node): RegisteredNode {
  return {
    name: metadata?.name ?? "",
    pool: metadata?.labels?.["fenestra.dev/pool"],
    labels: metadata?.labels ?? {},
    taints: spec?.taints ?? [],
  };
}
