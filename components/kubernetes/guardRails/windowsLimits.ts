import type { ClusterSpec } from "../../model/clusterSpec.ts";
import { buildLabel } from "../../model/pools.ts";
import { type PodRule, pod } from "./podPolicy.ts";
import { namespaceLabels } from "./policy.ts";
import { text, texts } from "./texts.ts";

/** A claim that a StatefulSet or a pod makes for itself names another class than that of Linux. */
const notOfLinux = '?storageClassName.orValue("linux") != "linux"';
const ofWindows = [
  `object.kind != "StatefulSet" || dyn(object).spec.?volumeClaimTemplates.orValue([]).all(t, t.spec.${notOfLinux})`,
  `!has(variables.pod.volumes) || variables.pod.volumes.all(v, !has(v.ephemeral) || v.ephemeral.volumeClaimTemplate.spec.${notOfLinux})`,
]
  .map((test) => `(${test})`)
  .join(" && ");

const noMedium = (test: string): string => `!(has(v.emptyDir) && has(v.emptyDir.medium) && ${test})`;

const kinds = ["livenessProbe", "readinessProbe", "startupProbe"];

/** What a kubelet asks a container by its pod's address. */
const probes = [
  ...kinds.map((probe) => [`c.?${probe}`, ["httpGet", "tcpSocket", "grpc"]] as const),
  ...["postStart", "preStop"].map((hook) => [`c.?lifecycle.?${hook}`, ["httpGet", "tcpSocket"]] as const),
]
  .flatMap(([path, kinds]) => kinds.map((kind) => `${path}.?${kind}.hasValue()`))
  .join(" || ");

/** The API server writes the default time, 1 s, into each probe. */
const hasty = kinds.map((probe) => `(c.?${probe}.?exec.hasValue() && c.${probe}.timeoutSeconds < 2)`).join(" || ");

const usesName = (context: string): string =>
  `has(${context}) && ${context}.?windowsOptions.?gmsaCredentialSpecName.hasValue()`;

/** Tags that name build and update: `10.0.20348.2340`. */
const oneUpdate = "[:-]10[.]0[.][0-9]{5}[.][0-9]+([-_@]|$)";

/** Volumes of types that a kubelet on Windows does not mount. */
const noMount = ["nfs", "iscsi", "fc", "rbd", "cephfs", "image"];

/**
 * Fields that the API server refuses where a pod says `os.name: windows` (kubernetes/kubernetes:
 * pkg/apis/core/validation, `validateWindows`), and that have no effect where it does not say so.
 */
const linuxFields = {
  pod: ["fsGroup", "fsGroupChangePolicy", "supplementalGroups", "sysctls"],
  container: ["readOnlyRootFilesystem", "allowPrivilegeEscalation", "privileged", "capabilities", "procMount"],
  both: ["runAsUser", "runAsGroup", "seLinuxOptions", "seccompProfile", "appArmorProfile"],
} as const;

/** Files of these volumes have modes, on Linux; the API server writes the default one into each. */
const hasMode = ["secret", "configMap", "projected", "downwardAPI"]
  .map((type) => `v.?${type}.?defaultMode.orValue(420) != 420`)
  .join(" || ");

const hasOptions = `${pod}.?dnsConfig.?options.orValue([]).size() > 0`;

const own = ["hostUsers", "shareProcessNamespace"] as const;
const ofPod = [...linuxFields.pod, ...linuxFields.both];
const ofContainer = [...linuxFields.container, ...linuxFields.both];

/** CEL: those that the pod has. */
export const ignored = (() => {
  const inPod = (field: string) => `${pod}.?securityContext.?${field}.hasValue()`;
  const inContainer = (field: string) => `variables.containers.exists(c, c.?securityContext.?${field}.hasValue())`;
  const tests = [
    ...own.map((field) => [field, `has(${pod}.${field})`]),
    ["dnsConfig.options", hasOptions],
    ["defaultMode", `${pod}.?volumes.orValue([]).exists(v, ${hasMode})`],
    ...linuxFields.pod.map((field) => [field, inPod(field)]),
    ...linuxFields.container.map((field) => [field, inContainer(field)]),
    ...linuxFields.both.map((field) => [field, `${inPod(field)} || ${inContainer(field)}`]),
  ];
  return `[${tests.map(([field = "", test]) => `${test} ? ${text(field)} : ""`).join(", ")}].filter(f, f != "")`;
})();

/** CEL: the pod has one of them, and its container `c` has. */
const [podHasSome, containerHasSome] = (() => {
  const any = (context: string, fields: readonly string[]): string =>
    fields.map((field) => `has(${context}.${field})`).join(" || ");
  const within = (it: string, fields: readonly string[]): string =>
    `has(${it}.securityContext) && (${any(`${it}.securityContext`, fields)})`;
  return [`${any(pod, own)} || ${hasOptions} || (${within(pod, ofPod)})`, within("c", ofContainer)] as const;
})();

/**
 * What the API server accepts for a Windows pod although Windows does not do it (kubernetes/website:
 * concepts/windows/intro.md, "Compatibility and limitations"). `variables.containers` are all containers,
 * `variables.landsOn` the builds whose nodes may get the pod; `variables.ofDaemonSet` says whose it is.
 */
export function windowsLimits(
  spec: Pick<ClusterSpec, "addons" | "kubernetes" | "pools" | "windows">,
): PodRule["checks"] {
  const { windows: network } = spec.kubernetes.podNetwork;
  const deaf = spec.windows.filter((release) => !network.hostReachesOwnPods(release)).map(({ name }) => name);
  return [
    {
      expression: `!(${podHasSome})`,
      ofContainer: `!(${containerHasSome})`,
      ofVolume: `!(${hasMode})`,
      message:
        "Windows has nothing of what these fields promise: {ignored_fields}. Leave them out; the user of a container is securityContext.windowsOptions.runAsUserName",
    },
    ...(spec.addons.gmsa === undefined
      ? [
          {
            expression: `!(${usesName(`${pod}.securityContext`)})`,
            ofContainer: `!(${usesName("c.securityContext")})`,
            message:
              "this cluster fills in no gmsaCredentialSpecName, so the pod would run without its account: the administrator of the cluster sets addons.gmsa in the stack file",
          },
        ]
      : []),
    {
      expression: "!(has(variables.pod.hostNetwork) && variables.pod.hostNetwork)",
      message:
        "Windows ignores hostNetwork but for HostProcess pods: leave {pod}.hostNetwork out, or use a HostProcess pod",
    },
    {
      ofVolume: noMedium('v.emptyDir.medium == "Memory"'),
      message: "Windows has no memory-backed emptyDir: the volume lies on the node's disk",
    },
    {
      ofVolume: `!(${noMount.map((type) => `has(v.${type})`).join(" || ")} || (has(v.hostPath) && has(v.hostPath.type) && v.hostPath.type == "Socket"))`,
      message: `Windows mounts no volumes of the types ${noMount.join(", ")} and no hostPath of type Socket: use a claim, of SMB in place of NFS`,
    },
    {
      ofVolume: noMedium('v.emptyDir.medium.startsWith("HugePages")'),
      message: "Windows has no huge pages: use an emptyDir without medium",
    },
    {
      ofContainer: `!has(c.resources) || ((!has(c.resources.limits) || c.resources.limits.all(r, !r.startsWith("hugepages-"))) && (!has(c.resources.requests) || c.resources.requests.all(r, !r.startsWith("hugepages-"))))`,
      message: "Windows has no huge pages: no node offers them, and the pod stays Pending",
    },
    {
      ofContainer: `!(${hasty})`,
      message:
        "an exec probe without timeoutSeconds fails after 1 s, and on Windows a shell alone may take longer to start: set timeoutSeconds to 10 or more",
    },
    {
      ofContainer: "!has(c.volumeDevices) || c.volumeDevices.size() == 0",
      message: "Windows cannot attach block devices to containers: use a file system volume",
    },
    ...(network.hostPorts
      ? []
      : [
          {
            ofContainer: "!has(c.ports) || c.ports.all(p, !has(p.hostPort))",
            message:
              "the pod network of Windows nodes makes no host ports (containernetworking/plugins#530): use a Service of type NodePort or LoadBalancer",
          },
        ]),
    {
      expression: '!has(variables.pod.dnsPolicy) || variables.pod.dnsPolicy != "Default"',
      message:
        "a kubelet on Windows has no resolver to hand on, so a pod with dnsPolicy Default resolves no name: set {pod}.dnsPolicy to None with {pod}.dnsConfig, or leave it out",
    },
    {
      expression: '!has(variables.pod.dnsPolicy) || variables.pod.dnsPolicy != "ClusterFirstWithHostNet"',
      message:
        "Windows pods have no host network, so dnsPolicy ClusterFirstWithHostNet means nothing there: leave {pod}.dnsPolicy out",
    },
    {
      ofContainer:
        '!has(c.volumeMounts) || c.volumeMounts.all(m, !has(m.mountPropagation) || m.mountPropagation == "None")',
      message: "Windows ignores mountPropagation",
    },
    {
      orWhere: `namespaceObject.metadata.?labels[?${text(namespaceLabels.memoryLimits)}].orValue("") == "defaulted" && object.kind != "Pod"`,
      ofContainer: `has(c.resources) && has(c.resources.limits) && "memory" in c.resources.limits`,
      message: `a Windows node ends no process when memory runs out and hangs instead: set resources.limits.memory on every container, or a default by a LimitRange of the namespace, and label that ${namespaceLabels.memoryLimits}: defaulted`,
    },
    {
      expression: `!variables.images.exists(i, i.matches(${text(oneUpdate)}))`,
      message:
        "an image of this pod is of one update of Windows: a node with an older one ends it with 0xc0370106 (kubectl get nodes -o wide shows theirs), so roll the pool first",
    },
    ...(spec.addons.storage
      ? [
          {
            expression: ofWindows,
            message:
              "the StorageClass linux, the default one, makes file systems of Linux: set storageClassName: windows in every volumeClaimTemplate of this pod",
          },
        ]
      : []),
    ...(deaf.length === 0
      ? []
      : [
          {
            asks: `variables.containers.exists(c, ${probes})`,
            expression: `!variables.landsOn.exists(b, b in ${texts(deaf)})`,
            message: `nodes of ${deaf.join(", ")} cannot reach their own pods by address, so HTTP, TCP and gRPC probes and HTTP hooks fail there: use exec with timeoutSeconds: 10 or more${spec.windows.length > 1 ? `, or choose another build by {pod}.runtimeClassName, in a DaemonSet by ${buildLabel} in {pod}.nodeSelector` : ""}`,
          },
        ]),
  ];
}
