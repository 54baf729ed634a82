import { get, type RequestOptions } from "node:https";
import {
  AppsV1Api,
  AuthorizationV1Api,
  CertificatesV1Api,
  CoordinationV1Api,
  CoreV1Api,
  CustomObjectsApi,
  KubeConfig,
  NodeV1Api,
} from "@kubernetes/client-node";
import type { ApiClients } from "../../checks/cluster/api.ts";

/** The parts of the Kubernetes API that the harness uses, with one identity. */
export interface Api extends ApiClients {
  readonly certificates: CertificatesV1Api;
  readonly coordination: CoordinationV1Api;
  readonly authorization: AuthorizationV1Api;
  readonly custom: CustomObjectsApi;
  /** The same API server, with a token of somebody else. */
  readonly withToken: (token: string) => Api;
}

/** Clients for the identity of a kubeconfig's current context. */
export function apiFor(kubeconfig: string): Api {
  const config = new KubeConfig();
  config.loadFromString(kubeconfig);
  return clients(config);
}

function clients(config: KubeConfig): Api {
  return {
    core: config.makeApiClient(CoreV1Api),
    apps: config.makeApiClient(AppsV1Api),
    node: config.makeApiClient(NodeV1Api),
    certificates: config.makeApiClient(CertificatesV1Api),
    coordination: config.makeApiClient(CoordinationV1Api),
    authorization: config.makeApiClient(AuthorizationV1Api),
    custom: config.makeApiClient(CustomObjectsApi),
    withToken: (token) => {
      const cluster = config.getCurrentCluster();
      if (cluster === null) throw new Error("the kubeconfig has no cluster");
      const other = new KubeConfig();
      other.loadFromClusterAndUser(cluster, { name: "token", token });
      return clients(other);
    },
  };
}

/** Whether the API server says that it is ready. */
export async function answersReady(kubeconfig: string): Promise<boolean> {
  const config = new KubeConfig();
  config.loadFromString(kubeconfig);
  const options: RequestOptions = { timeout: 5_000, agent: false };
  await config.applyToHTTPSOptions(options);
  return await new Promise((resolve, reject) => {
    get(`${config.getCurrentCluster()?.server}/readyz`, options, (response) => {
      response.resume();
      resolve(response.statusCode === 200);
    })
      .on("timeout", (): void => reject(new Error("no answer")))
      .on("error", reject);
  });
}

/** What a kubeconfig needs. */
export interface KubeconfigParts {
  readonly server: string;
  /** Cluster CA, PEM. */
  readonly ca: string;
  readonly user: { readonly token: string } | { readonly certificate: string; readonly key: string };
}

const base64 = (text: string): string => Buffer.from(text).toString("base64");

/** A kubeconfig with one context. */
export function kubeconfig({ server, ca, user }: KubeconfigParts): string {
  const credentials =
    "token" in user
      ? { token: user.token }
      : { "client-certificate-data": base64(user.certificate), "client-key-data": base64(user.key) };
  return JSON.stringify({
    apiVersion: "v1",
    kind: "Config",
    clusters: [{ name: "cluster", cluster: { server, "certificate-authority-data": base64(ca) } }],
    users: [{ name: "user", user: credentials }],
    contexts: [{ name: "context", context: { cluster: "cluster", user: "user" } }],
    "current-context": "context",
  });
}
