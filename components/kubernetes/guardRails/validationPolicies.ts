import type { ClusterSpec } from "../../model/clusterSpec.ts";
import type { Manifest } from "../manifest.ts";
import { runtimeClassFacts } from "../runtimeClasses.ts";
import { controlPlaneKey } from "../workload.ts";
import { allContainers, isHostProcess, saysWindows, text, texts } from "./cel.ts";
import { namespaceLabels, systemNamespaces } from "./namespaces.ts";
import { windowsLimits } from "./windowsLimits.ts";

/** One check of a policy. */
interface Check {
  /** CEL that is true when all is well. */
  readonly expression: string;
  /** What is wrong and how to mend it. */
  readonly message: string;
}

/** A policy on pods and where it acts. */
interface PodPolicy {
  readonly name: string;
  /** Conditions under which it looks at a pod at all. */
  readonly when: Readonly<Record<string, string>>;
  readonly variables?: Readonly<Record<string, string>>;
  readonly checks: readonly Check[];
  readonly operations: ("CREATE" | "UPDATE")[];
  readonly bindings: readonly Binding[];
}

interface Binding {
  readonly suffix: string;
  readonly actions: ("Deny" | "Warn" | "Audit")[];
  readonly namespaces?: readonly Requirement[];
}

interface Requirement {
  readonly key: string;
  readonly operator: "In" | "NotIn";
  readonly values: string[];
}

/** Every namespace but the system's. */
const notSystem: Requirement = {
  key: "kubernetes.io/metadata.name",
  operator: "NotIn",
  values: [...systemNamespaces],
};

/** Every namespace without a label that allows. */
const notAllowed = (key: string): Requirement => ({ key, operator: "NotIn", values: ["allowed"] });

const policyManifests = (policy: PodPolicy): readonly Manifest[] => [
  {
    apiVersion: "admissionregistration.k8s.io/v1",
    kind: "ValidatingAdmissionPolicy",
    metadata: { name: policy.name },
    spec: {
      failurePolicy: "Fail",
      matchConstraints: {
        resourceRules: [{ apiGroups: [""], apiVersions: ["v1"], operations: policy.operations, resources: ["pods"] }],
      },
      matchConditions: Object.entries(policy.when).map(([name, expression]) => ({ name, expression })),
      variables: Object.entries(policy.variables ?? {}).map(([name, expression]) => ({ name, expression })),
      validations: policy.checks.map(({ expression, message }) => ({ expression, message })),
    },
  },
  ...policy.bindings.map(
    ({ suffix, actions, namespaces }): Manifest => ({
      apiVersion: "admissionregistration.k8s.io/v1",
      kind: "ValidatingAdmissionPolicyBinding",
      metadata: { name: `${policy.name}-${suffix}` },
      spec: {
        policyName: policy.name,
        validationActions: actions,
        ...(namespaces === undefined
          ? {}
          : { matchResources: { namespaceSelector: { matchExpressions: [...namespaces] } } }),
      },
    }),
  ),
];

/** What Windows ignores or cannot do: the pod is let in, and whoever made it is told. */
function windowsLimitsPolicy(spec: ClusterSpec): PodPolicy {
  return {
    name: "fenestra-windows-limits",
    when: { "says-windows": saysWindows, "is-no-host-process": `!(${isHostProcess})` },
    variables: { containers: allContainers },
    checks: windowsLimits(spec),
    operations: ["CREATE"],
    bindings: [{ suffix: "warn", actions: ["Warn", "Audit"], namespaces: [notSystem] }],
  };
}

/**
 * Pods that are meant for Windows but do not say so. The API server then judges them as Linux pods: fields that Windows refuses pass, and
 * the pod fails on the node instead.
 */
function osNamePolicy(spec: ClusterSpec): PodPolicy {
  const classes = runtimeClassFacts(spec).map(({ name }) => name);
  const wants = [
    `(has(object.spec.nodeSelector) && "kubernetes.io/os" in object.spec.nodeSelector && object.spec.nodeSelector["kubernetes.io/os"] == "windows")`,
    `(has(object.spec.runtimeClassName) && object.spec.runtimeClassName in ${texts(classes)})`,
    `(${allContainers}).exists(c, c.image.matches("ltsc20(19|22|25)|mcr[.]microsoft[.]com/windows|nanoserver|windowsservercore"))`,
  ];
  return {
    name: "fenestra-windows-os-name",
    when: { "wants-windows": wants.join(" || ") },
    checks: [
      {
        expression: saysWindows,
        message:
          "this pod is meant for Windows by its image, node selector or RuntimeClass, but does not say so: set spec.os.name: windows, so that the API server refuses what Windows cannot do and the pod gets its RuntimeClass",
      },
    ],
    operations: ["CREATE"],
    bindings: [
      {
        suffix: "warn",
        actions: ["Warn", "Audit"],
        namespaces: [notSystem, { key: namespaceLabels.windowsOsName, operator: "NotIn", values: ["required"] }],
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
const hostProcessPolicy: PodPolicy = {
  name: "fenestra-host-process",
  when: { "is-host-process": isHostProcess },
  checks: [
    {
      expression: "false",
      message: `HostProcess pods have every right on their node and run only in namespaces with the label ${namespaceLabels.hostProcess}: allowed; run the pod there, or have an administrator label this namespace`,
    },
  ],
  operations: ["CREATE"],
  bindings: [{ suffix: "deny", actions: ["Deny"], namespaces: [notSystem, notAllowed(namespaceLabels.hostProcess)] }],
};

/** Tolerates the control plane's taint, by its key or by tolerating everything. */
const toleratesControlPlane = [
  "has(object.spec.tolerations) && object.spec.tolerations.exists(t,",
  `(!has(t.key) || t.key == "" || t.key == ${text(controlPlaneKey)}) &&`,
  `(!has(t.effect) || t.effect == "" || t.effect == "NoSchedule"))`,
].join(" ");

/** A pod that names its node itself passes the scheduler, and with it every NoSchedule taint. */
const namesNode = `request.operation == "CREATE" && has(object.spec.nodeName) && object.spec.nodeName != ""`;

/**
 * A pod with the host's network on a control-plane machine can fetch the keys of the certificate authorities by that machine's identity.
 * Tolerations may also be added to a running pod, hence UPDATE; an update that leaves them as they are passes.
 */
const controlPlanePolicy: PodPolicy = {
  name: "fenestra-control-plane",
  when: {
    // A kubelet announces its static pods, which name their node, with an annotation that users cannot put on theirs.
    "is-no-mirror": `!(has(object.metadata.annotations) && "kubernetes.io/config.mirror" in object.metadata.annotations && request.userInfo.username.startsWith("system:node:"))`,
    "is-new":
      'request.operation == "CREATE" || (has(object.spec.tolerations) != has(oldObject.spec.tolerations)) || (has(object.spec.tolerations) && object.spec.tolerations != oldObject.spec.tolerations)',
  },
  checks: [
    {
      expression: `!(${toleratesControlPlane})`,
      message: `pods that tolerate the taint ${controlPlaneKey}:NoSchedule, or every taint, could act as a control-plane machine and run only in namespaces with the label ${namespaceLabels.controlPlane}: allowed; name the taints that you mean, or have an administrator label this namespace`,
    },
    {
      expression: `!(${namesNode})`,
      message: `pods that name their node pass by its taints and run only in namespaces with the label ${namespaceLabels.controlPlane}: allowed; use a node selector or affinity on kubernetes.io/hostname`,
    },
  ],
  operations: ["CREATE", "UPDATE"],
  bindings: [{ suffix: "deny", actions: ["Deny"], namespaces: [notSystem, notAllowed(namespaceLabels.controlPlane)] }],
};

/** The validating policies of a cluster; those about Windows only where it has Windows nodes. */
export function validationPolicies(spec: ClusterSpec): readonly Manifest[] {
  const windows = runtimeClassFacts(spec).length > 0;
  const policies = [
    ...(windows ? [windowsLimitsPolicy(spec), osNamePolicy(spec), hostProcessPolicy] : []),
    controlPlanePolicy,
  ];
  return policies.flatMap(policyManifests);
}
