import type { PodHome } from "./podTable.ts";

/**
 * Shapes of workloads that people publish: facts alone, written anew, each with the address of what it stands for. They are for a cluster
 * with one node of Windows 2019, one of 2022 and two of Linux beside the control plane.
 */
export interface Shape {
  readonly address: string;
  readonly kind: PodHome["kind"];
  readonly namespace: string;
  readonly spec: Readonly<Record<string, unknown>>;
  /**
   * Where its pods get: builds of Windows, `windows` for either of them, `linux`; for a DaemonSet every system, and `nowhere` when no node fits;
   * `waits` for a pod that no node takes; `refused` when the API server does not let it in.
   */
  readonly place: string;
  /** A part of what its author is told; none when nothing is. */
  readonly says: string | undefined;
  /** The same where no policy changes pods (Kubernetes 1.35). */
  readonly before: string;
  /** One of the Windows workloads of `findings` that choose Windows nodes and nothing else: whether its image can start there. */
  readonly published: "runs" | "cannot" | undefined;
}

const os = "kubernetes.io/os";
const win = { nodeSelector: { [os]: "windows" } };
const said = { os: { name: "windows" } };
const tolerate = (more: object) => ({ tolerations: [{ effect: "NoSchedule", ...more }] });
const all = { tolerations: [{ operator: "Exists" }] };
const claim = { volumes: [{ name: "data", persistentVolumeClaim: { claimName: "data" } }] };
const host = { hostNetwork: true, securityContext: { windowsOptions: { hostProcess: true, runAsUserName: "NT AUTHORITY\\SYSTEM" } } };
const affine = (...values: readonly string[]) => ({
  affinity: {
    nodeAffinity: {
      requiredDuringSchedulingIgnoredDuringExecution: {
        nodeSelectorTerms: [{ matchExpressions: [{ key: os, operator: "In", values }] }],
      },
    },
  },
});
const probed = { readinessProbe: { httpGet: { port: 80 } } };

type More = Readonly<Record<string, unknown>>;

const make = (
  address: string,
  kind: PodHome["kind"],
  image: string,
  more: More,
  place: string,
  says?: string,
  rest: Partial<Shape> & { readonly container?: More } = {},
): Shape => {
  const { container, ...others } = rest;
  return {
    address,
    kind,
    namespace: "corpus",
    spec: { ...more, containers: [{ name: "main", image, ...container }] },
    place,
    says,
    before: /^(windows|2019|2022)$/.test(place) ? "waits" : place,
    published: undefined,
    ...others,
  };
};
/** One of those that have a selector or an affinity, as their authors ask for, and nothing else. */
const chosen = (
  address: string,
  kind: PodHome["kind"],
  image: string,
  place: string,
  says: string | undefined,
  more: More = win,
  rest = {},
) => make(address, kind, image, more, place, says, { published: "runs", ...rest });

const aks = "learn.microsoft.com/azure/aks";
const files = "learn.microsoft.com/azure/azure-netapp-files";
const web = "github.com/kubernetes/website/content/en/examples/windows";
const sdn = "github.com/microsoft/SDN/Kubernetes/windows";
const acn = "github.com/Azure/azure-container-networking/test/integration/manifests";
const tools = "github.com/kubernetes-sigs/sig-windows-tools/hostprocess";
const smb = "github.com/kubernetes-csi/csi-driver-smb/deploy/example";
const disk = "github.com/kubernetes-sigs/azuredisk-csi-driver/deploy/example/windows";
const eksctl = "github.com/eksctl-io/eksctl/integration/data";
const kyverno = "github.com/kyverno/policies/windows-security/require-run-as-containeruser/.chainsaw-test";
const prometheus = "github.com/prometheus-community/helm-charts/charts";
const bitnami = "github.com/bitnami/charts/bitnami";
const openshift = "docs.openshift.com/container-platform/windows_containers";

const core = "mcr.microsoft.com/windows/servercore";
const aspnet = "mcr.microsoft.com/dotnet/framework/samples:aspnetapp";
const memory = "set resources.limits.memory on every container";
const unknown = "cannot be told from its image, so any Windows node may get it";
const noNode = (release: string) => `no node of this cluster runs images of ${release}`;
const noToleration = "tolerate os=windows:NoSchedule";
const control = "could act as a control-plane machine";
const forHosts = { namespace: "hosts" };
const inSystem = { namespace: "kube-system" };
const linuxFields = { securityContext: { runAsNonRoot: true, allowPrivilegeEscalation: false } };

const windows: readonly Shape[] = [
  chosen("docs.aws.amazon.com/eks/latest/userguide/sample-deployment.html", "Deployment", `${core}:ltsc2019`, "2019", memory),
  chosen(`${aks}/learn/quick-windows-container-deploy-cli`, "Deployment", aspnet, "windows", memory),
  chosen(`${aks}/windows-aks-migration-modernization`, "Deployment", "example.azurecr.io/legacy-iis-app:build-17", "windows", unknown),
  chosen(`${aks}/use-group-managed-service-accounts`, "Deployment", `${core}/iis:windowsservercore-ltsc2022`, "2022", memory),
  chosen(`${files}/azure-netapp-files-smb`, "Pod", `${core}/iis:windowsservercore`, "windows", unknown, { ...win, ...claim }),
  chosen(`${files}/dual-protocol`, "Pod", `${core}/iis:windowsservercore`, "windows", unknown, { ...win, ...claim }),
  chosen(`${aks}/azure-netapp-files-smb`, "Pod", `${core}/iis:windowsservercore`, "windows", unknown, { ...win, ...claim }),
  chosen(`${web}/run-as-username-pod.yaml`, "Pod", `${core}:ltsc2019`, "2019", memory),
  chosen(`${web}/run-as-username-container.yaml`, "Pod", `${core}:ltsc2019`, "2019", memory),
  chosen(`${web}/configmap-pod.yaml`, "Pod", "redis:3.0-nanoserver", "windows", unknown, win, { published: "cannot" }),
  chosen(`${web}/daemonset.yaml`, "DaemonSet", "microsoft/windowsservercore:1709", "nowhere", noNode("1709"), win, { published: "cannot" }),
  chosen(
    `${web}/hostpath-volume-pod.yaml`,
    "Pod",
    "microsoft/windowsservercore:1709",
    "waits",
    noNode("1709"),
    { nodeSelector: { "beta.kubernetes.io/os": "windows" } },
    { published: "cannot" },
  ),
  chosen(`${sdn}/test_k8s_1.18/simpleweb.yml`, "Deployment", `${core}:ltsc2019`, "2019", memory),
  chosen(`${sdn}/test_k8s_1.18/simpleweb2022.yml`, "Deployment", `${core}:ltsc2022`, "2022", memory),
  chosen(`${smb}/windows/deployment.yaml`, "Deployment", aspnet, "windows", memory, { ...win, ...claim }),
  chosen(`${smb}/windows/statefulset.yaml`, "StatefulSet", `${core}:ltsc2022`, "2022", memory, { ...win, ...claim }),
  chosen(`${disk}/deployment.yaml`, "Deployment", `${core}:ltsc2022`, "2022", memory, { ...win, ...claim }),
  chosen(`${disk}/statefulset.yaml`, "StatefulSet", "e2eteam/busybox:1.29", "windows", unknown, { ...win, ...claim }),
  chosen(
    "github.com/kubernetes-sigs/aws-ebs-csi-driver/examples/kubernetes/windows/manifests/windows.yaml",
    "Deployment",
    "mcr.microsoft.com/windows/server:ltsc2022",
    "2022",
    memory,
    { ...win, ...claim },
  ),
  chosen(
    "github.com/rancher/rke2/tests/e2e/resource_files/windows_app_deployment.yaml",
    "Deployment",
    "mbuilsuse/pstools:v0.2.0",
    "windows",
    unknown,
    affine("windows"),
  ),
  chosen(`${eksctl}/windows-server-iis.yaml`, "Deployment", `${core}:ltsc2019`, "2019", memory, win, { container: linuxFields }),
  chosen(`${eksctl}/windows-server-iis-2022.yaml`, "Deployment", `${core}/iis:windowsservercore-ltsc2022`, "2022", memory, win, {
    container: linuxFields,
  }),
  chosen(`${acn}/datapath/windowspod.yaml`, "Pod", "mcr.microsoft.com/oss/kubernetes/pause:3.6", "windows", memory),
  chosen(`${acn}/noop-deployment-windows.yaml`, "Deployment", "mcr.microsoft.com/oss/kubernetes/pause:3.6", "windows", memory),
  chosen(`${kyverno}/pod-good.yaml`, "Pod", `${core}:ltsc2019`, "2019", memory, {
    nodeSelector: { ...win.nodeSelector, "kubernetes.io/arch": "amd64" },
    securityContext: { runAsNonRoot: true, windowsOptions: { hostProcess: false, runAsUserName: "ContainerUser" } },
  }),
  chosen(`${kyverno}/podcontroller-good.yaml`, "Deployment", `${core}:ltsc2019`, "2019", memory, { ...win, hostNetwork: false }),

  // With more than a selector, or with less.
  make(`${web}/emptydir-pod.yaml`, "Pod", "microsoft/windowsservercore:1709", win, "waits", noNode("1709")),
  make(`${web}/simple-pod.yaml`, "Pod", "microsoft/iis:windowsservercore-1709", win, "waits", noNode("1709")),
  make(`${eksctl}/windows-server-iis-20H2.yaml`, "Deployment", `${core}:20H2`, win, "waits", noNode("20H2")),
  make(`${web}/deploy-resource.yaml`, "Deployment", "microsoft/iis", {}, "linux", "nothing says so, and Linux nodes get the pod"),
  make(`${web}/secret-pod.yaml`, "Pod", "microsoft/windowsservercore:latest", {}, "linux", "nothing says so, and Linux nodes get the pod"),
  make(`${openshift}/windows-workloads`, "Deployment", `${core}:ltsc2019`, { ...said, runtimeClassName: "windows-2019" }, "2019", memory, {
    before: "2019",
  }),
  make(
    "github.com/openshift/windows-machine-config-operator/docs",
    "Deployment",
    `${core}:ltsc2022`,
    { ...win, ...tolerate({ key: "os", value: "Windows" }) },
    "2022",
    memory,
  ),
  make(
    "github.com/openshift/azure-file-csi-driver-node-windows",
    "DaemonSet",
    "mcr.microsoft.com/oss/kubernetes-csi/azurefile-csi:v1.30",
    { ...win, ...tolerate({ key: "os", value: "Windows" }) },
    "nowhere",
    "(the value in small letters)",
  ),
  make(
    "github.com/fluent/helm-charts/charts/fluent-bit",
    "DaemonSet",
    "fluent/fluent-bit:windows-2022-5.0.0",
    { ...win, ...tolerate({ key: "os", value: "windows" }) },
    "refused",
    "is for windows-2022, but its template fits nodes of windows-2019, windows-2022",
  ),
  make(
    "learn.microsoft.com/virtualization/windowscontainers/deploy-containers/version-compatibility",
    "Deployment",
    `${core}:ltsc2022`,
    { nodeSelector: { ...win.nodeSelector, "node.kubernetes.io/windows-build": "10.0.17763" } },
    "refused",
    "is for windows-2022, but its RuntimeClass, node selector or affinity chooses nodes of windows-2019",
  ),
  make("kubernetes.io/docs/concepts/windows/user-guide", "Deployment", `${core}:ltsc2022`, { ...said, ...win }, "2022", memory),
  make(
    "docs.gitlab.com/runner/executors/kubernetes",
    "Pod",
    `${core}:ltsc2019`,
    { ...win, ...tolerate({ key: "os", operator: "Exists" }) },
    "2019",
    memory,
    { before: "windows" },
  ),
  make("argo-workflows.readthedocs.io/en/latest/windows", "Job", "mcr.microsoft.com/windows/nanoserver:1809", win, "2019", memory),
  make("tekton.dev/docs/pipelines/windows", "Job", "mcr.microsoft.com/powershell:nanoserver", win, "windows", memory),
  make(
    "learn.microsoft.com/dotnet/core/docker/build-container",
    "Deployment",
    "mcr.microsoft.com/dotnet/aspnet:8.0",
    win,
    "windows",
    "use exec",
    {
      container: probed,
    },
  ),
  make(
    "github.com/bitnami/charts/issues?q=windows",
    "Deployment",
    "x/app:1",
    { ...said, nodeSelector: { [os]: "linux" } },
    "refused",
    "no node fits",
  ),

  // HostProcess: in namespaces of the system, or where it is allowed.
  make(
    `${aks}/use-windows-hpc`,
    "DaemonSet",
    "mcr.microsoft.com/windows/nanoserver:ltsc2019",
    { ...win, ...host },
    "nowhere",
    noToleration,
    inSystem,
  ),
  make(
    `${aks}/node-access`,
    "Pod",
    "mcr.microsoft.com/oss/kubernetes/windows-host-process-containers-base-image:v1.0.0",
    { ...win, ...host },
    "windows",
    undefined,
    forHosts,
  ),
  make(
    `${aks}/node-access#plain`,
    "Pod",
    "mcr.microsoft.com/oss/x:v1",
    { ...win, ...host },
    "refused",
    "fenestra.dev/host-process: allowed",
  ),
  make(
    `${sdn}/debug/networkmonitor/networkhealth.yaml`,
    "DaemonSet",
    `${core}:ltsc2019`,
    { ...win, ...host },
    "refused",
    "fenestra.dev/host-process: allowed",
  ),
  make(
    `${sdn}/debug/hnstracer/hnstracerwin2019.yaml`,
    "DaemonSet",
    `${core}:1809`,
    { nodeSelector: { "kubernetes.azure.com/os-sku": "Windows2019" }, ...host },
    "nowhere",
    undefined,
    inSystem,
  ),
  make(
    "github.com/microsoft/Windows-Containers/helpful_tools/PerfTraceCollector/hostsysprocess.yaml",
    "Pod",
    `${core}:ltsc2022`,
    { ...win, ...host },
    "windows",
    undefined,
    forHosts,
  ),
  make(
    `${tools}/csi-proxy/csi-proxy.yaml`,
    "DaemonSet",
    "ghcr.io/kubernetes-sigs/sig-windows/csi-proxy:v1.1.3",
    { ...win, ...host },
    "nowhere",
    noToleration,
    inSystem,
  ),
  make(
    `${tools}/eventflow-logger/containerd-logger.yaml`,
    "DaemonSet",
    "x/logger:v1",
    { ...win, ...host },
    "nowhere",
    noToleration,
    inSystem,
  ),
  make(
    `${acn}/load/privileged-daemonset-windows.yaml`,
    "DaemonSet",
    "x/privileged:v1",
    { ...win, ...host, ...all },
    "2019 2022",
    undefined,
    inSystem,
  ),
  make(
    `${prometheus}/prometheus-windows-exporter`,
    "DaemonSet",
    "ghcr.io/prometheus-community/windows-exporter:0.31.6",
    { ...win, ...host, ...all },
    "2019 2022",
    undefined,
    forHosts,
  ),
  make("github.com/aws/aws-node-termination-handler/config/helm/windows", "DaemonSet", "x/nth:v1", { ...win, ...all }, "2019 2022", memory),

  // Linux, and both.
  make(
    `${smb}/deployment.yaml`,
    "Deployment",
    "mcr.microsoft.com/oss/nginx/nginx:1.19.5",
    { nodeSelector: { [os]: "linux" }, ...claim },
    "linux",
  ),
  make(`${smb}/daemonset-nginx-ephemeral.yaml`, "DaemonSet", "nginx", { nodeSelector: { [os]: "linux" } }, "linux"),
  make(`${smb}/nginx-pod-inline-volume.yaml`, "Pod", "nginx", { nodeSelector: { [os]: "linux" } }, "linux"),
  make(
    "github.com/argoproj/argo-cd/manifests/install.yaml#server",
    "Deployment",
    "quay.io/argoproj/argocd:v3",
    { nodeSelector: { [os]: "linux" } },
    "linux",
  ),
  make(
    "github.com/argoproj/argo-cd/manifests/install.yaml#controller",
    "StatefulSet",
    "quay.io/argoproj/argocd:v3",
    { nodeSelector: { [os]: "linux" } },
    "linux",
  ),
  make(
    "github.com/open-policy-agent/gatekeeper/deploy/gatekeeper.yaml",
    "Deployment",
    "openpolicyagent/gatekeeper:v3",
    { nodeSelector: { [os]: "linux" } },
    "linux",
  ),
  make(
    "github.com/kubernetes/ingress-nginx/deploy/static/provider/cloud/deploy.yaml",
    "Deployment",
    "registry.k8s.io/ingress-nginx/controller:v1",
    { nodeSelector: { [os]: "linux" } },
    "linux",
  ),
  make(
    "github.com/kubernetes/ingress-nginx/charts/ingress-nginx",
    "DaemonSet",
    "registry.k8s.io/ingress-nginx/controller:v1",
    { nodeSelector: { [os]: "linux" }, hostNetwork: true },
    "linux",
  ),
  make("github.com/fluent/helm-charts/charts/fluent-bit#linux", "DaemonSet", "fluent/fluent-bit:5.0.0", {}, "linux"),
  make("github.com/vmware-tanzu/helm-charts/charts/velero", "DaemonSet", "velero/velero:v1", {}, "linux"),
  make(`${prometheus}/kube-state-metrics`, "Deployment", "registry.k8s.io/kube-state-metrics/kube-state-metrics:v2", {}, "linux"),
  ...["nginx", "external-dns", "aspnet-core"].map((name) => make(`${bitnami}/${name}`, "Deployment", `bitnami/${name}:1`, {}, "linux")),
  ...["postgresql", "redis"].map((name) => make(`${bitnami}/${name}`, "StatefulSet", `bitnami/${name}:1`, claim, "linux")),
  make(
    "github.com/kubernetes/autoscaler/vertical-pod-autoscaler/charts",
    "Deployment",
    "registry.k8s.io/autoscaling/vpa-recommender:1",
    {},
    "linux",
  ),
  make("kubernetes.io/docs/concepts/workloads/controllers/job", "Job", "perl:5.34.0", {}, "linux"),
  make(
    "cert-manager.io/docs/installation/kubectl",
    "Deployment",
    "quay.io/jetstack/cert-manager-controller:v1",
    { nodeSelector: { [os]: "linux" } },
    "linux",
  ),
  make(
    `${prometheus}/prometheus-node-exporter`,
    "DaemonSet",
    "quay.io/prometheus/node-exporter:v1",
    { hostNetwork: true, ...tolerate({ operator: "Exists" }) },
    "refused",
    control,
  ),
  make(
    `${prometheus}/prometheus-node-exporter#tolerations`,
    "DaemonSet",
    "quay.io/prometheus/node-exporter:v1",
    { hostNetwork: true },
    "linux",
    "9100 by the node-exporter of addons.exporters",
    {
      container: { ports: [{ containerPort: 9100 }] },
    },
  ),
  make("github.com/aws/aws-node-termination-handler/config/helm/linux", "DaemonSet", "x/nth:v1", { ...all }, "refused", control),
  make(
    `${acn}/azure-npm`,
    "DaemonSet",
    "mcr.microsoft.com/containernetworking/azure-npm:v1",
    { ...affine("linux", "windows"), ...all },
    "2019 2022 control linux",
    undefined,
    inSystem,
  ),
];

/** The table. */
export const corpus = windows;
