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
import type { ApiClients } from "../checks/cluster/api.ts";
import { UsageError } from "../cli/exit.ts";
import { messageOf } from "../components/gates/messageOf.ts";

/** The parts of the Kubernetes API that are read or written here, with the identity of one kubeconfig. */
export interface ClusterApi extends ApiClients {
  readonly config: KubeConfig;
  /** Address of the API server. */
  readonly server: string;
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
      `--kubeconfig ${file} cannot be read: ${messageOf(error)}; allowed: a kubeconfig, for example from \`pulumi stack output kubeconfig --show-secrets\``,
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
