import { request } from "node:https";
import { fromJson } from "../model/json.ts";

export interface ApiClient {
  /** `https://host:6443`. */
  readonly server: string;
  /** Certificate of the cluster's authority, PEM: nothing else is trusted. */
  readonly caCertificate: string;
  /** Client certificate and key, PEM; without them the request is anonymous. */
  readonly client?: { readonly certificate: string; readonly key: string };
}

export interface ApiAnswer {
  readonly status: number;
  readonly body: string;
}

/** Longest time of one request, so that a dead load balancer target does not block the wait. */
const requestMilliseconds = 10_000;

/**
 * Asks the API for a path. Rejects when it cannot be reached or its certificate is not the cluster's.
 *
 * @param body object that is sent with a POST. Default: a GET.
 */
export function askApi(api: ApiClient, path: string, body?: object): Promise<ApiAnswer> {
  return new Promise((resolve, reject) => {
    const asked = request(
      new URL(path, api.server),
      {
        ca: api.caCertificate,
        timeout: requestMilliseconds,
        // One connection per request: a persistent one would stay with the same control-plane machine.
        agent: false,
        ...(body === undefined ? {} : { method: "POST", headers: { "content-type": "application/json" } }),
        ...(api.client === undefined ? {} : { cert: api.client.certificate, key: api.client.key }),
      },
      (answer) => {
        let text = "";
        answer.setEncoding("utf8");
        answer.on("data", (part: string) => {
          text += part;
        });
        answer.on("error", reject);
        answer.on("end", () => resolve({ status: answer.statusCode ?? 0, body: text }));
      },
    );
    asked.on("timeout", () => asked.destroy(new Error(`no answer within ${requestMilliseconds / 1000} seconds`)));
    asked.on("error", reject);
    asked.end(body === undefined ? undefined : JSON.stringify(body));
  });
}

/** Review of whether the client may do everything. */
const mayDoAll = {
  apiVersion: "authorization.k8s.io/v1",
  kind: "SelfSubjectAccessReview",
  spec: { resourceAttributes: { group: "*", resource: "*", verb: "*" } },
};

/**
 * What is wrong with the API as a whole, or `undefined` when it is ready and the client has an administrator's rights:
 * kubeadm binds them a moment after the API server is ready.
 */
export async function apiProblem(api: ApiClient): Promise<string | undefined> {
  const { status, body } = await askApi(api, "/readyz");
  if (status !== 200) return `/readyz answers ${status}: ${body.slice(0, 200)}`;
  if (api.client === undefined) return undefined;
  const review = await askApi(api, "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", mayDoAll);
  if (review.status !== 201) return `the API answers ${review.status} to a review of the administrator's rights`;
  const allowed = field(field(fromJson(review.body), "status"), "allowed");
  return allowed === true ? undefined : "the administrator has no rights yet";
}

/** A control-plane machine as its node. */
export interface MemberNode {
  /** Name of the node: the instance id on AWS, the computer name on Azure. */
  readonly node: string;
  /**
   * RFC 3339. Containers that started before do not count: where a machine keeps its node name, the pods of the one it
   * replaced may still be listed as ready.
   */
  readonly since?: string;
}

/** The static pods that make a machine a member; kubeadm names them `<component>-<node>`. */
const memberComponents = ["etcd", "kube-apiserver"] as const;

/** What is wrong with one control-plane machine, or `undefined` when its etcd member and its API server are ready. */
export async function memberProblem(api: ApiClient, member: MemberNode): Promise<string | undefined> {
  for (const component of memberComponents) {
    const pod = `${component}-${member.node}`;
    const { status, body } = await askApi(api, `/api/v1/namespaces/kube-system/pods/${pod}`);
    if (status !== 200) return `pod ${pod}: the API answers ${status}`;
    const found = fromJson(body);
    // A kubelet may make mirror pods under any name, but only for its own node (plugin/pkg/admission/noderestriction,
    // Kubernetes 1.36).
    if (field(field(found, "spec"), "nodeName") !== member.node) return `pod ${pod} is not on its node`;
    const problem = podProblem(found, member.since);
    if (problem !== undefined) return `pod ${pod} ${problem}`;
  }
  return undefined;
}

/** A node with the label of the control plane, which no kubelet may give itself. */
export interface ControlPlaneNode {
  readonly name: string;
  readonly address: string;
  /** Release of its kubelet, and so of its payload: `1.36.4`. */
  readonly version: string;
}

/** The nodes of the control plane. Throws when the API does not list them. */
export async function controlPlaneNodes(api: ApiClient): Promise<readonly ControlPlaneNode[]> {
  const { status, body } = await askApi(api, "/api/v1/nodes?labelSelector=node-role.kubernetes.io%2Fcontrol-plane");
  if (status !== 200) throw new Error(`the API answers ${status} to a list of the control-plane nodes`);
  return list(field(fromJson(body), "items")).map((node) => {
    const addresses = list(field(field(node, "status"), "addresses"));
    const internal = addresses.find((address) => field(address, "type") === "InternalIP");
    return {
      name: text(field(field(node, "metadata"), "name")),
      address: text(field(internal, "address")),
      version: text(field(field(field(node, "status"), "nodeInfo"), "kubeletVersion")).replace(/^v/, ""),
    };
  });
}

/**
 * What is wrong with the control-plane machine that has an address, or `undefined`. The Node of a machine that is gone
 * may still be there beside its successor's; one of them must be well.
 *
 * @param lives says what is wrong with the kubelet of a node, or `undefined`
 */
export async function addressProblem(
  api: ApiClient,
  address: string,
  nodes: readonly ControlPlaneNode[],
  lives: (node: string) => Promise<string | undefined>,
): Promise<string | undefined> {
  const problems = await Promise.all(
    nodes
      .filter((node) => node.address === address)
      .map(async ({ name }) => (await memberProblem(api, { node: name })) ?? (await lives(name))),
  );
  if (problems.length === 0) return `there is no node with the address ${address}`;
  return problems.includes(undefined) ? undefined : problems.join("; ");
}

/** What keeps a pod from counting as ready, or `undefined`. Reads the API's answer with distrust. Pure. */
export function podProblem(pod: unknown, since?: string): string | undefined {
  const status = field(pod, "status");
  const ready = list(field(status, "conditions")).find((condition) => field(condition, "type") === "Ready");
  if (field(ready, "status") !== "True") return "is not ready";
  if (since === undefined) return undefined;
  const started = list(field(status, "containerStatuses")).map((container) =>
    field(field(field(container, "state"), "running"), "startedAt"),
  );
  const fresh =
    started.length > 0 && started.every((at) => typeof at === "string" && Date.parse(at) >= Date.parse(since));
  return fresh ? undefined : `belongs to the machine before ${since}`;
}

/** The value under a key of what should be an object; `undefined` for anything else. */
export function field(value: unknown, key: string): unknown {
  return typeof value === "object" && value !== null && key in value
    ? Object.entries(value).find(([name]) => name === key)?.[1]
    : undefined;
}

/** A text; empty for anything else. */
export function text(value: unknown): string {
  return typeof value === "string" ? value : "";
}

/** A list; empty for anything else. */
export function list(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}
