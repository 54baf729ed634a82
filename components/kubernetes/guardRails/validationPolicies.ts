import type { ClusterSpec } from "../../model/clusterSpec.ts";
import { windowsReleases } from "../../model/operatingSystems.ts";
import type { Manifest } from "../manifest.ts";
import { runtimeClassFacts } from "../runtimeClasses.ts";
import { controlPlaneKey } from "../workload.ts";
import { allContainers, isHostProcess, ofDaemonSet, saysWindows, text, texts, usesAccount } from "./cel.ts";
import { namespaceLabels, notAllowed, notSystem } from "./namespaces.ts";
import { type PodPolicy, pod, podPolicy } from "./podPolicy.ts";
import { policyManifests } from "./policy.ts";
import { runtimeClassVariables } from "./runtimeClassPolicy.ts";
import { servicePolicy } from "./servicePolicy.ts";
import { windowsLimits } from "./windowsLimits.ts";

/** Tags of Microsoft's images: `ltsc2022` and so on. */
const tags = `ltsc20(${windowsReleases.map(({ imageTag }) => imageTag.replace("ltsc20", "")).join("|")})`;

/**
 * What Windows ignores or cannot do: the pod is admitted with a warning to the client.
 *
 * @param setsClass whether the cluster has the policy that sets the RuntimeClass: a workload's pods then need not name theirs.
 */
function windowsLimitsPolicy(spec: Pick<ClusterSpec, "kubernetes" | "windows">, setsClass: boolean): PodPolicy {
  const own = `has(${pod}.runtimeClassName) ? ${pod}.runtimeClassName`;
  return {
    name: "fenestra-windows-limits",
    when: `${saysWindows(pod)} && !(${isHostProcess(pod)})`,
    variables: [
      { name: "containers", expression: allContainers(pod) },
      { name: "ofDaemonSet", expression: ofDaemonSet },
      ...(setsClass ? runtimeClassVariables(spec.windows, pod) : []),
      { name: "class", expression: setsClass ? `${own} : variables.runtimeClass` : `${own} : ""` },
    ],
    checks: windowsLimits(spec),
    operations: ["CREATE"],
    bindings: [{ suffix: "warn", actions: ["Warn", "Audit"], namespaces: [notSystem(spec)] }],
  };
}

/**
 * Pods that are meant for Windows but do not say so. The API server then validates them as Linux pods: fields that Windows refuses are
 * accepted, and the pod fails on the node instead.
 */
function osNamePolicy(spec: Pick<ClusterSpec, "kubernetes" | "pools" | "windows">): PodPolicy {
  const classes = runtimeClassFacts(spec).map(({ name }) => name);
  const wants = [
    `(has(${pod}.nodeSelector) && "kubernetes.io/os" in ${pod}.nodeSelector && ${pod}.nodeSelector["kubernetes.io/os"] == "windows")`,
    `(has(${pod}.runtimeClassName) && ${pod}.runtimeClassName in ${texts(classes)})`,
    `(${allContainers(pod)}).exists(c, c.image.matches("${tags}|mcr[.]microsoft[.]com/windows|nanoserver|windowsservercore"))`,
  ];
  return {
    name: "fenestra-windows-os-name",
    when: wants.join(" || "),
    checks: [
      {
        expression: saysWindows(pod),
        message:
          "this pod is meant for Windows by its image, node selector or RuntimeClass, but does not say so: set {pod}.os.name: windows, so that the API server refuses what Windows cannot do and the pod gets its RuntimeClass",
      },
    ],
    operations: ["CREATE"],
    bindings: [
      {
        suffix: "warn",
        actions: ["Warn", "Audit"],
        namespaces: [notSystem(spec), { key: namespaceLabels.windowsOsName, operator: "NotIn", values: ["required"] }],
      },
      {
        suffix: "deny",
        actions: ["Deny"],
        namespaces: [{ key: namespaceLabels.windowsOsName, operator: "In", values: ["required"] }],
      },
    ],
  };
}

/** A HostProcess pod is an administrator of the node. */
const hostProcessPolicy = (spec: Pick<ClusterSpec, "kubernetes">): PodPolicy => ({
  name: "fenestra-host-process",
  when: isHostProcess(pod),
  checks: [
    {
      expression: "false",
      message: `HostProcess pods have every right on their node and run only in namespaces with the label ${namespaceLabels.hostProcess}: allowed; run the pod there, or have an administrator label this namespace`,
    },
  ],
  operations: ["CREATE"],
  bindings: [{ suffix: "deny", actions: ["Deny"], namespaces: [notSystem(spec), notAllowed(namespaceLabels.hostProcess)] }],
});

/**
 * Containers that are new here and that the webhook of windows-gmsa does not look at (v0.13.0, webhook.go:
 * iterateOverWindowsSecurityOptions).
 */
const unauthorized = [
  `object.kind == "Pod" && request.operation == "UPDATE"`,
  `? (has(${pod}.ephemeralContainers) ? ${pod}.ephemeralContainers : [])`,
  `: (has(${pod}.initContainers) ? ${pod}.initContainers : [])`,
].join(" ");

/**
 * The kubelet hands the credential specification of any container to the runtime, and the webhook authorizes those of the pod and of its
 * `containers` alone: written out in another container, it would make the pod any account of the domain.
 */
const gmsaPolicy = (spec: Pick<ClusterSpec, "kubernetes">): PodPolicy => ({
  name: "fenestra-gmsa",
  when: `(${unauthorized}).exists(c, ${usesAccount("c.securityContext")})`,
  checks: [
    {
      expression: "false",
      message:
        "nobody checks whether this pod may use the gMSA account of an init or ephemeral container: leave gmsaCredentialSpecName and gmsaCredentialSpec out there and set {pod}.securityContext.windowsOptions.gmsaCredentialSpecName, which is checked and counts for every container",
    },
  ],
  operations: ["CREATE"],
  ephemeralContainers: true,
  bindings: [{ suffix: "deny", actions: ["Deny"], namespaces: [notSystem(spec)] }],
});

/** Tolerates the control plane's taint, by its key or by tolerating everything. */
const toleratesControlPlane = [
  `has(${pod}.tolerations) && ${pod}.tolerations.exists(t,`,
  `(!has(t.key) || t.key == "" || t.key == ${text(controlPlaneKey)}) &&`,
  `(!has(t.effect) || t.effect == "" || t.effect == "NoSchedule"))`,
].join(" ");

/**
 * A pod that names its node bypasses the scheduler, and with it every NoSchedule taint. The scheduler itself uses the binding subresource.
 */
const namesNode = `has(${pod}.nodeName) && ${pod}.nodeName != ""`;

/** A kubelet announces its static pods, which name their node, with an annotation that users cannot put on theirs. */
const isMirror = `has(object.metadata.annotations) && "kubernetes.io/config.mirror" in object.metadata.annotations && request.userInfo.username.startsWith("system:node:")`;

/** CEL: an update leaves the field unchanged. */
const stays = (field: string): string =>
  `request.operation == "UPDATE" && has(${pod}.${field}) == has(variables.before.${field}) && (!has(${pod}.${field}) || ${pod}.${field} == variables.before.${field})`;

/**
 * A pod with the host's network on a control-plane machine can fetch the keys of the certificate authorities by that machine's identity.
 * Tolerations may also be added to a running pod, hence UPDATE; an update that leaves them unchanged is allowed.
 */
const controlPlanePolicy = (spec: Pick<ClusterSpec, "kubernetes">): PodPolicy => ({
  name: "fenestra-control-plane",
  when: `!(${isMirror})`,
  checks: [
    {
      expression: `(${stays("tolerations")}) || !(${toleratesControlPlane})`,
      message: `pods that tolerate the taint ${controlPlaneKey}:NoSchedule, or every taint, could act as a control-plane machine and run only in namespaces with the label ${namespaceLabels.controlPlane}: allowed; name the taints that you mean in {pod}.tolerations, or have an administrator label this namespace`,
    },
    {
      expression: `(${stays("nodeName")}) || !(${namesNode})`,
      message: `pods that name their node pass by its taints and run only in namespaces with the label ${namespaceLabels.controlPlane}: allowed; in place of {pod}.nodeName use a node selector or affinity on kubernetes.io/hostname`,
    },
  ],
  operations: ["CREATE", "UPDATE"],
  bindings: [{ suffix: "deny", actions: ["Deny"], namespaces: [notSystem(spec), notAllowed(namespaceLabels.controlPlane)] }],
});

/**
 * The validating policies of a cluster; those about Windows only where it has Windows nodes.
 *
 * @param setsClass whether the cluster has the policy that sets the RuntimeClass of Windows pods
 */
export function validationPolicies(
  spec: Pick<ClusterSpec, "facts" | "kubernetes" | "pools" | "windows">,
  setsClass: boolean,
): readonly Manifest[] {
  const windows = runtimeClassFacts(spec).length > 0;
  const policies = [
    ...(windows ? [windowsLimitsPolicy(spec, setsClass), osNamePolicy(spec), hostProcessPolicy(spec), gmsaPolicy(spec)] : []),
    controlPlanePolicy(spec),
  ];
  return [...policies.map(podPolicy), servicePolicy(spec)].flatMap(policyManifests);
}
