import { get, type RequestOptions } from "node:https";
import { setTimeout as sleep } from "node:timers/promises";
import {
  AppsV1Api,
  CertificatesV1Api,
  CoordinationV1Api,
  CoreV1Api,
  CustomObjectsApi,
  createConfiguration,
  HttpMethod,
  IsomorphicFetchHttpLibrary,
  KubeConfig,
  NodeV1Api,
  type RequestContext,
  ResponseContext,
  ServerConfiguration,
  type V1Node,
  type V1Pod,
  wrapHttpLibrary,
} from "@kubernetes/client-node";
import { type ApiClients, keepingConnections } from "../../check/cluster/clusterApi.ts";
import { type ApiClient, askApi } from "../../components/gates/apiProbe.ts";
import { type CommandResult, limitsMs } from "../host/command.ts";

/** The parts of the Kubernetes API that the harness uses, with one identity. */
export interface Api extends ApiClients {
  readonly certificates: CertificatesV1Api;
  readonly coordination: CoordinationV1Api;
  readonly custom: CustomObjectsApi;
  /** An object by server-side apply, in the place of the engine's provider. @returns the answer */
  readonly apply: (path: string, query: Readonly<Record<string, string>>, object: object) => Promise<ResponseContext>;
  /** The answer to a GET. */
  readonly read: (path: string) => Promise<ResponseContext>;
}

/** Clients for the identity of a kubeconfig's current context. They repeat what has no answer, or 5xx. */
export function apiFor(kubeconfig: string): Api {
  const config = new KubeConfig();
  config.loadFromString(kubeconfig);
  return apiOf(config);
}

function apiOf(config: KubeConfig): Api {
  const cluster = config.getCurrentCluster();
  if (cluster === null) throw new Error("the kubeconfig has no cluster");
  const identity = keepingConnections(config);
  const baseServer = new ServerConfiguration(cluster.server, {});
  const sent = async (request: RequestContext): Promise<ResponseContext> => {
    await identity.applySecurityAuthentication(request);
    return await repeating(request);
  };
  // As KubeConfig.makeApiClient, which takes no httpApi.
  const configuration = createConfiguration({
    baseServer,
    authMethods: { default: identity },
    httpApi: wrapHttpLibrary({ send: repeating }),
  });
  return {
    core: new CoreV1Api(configuration),
    apps: new AppsV1Api(configuration),
    node: new NodeV1Api(configuration),
    certificates: new CertificatesV1Api(configuration),
    coordination: new CoordinationV1Api(configuration),
    custom: new CustomObjectsApi(configuration),
    read: (path) => sent(baseServer.makeRequestContext(path, HttpMethod.GET)),
    apply: (path, query, object) => {
      const request = baseServer.makeRequestContext(path, HttpMethod.PATCH);
      for (const [name, value] of Object.entries(query)) request.setQueryParam(name, value);
      request.setHeaderParam("Content-Type", "application/apply-patch+yaml");
      request.setBody(JSON.stringify(object));
      return sent(request);
    },
  };
}

const http = new IsomorphicFetchHttpLibrary();

/**
 * Sends a request until it is answered. What an unanswered one may have done is no error of the next: the object to be
 * made is there, one to be deleted is gone.
 */
async function repeating(request: RequestContext): Promise<ResponseContext> {
  const method = request.getHttpMethod();
  return await retryWhileUnavailable(
    async (again) => {
      // A connection to a machine without power may be kept, and says nothing.
      request.setSignal(AbortSignal.timeout(limitsMs.answer / 3));
      const response = await http.send(request).toPromise();
      const { httpStatusCode: status, headers, body } = response;
      if (again && status === 404 && method === "DELETE") return new ResponseContext(200, headers, body);
      if (!again || status !== 409 || method !== "POST") return response;
      const sent = Buffer.from(String(request.getBody()));
      return new ResponseContext(201, headers, {
        text: async () => String(sent),
        binary: async () => sent,
        stream: () => null,
      });
    },
    ({ httpStatusCode }) => httpStatusCode < 500,
  );
}

/** Whether a Node or a pod has the condition Ready. */
export function isReady({ status }: V1Node | V1Pod): boolean {
  return status?.conditions?.some((condition) => condition.type === "Ready" && condition.status === "True") === true;
}

/** A kubeconfig's identity as a gate's client. */
export function gateClient(kubeconfig: string): ApiClient {
  const config = new KubeConfig();
  config.loadFromString(kubeconfig);
  const [cluster, user] = [config.getCurrentCluster(), config.getCurrentUser()];
  const pem = (base64 = "") => Buffer.from(base64, "base64").toString();
  return {
    server: cluster?.server ?? "",
    caCertificate: pem(cluster?.caData),
    client: { certificate: pem(user?.certData), key: pem(user?.keyData) },
  };
}

/** Whether the API server says that it is ready. */
export async function answersReady(kubeconfig: string): Promise<boolean> {
  return (await askApi({ ...gateClient(kubeconfig), requestMs: 5_000 }, "/readyz")).status === 200;
}

/** Keeps so many watches open, as clients do: each begins anew when it ends. @returns what ends them */
export async function openWatches(kubeconfig: string, count: number): Promise<() => void> {
  const config = new KubeConfig();
  config.loadFromString(kubeconfig);
  const options: RequestOptions = { agent: false };
  await config.applyToHTTPSOptions(options);
  const ended = new AbortController();
  const url = `${config.getCurrentCluster()?.server}/api/v1/configmaps?watch=true`;
  const watch = (): void => {
    if (ended.signal.aborted) return;
    get(url, { ...options, signal: ended.signal }, (response) => response.resume())
      .on("error", () => undefined)
      .on("close", () => setTimeout(watch, 500).unref());
  };
  for (let index = 0; index < count; index += 1) watch();
  return () => ended.abort();
}

const base64 = (text: string): string => Buffer.from(text).toString("base64");

/** Clients for whoever has a token, or a certificate with its key in one text. @param ca the cluster's, PEM */
export function apiAs(server: string, ca: string, user: { readonly token: string } | { readonly pem: string }): Api {
  const config = new KubeConfig();
  config.loadFromClusterAndUser(
    { name: "cluster", server, caData: base64(ca), skipTLSVerify: false },
    { name: "user", ...("token" in user ? user : { certData: base64(user.pem), keyData: base64(user.pem) }) },
  );
  return apiOf(config);
}

/**
 * Repeats a call while the control plane gives no answer, as users and controllers do: etcd elects, an API server
 * restarts, a busy host is slow.
 * @param call is told whether it was made before
 * @param isAnswer whether a result is one. Errors are none.
 * @returns the last result, or throws the last error, when the time is up
 */
export async function retryWhileUnavailable<T>(
  call: (again: boolean) => Promise<T>,
  isAnswer: (result: T) => boolean | Promise<boolean>,
): Promise<T> {
  const end = performance.now() + limitsMs.answer;
  for (let again = false; ; again = true) {
    try {
      const result = await call(again);
      if ((await isAnswer(result)) || performance.now() > end) return result;
    } catch (error) {
      if (performance.now() > end) throw error;
    }
    await sleep(500);
  }
}

/** What kubectl says when the API server, or its etcd, gave no answer; a refusal reads otherwise. */
const noAnswer =
  /Unable to connect to the server|server \S+ was refused|unexpected EOF|connection re(set|fused)|connection lost|server is currently unable|\(Timeout\)|Client\.Timeout exceeded|etcdserver: (leader changed|no leader|request timed out|too many requests)/;

/** Whether a kubectl had an answer, good or bad. */
export function hasAnswer({ code, stderr }: CommandResult): boolean {
  return code === 0 || !noAnswer.test(stderr);
}
