import {
  AdmissionregistrationV1Api,
  ApiregistrationV1Api,
  AppsV1Api,
  CertificatesV1Api,
  CoreV1Api,
  CustomObjectsApi,
  type KubeConfig,
  Metrics,
  NodeV1Api,
  StorageV1Api,
  VersionApi,
} from "@kubernetes/client-node";
import type { ApiClients } from "../checks/cluster/api.ts";

/** The parts of the Kubernetes API that are read or written here, with the identity of one kubeconfig. */
export interface ClusterApi extends ApiClients {
  readonly config: KubeConfig;
  readonly server: string;
  readonly custom: CustomObjectsApi;
  readonly storage: StorageV1Api;
  readonly certificates: CertificatesV1Api;
  readonly admission: AdmissionregistrationV1Api;
  readonly registration: ApiregistrationV1Api;
  readonly version: VersionApi;
  readonly metrics: Metrics;
}

/** Clients for a kubeconfig's current context, which is of this API server. */
export function clusterApi(config: KubeConfig, server: string): ClusterApi {
  return {
    config,
    server,
    core: config.makeApiClient(CoreV1Api),
    apps: config.makeApiClient(AppsV1Api),
    node: config.makeApiClient(NodeV1Api),
    custom: config.makeApiClient(CustomObjectsApi),
    storage: config.makeApiClient(StorageV1Api),
    certificates: config.makeApiClient(CertificatesV1Api),
    admission: config.makeApiClient(AdmissionregistrationV1Api),
    registration: config.makeApiClient(ApiregistrationV1Api),
    version: config.makeApiClient(VersionApi),
    metrics: new Metrics(config),
  };
}
