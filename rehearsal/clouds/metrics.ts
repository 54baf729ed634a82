import { newAuthority } from "../../plan/fakes/certificates.ts";
import type { Api } from "../api/client.ts";
import type { Network } from "../host/network.ts";
import { listen } from "./server.ts";

const service = { namespace: "kube-system", name: "metrics-server" };
const version = "metrics.k8s.io/v1beta1";
const json = { "content-type": "application/json" };

/**
 * Fake of metrics-server, without figures, at the address of its Service: while nobody answers for a registered API, no
 * deleted namespace ends (kubernetes/kubernetes#60807).
 *
 * @returns whether the cluster has that Service
 */
export async function answerForMetrics({ core }: Api, network: Pick<Network, "addAddress">): Promise<boolean> {
  const { items } = await core.listNamespacedService({ namespace: service.namespace });
  const address = items.find(({ metadata }) => metadata?.name === service.name)?.spec?.clusterIP;
  if (address === undefined) return false;
  // The APIService does not verify it.
  const { certificate: cert, key } = newAuthority(service.name);
  await network.addAddress(address);
  await listen(address, 443, ({ url }) => ({ status: 200, headers: json, body: JSON.stringify(answerOf(url)) }), {
    cert,
    key,
  });
  return true;
}

/** The answers of the API of metrics (kubernetes-sigs/metrics-server: pkg/api/install.go). */
function answerOf(url: string): unknown {
  const resource = (name: string, kind: string, namespaced: boolean) => ({
    ...{ name, singularName: "", kind, namespaced },
    verbs: ["get", "list"],
  });
  if (/^\/apis\/metrics\.k8s\.io\/v1beta1\/?(\?|$)/.test(url))
    return {
      kind: "APIResourceList",
      apiVersion: "v1",
      groupVersion: version,
      resources: [resource("nodes", "NodeMetrics", false), resource("pods", "PodMetrics", true)],
    };
  const kind = /\/nodes(\?|$)/.test(url) ? "NodeMetricsList" : "PodMetricsList";
  return { kind, apiVersion: version, metadata: {}, items: [] };
}
