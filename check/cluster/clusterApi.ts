import {
  AdmissionregistrationV1Api,
  ApiregistrationV1Api,
  AppsV1Api,
  CertificatesV1Api,
  CoordinationV1Api,
  CoreV1Api,
  CustomObjectsApi,
  createConfiguration,
  IsomorphicFetchHttpLibrary,
  type KubeConfig,
  KubernetesObjectApi,
  NodeV1Api,
  type RequestContext,
  ResponseContext,
  ServerConfiguration,
  StorageV1Api,
  type V1Pod,
  type V1PodSpec,
  VersionApi,
  wrapHttpLibrary,
} from "@kubernetes/client-node";
import { bodyProblem, Refused, serverSeconds } from "../../components/gates/apiProbe.ts";
import { proxyTo } from "../../components/gates/proxy.ts";
import { messageOf } from "../../components/model/messages.ts";

/** The parts of the Kubernetes API that are used here, with one kubeconfig's identity. */
export interface ClusterApi extends ApiClients {
  readonly config: KubeConfig;
  readonly server: string;
  readonly custom: CustomObjectsApi;
  readonly storage: StorageV1Api;
  readonly certificates: CertificatesV1Api;
  readonly coordination: CoordinationV1Api;
  readonly admission: AdmissionregistrationV1Api;
  readonly registration: ApiregistrationV1Api;
  readonly version: VersionApi;
  readonly objects: KubernetesObjectApi;
  /** The cluster's time by its last answer; before the first, this machine's. */
  readonly now: () => Date;
}

/**
 * Every call ends; an answer of another kind or name is an error, which names the call.
 *
 * @param limitMs default: by what is asked
 */
export function clusterApi(config: KubeConfig, server: string, limitMs = defaultLimitMs): ClusterApi {
  let aheadMs = 0;
  // The library knows proxies by kubeconfig alone.
  const proxyUrl = proxyTo(server);
  if (proxyUrl !== undefined)
    config.clusters = config.clusters.map((cluster) => ({ ...cluster, proxyUrl: cluster.proxyUrl ?? proxyUrl }));
  // As KubeConfig.makeApiClient does it, which takes no httpApi.
  const configuration = createConfiguration({
    baseServer: new ServerConfiguration(server, {}),
    authMethods: { default: keepingConnections(config) },
    httpApi: wrapHttpLibrary({
      send: async (request) => {
        const response = await wholeAnswer(request, limitMs);
        aheadMs = serverSeconds(response.headers.date) * 1000 - Date.now();
        return response;
      },
    }),
  });
  return {
    config,
    server,
    core: new CoreV1Api(configuration),
    apps: new AppsV1Api(configuration),
    node: new NodeV1Api(configuration),
    custom: new CustomObjectsApi(configuration),
    storage: new StorageV1Api(configuration),
    certificates: new CertificatesV1Api(configuration),
    coordination: new CoordinationV1Api(configuration),
    admission: new AdmissionregistrationV1Api(configuration),
    registration: new ApiregistrationV1Api(configuration),
    version: new VersionApi(configuration),
    objects: new KubernetesObjectApi(configuration),
    now: () => new Date(Date.now() + aheadMs),
  };
}

/**
 * A kubeconfig's identity, whose connections serve many calls. The library opens one for each, with its handshake
 * (kubernetes-client/javascript: config.ts, createDispatcher).
 */
export function keepingConnections(config: KubeConfig) {
  let kept: ReturnType<RequestContext["getDispatcher"]>;
  return {
    getName: () => config.getName(),
    async applySecurityAuthentication(request: RequestContext): Promise<void> {
      await config.applySecurityAuthentication(request);
      kept ??= request.getDispatcher();
      if (kept !== undefined) request.setDispatcher(kept);
    },
  };
}

/**
 * The library waits 300 seconds. Two calls of `status` take less than 15. What changes something waits for webhooks.
 */
function defaultLimitMs(method: string, path: string): number {
  if (method !== "GET") return 30_000;
  return path === "/version/" || path.includes("/proxy/") ? 5_000 : 8_000;
}

/** Bytes of an answer: a kubelet says through the API server what it likes, for as long as it likes. V8's texts have 512 MiB. */
const mostBytes = (path: string): number => (/\/(proxy|log)\b/.test(path) ? 64 : 500) * 1024 * 1024;

/** All of a stream, as text. @throws Error when it is too long */
export async function whole(stream: AsyncIterable<Uint8Array> | readonly Uint8Array[], most: number): Promise<string> {
  const parts: Uint8Array[] = [];
  let length = 0;
  for await (const part of stream) {
    length += part.length;
    if (length > most) throw new Error(`more than ${most} bytes`);
    parts.push(part);
  }
  return new TextDecoder().decode(Buffer.concat(parts));
}

const http = new IsomorphicFetchHttpLibrary();

/** Throws an Error that names it, for anything but a whole answer. */
async function wholeAnswer(request: RequestContext, limitMs: typeof defaultLimitMs): Promise<ResponseContext> {
  const [method, { pathname }] = [request.getHttpMethod(), new URL(request.getUrl())];
  const ms = limitMs(method, pathname);
  request.setSignal(AbortSignal.timeout(ms));
  try {
    const { httpStatusCode: status, headers, body } = await http.send(request).toPromise();
    const said = await whole(body.stream() ?? [], mostBytes(pathname));
    if (status === 401 || status >= 500)
      throw Object.assign(new (status === 401 ? Refused : Error)(`the answer is ${status}: ${said.slice(0, 200)}`), {
        body: said,
      });
    if (method === "GET" && status < 400) {
      const problem = status === 200 ? bodyProblem(pathname, said) : `the answer is ${status}`;
      if (problem !== undefined) throw new Error(problem);
    }
    const bytes = Buffer.from(said);
    const read = { text: async () => said, binary: async () => bytes, stream: () => null };
    // Without a type the library reads no answer, and does not say of which call.
    return new ResponseContext(status, { "content-type": "text/plain", ...headers }, read);
  } catch (error) {
    const late = error instanceof Error && error.name === "TimeoutError";
    throw new (error instanceof Refused ? Refused : Error)(
      `${method} ${pathname}: ${late ? `no whole answer within ${ms / 1000} s` : messageOf(error)}`,
    );
  }
}

/** The parts of the Kubernetes API that a rehearsal uses too. */
export interface ApiClients {
  readonly core: CoreV1Api;
  readonly apps: AppsV1Api;
  readonly node: NodeV1Api;
}

/** HTTP status of an answer that was an error. */
export function statusOf(error: unknown): number | undefined {
  return typeof error === "object" && error !== null && "code" in error && typeof error.code === "number"
    ? error.code
    : undefined;
}

/** The object, if there is one of that name. */
export async function ifFound<T>(asked: Promise<T>): Promise<T | undefined> {
  return await asked.catch((error: unknown) => {
    if (statusOf(error) === 404) return undefined;
    throw error;
  });
}

export const checkLabels = { "app.kubernetes.io/part-of": "fenestra-verify" };

export function checkPod(name: string, spec: V1PodSpec, labels: Readonly<Record<string, string>> = {}): V1Pod {
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, labels: { ...checkLabels, ...labels } },
    spec: { automountServiceAccountToken: false, terminationGracePeriodSeconds: 1, ...spec },
  };
}

export function waitingContainer(image: string): V1PodSpec["containers"][number] {
  return { name: "app", image, resources: { requests: { cpu: "10m" }, limits: { memory: "64Mi" } } };
}
