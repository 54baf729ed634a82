import { request } from "node:https";
import { z } from "zod";
import { formProblem, fromJson } from "../model/json.ts";
import { controlPlaneKey } from "../model/pools.ts";
import { ownConnection } from "./proxy.ts";

export interface ApiClient {
  /** `https://host:6443`, of the load balancer that the deployer reaches. */
  readonly server: string;
  /** Certificate of the cluster's authority, PEM; nothing else is trusted. */
  readonly caCertificate: string;
  /** Client certificate and key, PEM. Default: anonymous. */
  readonly client?: { readonly certificate: string; readonly key: string } | undefined;
  /** Limit for one request and its whole answer, in milliseconds. Default 10,000. */
  readonly requestMs?: number;
}

export interface ApiAnswer {
  readonly status: number;
  readonly body: string;
  /** The server's time, see `serverSeconds`. */
  readonly at: number;
}

/** Largest answer in bytes: a page of 500 nodes has about 10 MB. */
const mostBytes = 64 * 1024 * 1024;

/** What time does not heal: another certificate, too few rights. */
export class Refused extends Error {
  override readonly name = "Refused";
}

/**
 * The one place that asks the API. Rejects when there is no whole answer in time or the certificate is not the
 * cluster's.
 *
 * @param body sent with a POST. Default: a GET.
 */
export function askApi(api: ApiClient, path: string, body?: object): Promise<ApiAnswer> {
  return new Promise((resolve, reject) => {
    const fail = (error: Error) => {
      clearTimeout(timer);
      reject(isOfTls(error) ? new Refused(`${api.server}: ${error.message}`) : error);
      asked.destroy();
    };
    const { requestMs = 10_000 } = api;
    const timer = setTimeout(() => fail(new Error(`no whole answer within ${requestMs / 1000} seconds`)), requestMs);
    const asked = request(
      new URL(path, api.server),
      {
        ca: api.caCertificate,
        agent: ownConnection(),
        ...(body !== undefined && { method: "POST", headers: { "content-type": "application/json" } }),
        ...(api.client !== undefined && { cert: api.client.certificate, key: api.client.key }),
      },
      (answer) => {
        const parts: Buffer[] = [];
        let length = 0;
        answer.on("data", (part: Buffer) => {
          parts.push(part);
          length += part.length;
          if (length > mostBytes) fail(new Error(`an answer of more than ${mostBytes} bytes`));
        });
        answer.on("error", fail);
        answer.on("end", () => {
          clearTimeout(timer);
          const at = serverSeconds(answer.headers.date);
          resolve({ status: answer.statusCode ?? 0, body: Buffer.concat(parts).toString("utf8"), at });
        });
      },
    );
    asked.on("error", fail);
    asked.end(body === undefined ? undefined : JSON.stringify(body));
  });
}

/** OpenSSL's errors of a certificate, and Node's of its name. */
function isOfTls(error: Error): boolean {
  const code = "code" in error ? String(error.code) : "";
  return /^(ERR_TLS_|CERT_|SELF_SIGNED_|DEPTH_ZERO_|UNABLE_TO_)/.test(code);
}

/** What is said of an answer with an unwanted status; thrown as Refused where time does not heal it. */
export function unlessRefused(status: number, said: string): string {
  if (status === 401 || status === 403) throw new Refused(said);
  return said;
}

/** Time of an answer's header Date in seconds of the epoch; this machine's without one. */
export function serverSeconds(date: string | undefined): number {
  const at = Date.parse(date ?? "");
  return (Number.isNaN(at) ? Date.now() : at) / 1000;
}

const anyText = z.string().catch("");

/** What is asked of every answer; what is of another form is empty. */
const anyAnswer = z
  .object({
    kind: anyText,
    metadata: z.object({ name: anyText, continue: anyText }).catch({ name: "", continue: "" }),
    items: z.array(z.unknown()).optional().catch(undefined),
  })
  .catch({ kind: "", metadata: { name: "", continue: "" } });

/**
 * What is wrong with the object or list that a GET brought, or `undefined`: it must have the kind and name of its path.
 * Other paths, such as logs, are not judged. Pure.
 */
export function answerProblem(path: string, found: unknown): string | undefined {
  const [bare = ""] = path.split("?");
  const parts = /^\/(?:api|apis\/[^/]+)\/[^/]+\/(?:namespaces\/[^/]+\/)?([a-z]+)(?:\/([^/]+))?$/.exec(bare);
  if (parts === null) return undefined;
  const [, plural = "", name] = parts;
  const { kind, metadata, items } = anyAnswer.parse(found);
  const singulars = [plural, plural.slice(0, -1), plural.slice(0, -2), `${plural.slice(0, -3)}y`];
  if (name !== undefined) {
    const isIt = singulars.includes(kind.toLowerCase()) && metadata.name === decodeURIComponent(name);
    return isIt ? undefined : `the answer is none of ${plural} ${name}`;
  }
  // Lists of metrics name what is measured: NodeMetricsList.
  const [, ofItems = ""] = /^(.+?)(?:metrics)?list$/.exec(kind.toLowerCase()) ?? [];
  return singulars.includes(ofItems) && items !== undefined ? undefined : `the answer is no list of ${plural}`;
}

/** The same for an answer's text, which must have no more pages. Pure. */
export function bodyProblem(path: string, body: string): string | undefined {
  const found = fromJson(body);
  return (
    answerProblem(path, found) ??
    (anyAnswer.parse(found).metadata.continue === "" ? undefined : "the list is not whole")
  );
}

/**
 * The object or list at a path, and the server's time in seconds. Throws when the answer is anything else.
 *
 * @param what for the error. Default: kind and name.
 */
export async function readObject<T>(
  api: ApiClient,
  path: string,
  schema: z.ZodType<T>,
  what = path.split("/").slice(-2).join(" "),
) {
  const { status, body, at } = await askApi(api, path);
  if (status !== 200) throw new Error(unlessRefused(status, `the API answers ${status} to ${what}`));
  const found = fromJson(body);
  const problem = answerProblem(path, found);
  if (problem !== undefined) throw new Error(`${what}: ${problem}`);
  const { data, error } = schema.safeParse(found);
  if (error !== undefined) throw new Error(`the answer about ${what} is not understood: ${formProblem(error)}`);
  return { object: data, at };
}

const conditions = z
  .array(z.object({ type: z.string(), status: z.string(), reason: anyText, message: anyText }))
  .default([]);

/** What gates read of a Node. */
const nodeSchema = z.object({
  metadata: z.object({
    name: z.string().min(1),
    labels: z.record(z.string(), z.string()).default({}),
    deletionTimestamp: z.string().optional(),
  }),
  spec: z.object({ taints: z.array(z.object({ key: z.string() })).default([]) }).prefault({}),
  status: z
    .object({
      addresses: z.array(z.object({ type: z.string(), address: z.string() })).default([]),
      conditions,
      nodeInfo: z.object({ kubeletVersion: z.string() }).default({ kubeletVersion: "" }),
    })
    .prefault({}),
});
export type ApiNode = z.output<typeof nodeSchema>;

const nodePage = z.object({
  metadata: z.object({ continue: z.string().default("") }).prefault({}),
  items: z.array(nodeSchema),
});

/**
 * All nodes with a label, without those that are being deleted. Throws when the API does not list them, lists something
 * else, or names one twice.
 *
 * @param what for the error: `the control-plane nodes`
 */
export async function listNodes(api: ApiClient, label: string, what: string): Promise<readonly ApiNode[]> {
  const nodes: ApiNode[] = [];
  const pages = new Set<string>();
  for (let next = ""; ; ) {
    const more = next === "" ? "" : `&continue=${encodeURIComponent(next)}`;
    const path = `/api/v1/nodes?labelSelector=${encodeURIComponent(label)}&limit=500${more}`;
    const { items, metadata } = (await readObject(api, path, nodePage, `a list of ${what}`)).object;
    nodes.push(...items);
    next = metadata.continue;
    if (next === "") break;
    if (pages.has(next)) throw new Error(`the list of ${what} has no end`);
    pages.add(next);
  }
  if (new Set(nodes.map(({ metadata }) => metadata.name)).size < nodes.length)
    throw new Error(`the list of ${what} names a node twice`);
  return nodes.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
}

const review = z.object({ status: z.object({ allowed: z.boolean() }) });

const mayDoAll = {
  apiVersion: "authorization.k8s.io/v1",
  kind: "SelfSubjectAccessReview",
  spec: { resourceAttributes: { group: "*", resource: "*", verb: "*" } },
};

/**
 * What is wrong with the API as a whole, or `undefined` when it is ready and the client has an administrator's rights,
 * which kubeadm binds a moment later.
 */
export async function apiProblem(api: ApiClient): Promise<string | undefined> {
  const { status, body } = await askApi(api, "/readyz");
  if (status !== 200 || body.trim() !== "ok")
    return unlessRefused(status, `/readyz answers ${status}: ${body.slice(0, 200)}`);
  if (api.client === undefined) return undefined;
  const asked = await askApi(api, "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", mayDoAll);
  if (asked.status !== 201)
    return unlessRefused(asked.status, `the API answers ${asked.status} to a review of the administrator's rights`);
  const allowed = review.safeParse(fromJson(asked.body)).data?.status.allowed;
  return allowed === true ? undefined : "the administrator has no rights yet";
}

export interface MemberNode {
  /** Name of the node: the instance id on AWS, the computer name on Azure. */
  readonly node: string;
  /**
   * RFC 3339. Containers that started before do not count: where a machine keeps the node name of the one it replaced,
   * that one's pods may still be listed as ready.
   */
  readonly since?: string;
}

/** Static pods of a member, by which etcd has a quorum; kubeadm names them `<component>-<node>`. */
const memberComponents = ["etcd", "kube-apiserver"];
/** All of a machine: a flag that one of them does not take would end it on every machine, one after the other. */
export const machineComponents = [...memberComponents, "kube-controller-manager", "kube-scheduler"];

/** What gates read of a Pod. */
export const podSchema = z.object({
  metadata: z.object({ deletionTimestamp: z.string().optional() }),
  spec: z.object({ nodeName: z.string().optional() }),
  status: z
    .object({
      phase: z.string().optional(),
      conditions,
      containerStatuses: z
        .array(z.object({ state: z.object({ running: z.object({ startedAt: z.string() }).optional() }).default({}) }))
        .default([]),
    })
    .prefault({}),
});

/** What is wrong with a control-plane machine, or `undefined` when these of its programs are ready. */
export async function memberProblem(
  api: ApiClient,
  member: MemberNode,
  components = memberComponents,
): Promise<string | undefined> {
  for (const component of components) {
    const pod = `${component}-${member.node}`;
    const { object: found } = await readObject(api, `/api/v1/namespaces/kube-system/pods/${pod}`, podSchema);
    // A kubelet may make mirror pods under any name, but only for its own node (plugin/pkg/admission/noderestriction,
    // Kubernetes 1.36).
    if (found.spec.nodeName !== member.node) return `pod ${pod} is not on its node`;
    const problem = podProblem(found, member.since);
    if (problem !== undefined) return `pod ${pod} ${problem}`;
  }
  return undefined;
}

/** What is wrong with the label of a control-plane Node, or `undefined`: the next machine's gate looks for it. */
export async function markProblem(api: ApiClient, node: string): Promise<string | undefined> {
  const { metadata } = (await readObject(api, `/api/v1/nodes/${node}`, nodeSchema)).object;
  return metadata.labels[controlPlaneKey] === undefined
    ? `node ${node} is not marked as control plane yet: its bootstrap publishes the join secrets of pools before that`
    : undefined;
}

export interface ControlPlaneNode {
  readonly name: string;
  readonly address: string;
  /** Release of its kubelet: `1.36.4`. */
  readonly version: string;
}

/** Throws when the API does not list them. */
export async function controlPlaneNodes(api: ApiClient): Promise<readonly ControlPlaneNode[]> {
  const nodes = await listNodes(api, controlPlaneKey, "the control-plane nodes");
  return nodes.map(({ metadata: { name }, status: { addresses, nodeInfo } }) => ({
    name,
    address: addresses.find(({ type }) => type === "InternalIP")?.address ?? "",
    version: nodeInfo.kubeletVersion.replace(/^v/, ""),
  }));
}

/**
 * What is wrong with the control-plane machine at an address, or `undefined`. A dead machine's Node may still stand
 * beside its successor's; one of them must be well.
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

/** What keeps a pod from counting as ready, or `undefined`. Pure. */
export function podProblem({ metadata, status }: z.output<typeof podSchema>, since?: string): string | undefined {
  if (metadata.deletionTimestamp !== undefined) return "is being deleted";
  if (status.phase === "Failed") return "has failed";
  if (status.conditions.find(({ type }) => type === "Ready")?.status !== "True") return "is not ready";
  if (since === undefined) return undefined;
  const started = status.containerStatuses.map(({ state }) => Date.parse(state.running?.startedAt ?? ""));
  const isFresh = started.length > 0 && started.every((at) => at >= Date.parse(since));
  return isFresh ? undefined : `belongs to the machine before ${since}`;
}
