import { fromJson } from "../model/json.ts";
import { type ApiClient, askApi, field, text } from "./apiProbe.ts";

/**
 * Finds nodes whose kubelet lives now. What a kubelet has said stays until the node controller gives it up after 50 seconds
 * (--node-monitor-grace-period), so the pods of a machine that has just died are ready until then. A kubelet renews its lease every 10
 * seconds (kubernetes 1.36: pkg/kubelet/kubelet.go, nodeLeaseRenewIntervalFraction), and only its own (NodeRestriction). Times are compared
 * with each other and with no clock of this machine.
 *
 * @returns a probe that says what is wrong with a node, or `undefined` once its lease has been renewed since the first look at it
 */
export function leaseRenewed(api: ApiClient): (node: string) => Promise<string | undefined> {
  const first = new Map<string, string>();
  return async (node) => {
    const { status, body } = await askApi(api, `/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/${node}`);
    if (status !== 200) return `the lease of ${node}: the API answers ${status}`;
    const renewed = text(field(field(fromJson(body), "spec"), "renewTime"));
    const before = first.get(node) ?? renewed;
    first.set(node, before);
    return renewed === before ? `${node} has given no sign of life since ${renewed}` : undefined;
  };
}
