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

/**
 * Fields that the API server refuses where a pod says `os.name: windows` (kubernetes/kubernetes:
 * pkg/apis/core/validation, `validateWindows`), and that have no effect where it does not say so.
 */
const linuxFields = {
  pod: ["fsGroup", "fsGroupChangePolicy", "supplementalGroups", "sysctls"],
  container: ["readOnlyRootFilesystem", "allowPrivilegeEscalation", "privileged", "capabilities", "procMount"],
  both: ["runAsUser", "runAsGroup", "seLinuxOptions", "seccompProfile", "appArmorProfile"],
} as const;

/** What volumes have on Linux: files with modes, of which the API server writes the default one; room in memory. */
const ofVolumes = {
  defaultMode: ["secret", "configMap", "projected", "downwardAPI"]
    .map((type) => `v.?${type}.?defaultMode.orValue(420) != 420`)
    .join(" || "),
  "emptyDir.medium": 'v.?emptyDir.?medium.orValue("") == "Memory"',
};
const ofMounts = 'c.?volumeMounts.orValue([]).exists(m, m.?mountPropagation.orValue("None") != "None")';
const ofNames = {
  "dnsConfig.options": `${pod}.?dnsConfig.?options.orValue([]).size() > 0`,
  dnsPolicy: `${pod}.?dnsPolicy.orValue("") == "ClusterFirstWithHostNet"`,
  hostNetwork: `${pod}.?hostNetwork.orValue(false)`,
};

const own = ["hostUsers", "shareProcessNamespace"] as const;
const ofPod = [...linuxFields.pod, ...linuxFields.both];
const ofContainer = [...linuxFields.container, ...linuxFields.both];

/** CEL: those that the pod has. */
export const ignored = (() => {
  const inPod = (field: string) => `${pod}.?securityContext.?${field}.hasValue()`;
  const inContainer = (field: string) => `variables.containers.exists(c, c.?securityContext.?${field}.hasValue())`;
  const tests = [
    ...own.map((field) => [field, `has(${pod}.${field})`]),
    ...Object.entries(ofNames),
    ...Object.entries(ofVolumes).map(([field, test]) => [field, `${pod}.?volumes.orValue([]).exists(v, ${test})`]),
    ["mountPropagation", `variables.containers.exists(c, ${ofMounts})`],
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
  return [
    [any(pod, own), ...Object.values(ofNames), `(${within(pod, ofPod)})`].join(" || "),
    `(${within("c", ofContainer)}) || ${ofMounts}`,
  ] as const;
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
      ofVolume: `!(${Object.values(ofVolumes).join(" || ")})`,
      message:
        "Windows has nothing of what these fields promise: {ignored_fields}. Leave them out; the user of a container is securityContext.windowsOptions.runAsUserName, and the host's network is for HostProcess pods",
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
      ofContainer: `!(${hasty})`,
      message:
        "an exec probe without timeoutSeconds fails after 1 s, and on Windows a shell alone may take longer to start: set timeoutSeconds to 10 or more",
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
      orWhere: `namespaceObject.metadata.?labels[?${text(namespaceLabels.memoryLimits)}].orValue("") == "defaulted" && object.kind != "Pod"`,
      ofContainer: `has(c.resources) && has(c.resources.limits) && "memory" in c.resources.limits`,
      message: `a Windows node ends no process when memory runs out and hangs instead: set resources.limits.memory on every container, or a default by a LimitRange of the namespace, and label that ${namespaceLabels.memoryLimits}: defaulted`,
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
