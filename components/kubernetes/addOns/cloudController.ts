import type { ClusterSpec } from "../../model/clusterSpec.ts";
import type { AddOnEntry, InClusterValues } from "../addOnEntry.ts";
import { image } from "../images.ts";
import {
  type Account,
  clusterRights,
  leaseRules,
  type Manifest,
  namespaceRights,
  type PolicyRule,
  readsAuthentication,
  rule,
  serviceAccount,
  type Text,
} from "../manifest.ts";
import { daemonSet, everyTaint, hostProcessPod, linuxOnly, nodeName, onControlPlane, small } from "../workload.ts";
import { apiByFile, apiByName } from "./nodeAgents.ts";

/** Rights on either cloud (kubernetes/kops: addons aws-cloud-controller and azure-cloud-controller). */
const cloudControllerRules: PolicyRule[] = [
  rule("", ["events"], ["create", "patch", "update"]),
  rule("", ["nodes"], ["get", "list", "watch", "update", "patch", "delete"]),
  rule("", ["nodes/status"], ["patch"]),
  rule("", ["services", "services/status"], ["get", "list", "patch", "update", "watch"]),
  rule("discovery.k8s.io", ["endpointslices"], ["get", "list", "watch"]),
];

const controller: Account = { name: "cloud-controller-manager", namespace: "kube-system" };

/** Secret that the cloud controller and the autoscaler read (kubernetes-sigs/cloud-provider-azure: install/configs). */
export const cloudConfigSecret = "azure-cloud-provider";

interface AzureCloudConfigArgs {
  readonly tenantId: string;
  readonly subscriptionId: string;
  readonly resourceGroup: string;
  readonly location: string;
  /** Another resource group, where the network exists already. */
  readonly vnetResourceGroup: string;
  readonly vnetName: string;
  readonly subnetName: string;
  readonly securityGroupName: string;
  /** Client id, not resource id, of the control plane's identity. */
  readonly identityClientId: string;
  /** Tags of the load balancers and addresses that it makes, and of the security group, which has them already. */
  readonly tagsMap: Readonly<Record<string, string>>;
}

/**
 * Content of `azure.json`, without a secret: the machines' identity is used. `vmss` with availability-set nodes not
 * disabled is the mode for stand-alone machines beside uniform scale sets (kubernetes-sigs/cloud-provider-azure:
 * site/content/en/topics/node-types.md).
 */
export function azureCloudConfig(args: AzureCloudConfigArgs): string {
  const { identityClientId, vnetResourceGroup, ...names } = args;
  return JSON.stringify({
    cloud: "AzurePublicCloud",
    ...names,
    vnetResourceGroup,
    vmType: "vmss",
    disableAvailabilitySetNodes: false,
    enableVmssFlexNodes: false,
    loadBalancerSku: "standard",
    // By default its backend pools are written into the model of every scale set, so that each Service would replace
    // all machines of sets that roll by themselves, as ours do (pkg/provider/azure_vmss.go: ensureVMSSInPool;
    // azure_loadbalancer_backendpool.go).
    loadBalancerBackendPoolConfigurationType: "nodeIP",
    excludeMasterFromStandardLB: true,
    // By default 0: Azure's lists may be minutes behind a machine that has joined, and the Node that is deleted then is
    // made by no kubelet again (kubernetes-sigs/cloud-provider-azure#10604). As long as the node controller waits.
    nodeInstanceNotFoundGracePeriodInSeconds: 600,
    useInstanceMetadata: true,
    useManagedIdentityExtension: true,
    userAssignedIdentityID: identityClientId,
  });
}

/** What the controller has on either cloud. */
const onMachine = {
  ...onControlPlane,
  hostNetwork: true,
  dnsPolicy: "Default",
  priorityClassName: "system-cluster-critical",
};

export const cloudController: AddOnEntry = {
  name: "cloud-controller",
  after: [],
  settings: ["cloudController"],
  cleansUp: true,
  manifests: cloudControllerManifests,
};

/**
 * The cloud controller manager removes the `uninitialized` taint from nodes and creates load balancers for Services. It
 * uses the host's network, since it runs before the pod network, and AWS answers metadata requests at one hop only.
 */
function cloudControllerManifests(
  spec: ClusterSpec,
  { nodeEndpoint, cloudConfig: configuration }: InClusterValues,
): readonly Manifest[] {
  const azure = spec.cloud === "azure";
  if (azure && configuration === undefined)
    throw new RangeError("the cloud controller on Azure needs a cloud configuration");
  return [
    ...(configuration === undefined ? [] : [cloudConfigManifest(configuration)]),
    serviceAccount(controller),
    ...clusterRights(controller, "system:cloud-controller-manager", cloudControllerRules),
    ...namespaceRights(controller, controller.name, leaseRules("cloud-controller-manager")),
    // Otherwise the program prints its usage and exits, while the rollout already counts as done.
    readsAuthentication(controller, "cloud-controller-manager:apiserver-authentication-reader"),
    azure ? azureController(spec, nodeEndpoint) : awsController(spec, nodeEndpoint),
    ...(azure ? nodeManager(spec, "linux", nodeEndpoint) : []),
    ...(azure && spec.windows.length > 0 ? nodeManager(spec, "windows", nodeEndpoint) : []),
  ];
}

function awsController(spec: ClusterSpec, nodeEndpoint: Text): Manifest {
  return daemonSet(controller, {
    ...onMachine,
    container: {
      image: image(spec, "registry.k8s.io/provider-aws/cloud-controller-manager"),
      args: [
        "--cloud-provider=aws",
        `--cluster-name=${spec.name}`,
        "--leader-elect=true",
        "--allocate-node-cidrs=false",
        "--configure-cloud-routes=false",
        "--v=2",
      ],
      env: apiByName(nodeEndpoint),
      resources: small("100m", "64Mi", "512Mi"),
    },
  });
}

const cloudConfigManifest = (configuration: Text): Manifest => ({
  apiVersion: "v1",
  kind: "Secret",
  metadata: { name: cloudConfigSecret, namespace: "kube-system" },
  stringData: { "cloud-config": configuration },
});

function azureController(spec: ClusterSpec, nodeEndpoint: Text): Manifest {
  return daemonSet(controller, {
    ...onMachine,
    container: {
      image: image(spec, "mcr.microsoft.com/oss/v2/kubernetes/azure-cloud-controller-manager"),
      command: ["cloud-controller-manager"],
      args: [
        "--cloud-provider=azure",
        // The watcher of a Secret would list those of all namespaces (cmd/cloud-controller-manager/app/dynamic).
        "--cloud-config=/etc/azure/cloud-config",
        "--enable-dynamic-reloading=true",
        `--cluster-name=${spec.name}`,
        `--cluster-cidr=${spec.kubernetes.podCidr}`,
        "--allocate-node-cidrs=false",
        "--configure-cloud-routes=false",
        // The node managers initialise nodes, and need no rights in Azure.
        "--controllers=*,-cloud-node",
        "--leader-elect=true",
        "--secure-port=10268",
        "--v=2",
      ],
      env: apiByName(nodeEndpoint),
      volumeMounts: [{ name: "cloud-config", mountPath: "/etc/azure", readOnly: true }],
      livenessProbe: {
        httpGet: { path: "/healthz", port: 10268, scheme: "HTTPS" },
        initialDelaySeconds: 20,
        timeoutSeconds: 5,
      },
      resources: small("100m", "128Mi", "2Gi"),
    },
    volumes: [{ name: "cloud-config", secret: { secretName: cloudConfigSecret } }],
  });
}

/**
 * Initialises the nodes of a system from the metadata service, which on Windows only a HostProcess pod reaches
 * (kubernetes-sigs/cloud-provider-azure PR#3283).
 */
function nodeManager(spec: ClusterSpec, os: "linux" | "windows", nodeEndpoint: Text): readonly Manifest[] {
  const linux = os === "linux";
  const account: Account = {
    name: linux ? "cloud-node-manager" : "cloud-node-manager-windows",
    namespace: "kube-system",
  };
  const api = linux ? undefined : apiByFile(account, nodeEndpoint);
  return [
    serviceAccount(account),
    ...clusterRights(account, `fenestra:${account.name}`, [
      rule("", ["nodes"], ["get", "list", "watch", "update", "patch"]),
      rule("", ["nodes/status"], ["patch"]),
    ]),
    ...(api === undefined ? [] : [api.manifest]),
    daemonSet(account, {
      ...(linux ? { nodeSelector: linuxOnly, tolerations: everyTaint, hostNetwork: true } : hostProcessPod),
      ...api?.pod,
      container: {
        image: image(spec, "mcr.microsoft.com/oss/v2/kubernetes/azure-cloud-node-manager", os),
        command: [linux ? "cloud-node-manager" : "cloud-node-manager.exe"],
        args: ["--node-name=$(NODE_NAME)", "--wait-routes=false", "--v=2", ...(api?.args ?? [])],
        env: [nodeName, ...(linux ? apiByName(nodeEndpoint) : [])],
        resources: small("50m", "50Mi", "512Mi"),
        ...(api !== undefined && { volumeMounts: api.volumeMounts }),
      },
    }),
  ];
}
