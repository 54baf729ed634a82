import type { ClusterSpec } from "../../model/clusterSpec.ts";
import type { AddOnEntry } from "../addOnEntry.ts";
import { type ImageSource, image } from "../images.ts";
import type { Manifest, PolicyRule, Text } from "../manifest.ts";
import { type Account, clusterRights, readsAuthentication, rule, serviceAccount } from "../rights.ts";
import { daemonSet, everyTaint, hostProcessPod, linuxOnly, nodeName, onControlPlane, small } from "../workload.ts";
import { apiByName } from "./nodeAgents.ts";

/** What a cloud controller may do, on either cloud (kubernetes/kops: addons aws-cloud-controller and azure-cloud-controller). */
const cloudControllerRules: PolicyRule[] = [
  rule("", ["events"], ["create", "patch", "update"]),
  rule("", ["nodes"], ["get", "list", "watch", "update", "patch", "delete"]),
  rule("", ["nodes/status"], ["patch"]),
  rule("", ["services", "services/status"], ["get", "list", "patch", "update", "watch"]),
  rule("", ["serviceaccounts"], ["create", "get", "list", "watch", "update"]),
  rule("", ["persistentvolumes"], ["get", "list", "update", "watch"]),
  rule("", ["endpoints"], ["create", "get", "list", "watch", "update"]),
  rule("discovery.k8s.io", ["endpointslices"], ["get", "list", "watch"]),
  rule("coordination.k8s.io", ["leases"], ["create", "get", "list", "watch", "update"]),
];

interface CloudValues {
  readonly nodeEndpoint: Text;
  /** Content of `azure.json`; only on Azure. */
  readonly azureCloudConfig: Text | undefined;
}

const controller: Account = { name: "cloud-controller-manager", namespace: "kube-system" };
const nodeManager: Account = { name: "cloud-node-manager", namespace: "kube-system" };
const windowsNodeManager: Account = { name: "cloud-node-manager-windows", namespace: "kube-system" };

/** Secret with the file that the cloud controller and the autoscaler read (kubernetes-sigs/cloud-provider-azure: install/configs). */
export const cloudConfigSecret = "azure-cloud-provider";

/** Content of `azure.json`. It holds no secret: the machines' identity is used. */
interface AzureCloudConfigArgs {
  readonly tenantId: string;
  readonly subscriptionId: string;
  readonly resourceGroup: string;
  readonly location: string;
  /** Resource group of the network: another one, where the network exists already. */
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
 * Content of `azure.json`. `vmss` with availability-set nodes not disabled is the mode for stand-alone machines mixed with uniform scale
 * sets (kubernetes-sigs/cloud-provider-azure: site/content/en/topics/node-types.md).
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
    // By default the controller writes its backend pools into the model of every scale set, counting on sets that roll by hand only; each
    // Service would then replace all machines of ours (pkg/provider/azure_vmss.go: ensureVMSSInPool; azure_loadbalancer_backendpool.go).
    loadBalancerBackendPoolConfigurationType: "nodeIP",
    excludeMasterFromStandardLB: true,
    useInstanceMetadata: true,
    useManagedIdentityExtension: true,
    userAssignedIdentityID: identityClientId,
  });
}

/** Azure's controllers: one for load balancers and node life cycle, and one per node that initialises it from the metadata service. */
function azureCloudControllerManifests(
  spec: Pick<ClusterSpec, "artifacts" | "kubernetes" | "name" | "windows">,
  values: CloudValues,
): readonly Manifest[] {
  if (values.azureCloudConfig === undefined) throw new RangeError("the cloud controller on Azure needs a cloud configuration");
  const windows = spec.windows.length > 0;
  return [
    {
      apiVersion: "v1",
      kind: "Secret",
      metadata: { name: cloudConfigSecret, namespace: "kube-system" },
      stringData: { "cloud-config": values.azureCloudConfig },
    },
    serviceAccount(controller),
    ...clusterRights(controller, "system:cloud-controller-manager", cloudControllerRules),
    readsAuthentication(controller, "cloud-controller-manager:apiserver-authentication-reader"),
    controllerDaemonSet(spec, values.nodeEndpoint),
    serviceAccount(nodeManager),
    ...clusterRights(nodeManager, "fenestra:cloud-node-manager", nodeManagerRules),
    linuxNodeManager(spec, values.nodeEndpoint),
    ...(windows
      ? [
          serviceAccount(windowsNodeManager),
          ...clusterRights(windowsNodeManager, "fenestra:cloud-node-manager-windows", nodeManagerRules),
          windowsNodeManagerDaemonSet(spec, values.nodeEndpoint),
        ]
      : []),
  ];
}

const nodeManagerRules = [rule("", ["nodes"], ["get", "list", "watch", "update", "patch"]), rule("", ["nodes/status"], ["patch"])];

function controllerDaemonSet(spec: Pick<ClusterSpec, "artifacts" | "kubernetes" | "name">, nodeEndpoint: Text): Manifest {
  return daemonSet(controller, {
    ...onControlPlane,
    hostNetwork: true,
    dnsPolicy: "Default",
    priorityClassName: "system-cluster-critical",
    serviceAccountName: controller.name,
    containers: [
      {
        name: controller.name,
        image: image(spec, "mcr.microsoft.com/oss/v2/kubernetes/azure-cloud-controller-manager"),
        command: ["cloud-controller-manager"],
        args: [
          "--cloud-provider=azure",
          // As a file, since the watcher of a Secret lists those of all namespaces (cmd/cloud-controller-manager/app/dynamic).
          "--cloud-config=/etc/azure/cloud-config",
          "--enable-dynamic-reloading=true",
          `--cluster-name=${spec.name}`,
          `--cluster-cidr=${spec.kubernetes.podCidr}`,
          "--allocate-node-cidrs=false",
          "--configure-cloud-routes=false",
          // Nodes are initialised by the node managers, which need no rights in Azure.
          "--controllers=*,-cloud-node",
          "--leader-elect=true",
          "--secure-port=10268",
          "--v=2",
        ],
        env: apiByName(nodeEndpoint),
        volumeMounts: [{ name: "cloud-config", mountPath: "/etc/azure", readOnly: true }],
        livenessProbe: { httpGet: { path: "/healthz", port: 10268, scheme: "HTTPS" }, initialDelaySeconds: 20, timeoutSeconds: 5 },
        resources: small("100m", "128Mi", "2Gi"),
      },
    ],
    volumes: [{ name: "cloud-config", secret: { secretName: cloudConfigSecret } }],
  });
}

function linuxNodeManager(spec: ImageSource, nodeEndpoint: Text): Manifest {
  return daemonSet(nodeManager, {
    nodeSelector: linuxOnly,
    tolerations: everyTaint,
    hostNetwork: true,
    priorityClassName: "system-node-critical",
    serviceAccountName: nodeManager.name,
    containers: [
      {
        name: nodeManager.name,
        image: image(spec, "mcr.microsoft.com/oss/v2/kubernetes/azure-cloud-node-manager"),
        command: ["cloud-node-manager"],
        args: ["--node-name=$(NODE_NAME)", "--wait-routes=false", "--v=2"],
        env: [nodeName, ...apiByName(nodeEndpoint)],
        resources: small("50m", "50Mi", "512Mi"),
      },
    ],
  });
}

/** As HostProcess pod, since an ordinary Windows pod cannot reach the metadata service (kubernetes-sigs/cloud-provider-azure PR#3283). */
function windowsNodeManagerDaemonSet(spec: ImageSource, nodeEndpoint: Text): Manifest {
  return daemonSet(windowsNodeManager, {
    ...hostProcessPod,
    serviceAccountName: windowsNodeManager.name,
    containers: [
      {
        name: windowsNodeManager.name,
        image: image(spec, "mcr.microsoft.com/oss/v2/kubernetes/azure-cloud-node-manager", "windows"),
        command: ["cloud-node-manager.exe"],
        args: ["--node-name=$(NODE_NAME)", "--wait-routes=false", "--v=2"],
        env: [nodeName, ...apiByName(nodeEndpoint)],
        resources: small("50m", "50Mi", "512Mi"),
      },
    ],
  });
}

const account: Account = { name: "cloud-controller-manager", namespace: "kube-system" };

export const cloudController: AddOnEntry = {
  name: "cloud-controller",
  after: [],
  settings: ["cloudController"],
  cleansUp: true,
  manifests: cloudControllerManifests,
};

/** The cloud controller manager: it removes the `uninitialized` taint from nodes and creates load balancers for Services. */
function cloudControllerManifests(
  spec: Pick<ClusterSpec, "artifacts" | "cloud" | "kubernetes" | "name" | "windows">,
  values: CloudValues,
): readonly Manifest[] {
  if (spec.cloud === "azure") return azureCloudControllerManifests(spec, values);
  return [
    serviceAccount(account),
    ...clusterRights(account, "system:cloud-controller-manager", cloudControllerRules),
    // Without it the program prints its usage and exits, while the rollout already counts as done.
    readsAuthentication(account, "cloud-controller-manager:apiserver-authentication-reader"),
    awsCloudController(spec, values.nodeEndpoint),
  ];
}

/** Host network, because it runs before the pod network and because the machines answer metadata requests at one hop only. */
function awsCloudController(spec: Pick<ClusterSpec, "artifacts" | "name">, nodeEndpoint: Text): Manifest {
  return daemonSet(account, {
    ...onControlPlane,
    hostNetwork: true,
    dnsPolicy: "Default",
    priorityClassName: "system-cluster-critical",
    serviceAccountName: account.name,
    containers: [
      {
        name: account.name,
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
    ],
  });
}
