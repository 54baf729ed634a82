import { readFileSync } from "node:fs";
import {
  AdmissionregistrationV1Api,
  ApiregistrationV1Api,
  AppsV1Api,
  CertificatesV1Api,
  CoreV1Api,
  KubeConfig,
  Metrics,
  NodeV1Api,
  StorageV1Api,
  VersionApi,
} from "@kubernetes/client-node";
import { UsageError } from "../cli/exit.ts";

/** The parts of the Kubernetes API that are read or written here, with the identity of one kubeconfig. */
export interface ClusterApi {
  readonly config: KubeConfig;
  /** Address of the API server. */
  readonly server: string;
  readonly core: CoreV1Api;
  readonly apps: AppsV1Api;
  readonly node: NodeV1Api;
  readonly storage: StorageV1Api;
  readonly certificates: CertificatesV1Api;
  readonly admission: AdmissionregistrationV1Api;
  readonly registration: ApiregistrationV1Api;
  readonly version: VersionApi;
  readonly metrics: Metrics;
}

/**
 * Clients for a kubeconfig's current context.
 * @throws UsageError when the file cannot be read or is no kubeconfig with a current context
 */
export function clusterApi(file: string): ClusterApi {
  const config = new KubeConfig();
  try {
    readFileSync(file);
    config.loadFromFile(file);
  } catch (error) {
    throw new UsageError(
      `--kubeconfig ${file} cannot be read: ${error instanceof Error ? error.message : String(error)}; allowed: a kubeconfig, for example from \`pulumi stack output kubeconfig --show-secrets\``,
    );
  }
  const server = config.getCurrentCluster()?.server;
  if (server === undefined)
    throw new UsageError(
      `--kubeconfig ${file} names no cluster; allowed: a kubeconfig with current-context, for example from \`pulumi stack output kubeconfig --show-secrets\``,
    );
  return {
    config,
    server,
    core: config.makeApiClient(CoreV1Api),
    apps: config.makeApiClient(AppsV1Api),
    node: config.makeApiClient(NodeV1Api),
    storage: config.makeApiClient(StorageV1Api),
    certificates: config.makeApiClient(CertificatesV1Api),
    admission: config.makeApiClient(AdmissionregistrationV1Api),
    registration: config.makeApiClient(ApiregistrationV1Api),
    version: config.makeApiClient(VersionApi),
    metrics: new Metrics(config),
  };
}

/** HTTP status of an answer that was an error; `undefined` for anything else. */
export function statusOf(error: unknown): number | undefined {
  return typeof error === "object" && error !== null && "code" in error && typeof error.code === "number"
    ? error.code
    : undefined;
}

/** What the API server said, or else the error's own message, in one line. */
export function messageOf(error: unknown): string {
  const body = typeof error === "object" && error !== null && "body" in error ? parsed(error.body) : undefined;
  if (typeof body === "object" && body !== null && "message" in body && typeof body.message === "string")
    return body.message;
  const message = error instanceof Error ? withCause(error) : String(error);
  return message.replaceAll(/\s+/g, " ").trim();
}

/** `fetch failed` alone says nothing; the cause tells a refused connection from a certificate of somebody else. */
function withCause({ message, cause }: Error): string {
  return cause instanceof Error && !message.includes(cause.message) ? `${message}: ${cause.message}` : message;
}

function parsed(body: unknown): unknown {
  if (typeof body !== "string") return body;
  try {
    return JSON.parse(body);
  } catch {
    return undefined;
  }
}

/** The object, or nothing when there is none of that name. */
export async function ifFound<T>(asked: Promise<T>): Promise<T | undefined> {
  return await asked.catch((error: unknown) => {
    if (statusOf(error) === 404) return undefined;
    throw error;
  });
}
