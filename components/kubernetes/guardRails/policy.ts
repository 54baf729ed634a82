import { systemNamespaces } from "../../model/addOns.ts";
import type { ClusterSpec } from "../../model/clusterSpec.ts";
import { requireMinorFacts } from "../../model/releases.ts";
import type { Manifest, Text } from "../manifest.ts";
import { text } from "./texts.ts";

/** A ValidatingAdmissionPolicy and where it acts. */
export interface Policy {
  readonly name: string;
  readonly resourceRules: readonly ResourceRule[];
  /** CEL that must all be true, or it does not look at a request. Default: it always does. */
  readonly conditions?: Variables;
  /** CEL `params` is each object of this kind with the label in turn; without any, what it looks at is refused. */
  readonly params?: { readonly apiVersion: string; readonly kind: string; readonly label: string };
  /** In the order in which they refer to each other. */
  readonly variables: Variables;
  readonly validations: readonly Validation[];
  readonly bindings: readonly Binding[];
}

/** Objects that a policy looks at. */
interface ResourceRule {
  readonly apiGroups: string[];
  readonly apiVersions: string[];
  readonly operations: ("CREATE" | "UPDATE")[];
  readonly resources: string[];
}

/** CEL expressions by their names: `variables.NAME` in those after it. */
export type Variables = Readonly<Record<string, Text>>;

/** One check of a policy, as the API server takes it. */
interface Validation {
  /** CEL that is true when all is well. */
  readonly expression: string;
  readonly message: string;
  /** CEL of a better message; where it fails, `message` counts. */
  readonly messageExpression?: string;
}

/** Where a policy acts, and how. */
interface Binding {
  readonly suffix: string;
  readonly actions: ("Deny" | "Warn" | "Audit")[];
  readonly namespaces?: readonly Requirement[];
}

/** A requirement on a namespace's labels. */
export interface Requirement {
  readonly key: string;
  readonly operator: "In" | "NotIn";
  readonly values: string[];
}

/** Expressions with their names, as the API server takes them. */
const expressions = (of: Variables) => Object.entries(of).map(([name, expression]) => ({ name, expression }));

/** Whether the cluster's API server can change pods by itself. */
export function changesPods({ kubernetes }: Pick<ClusterSpec, "kubernetes">): boolean {
  return requireMinorFacts(kubernetes.version).mutatingAdmissionPolicy;
}

/** What a reader of the plan should know where it cannot. */
export function withoutMutation(spec: Pick<ClusterSpec, "kubernetes">, instead: string): readonly string[] {
  if (changesPods(spec)) return [];
  return [`Kubernetes ${spec.kubernetes.version} has no MutatingAdmissionPolicy of version v1 (1.36 has): ${instead}`];
}

/** A MutatingAdmissionPolicy, and where it acts. */
interface Mutation {
  readonly name: string;
  readonly resourceRules: readonly ResourceRule[];
  /** CEL that must all be true, or the policy does not look at a pod. */
  readonly conditions: Variables;
  readonly variables: Variables;
  /** Whether it runs again after others that change the pod. */
  readonly reinvocationPolicy: "Never" | "IfNeeded";
  readonly patches: string;
  /** Namespaces in which it acts. Default: all. */
  readonly namespaces?: readonly Requirement[];
}

/** Rules on pods, and on workloads with a template of pods. */
export const podsWhen = (...operations: ResourceRule["operations"]): ResourceRule => ({
  apiGroups: [""],
  apiVersions: ["v1"],
  operations,
  resources: ["pods"],
});
export const templates = (group: string, ...resources: string[]): ResourceRule => ({
  apiGroups: [group],
  apiVersions: ["v1"],
  operations: ["CREATE", "UPDATE"],
  resources,
});

/** The objects of a policy that changes pods. */
export function mutationManifests({ name, namespaces, ...policy }: Mutation): readonly Manifest[] {
  return [
    {
      apiVersion: "admissionregistration.k8s.io/v1",
      kind: "MutatingAdmissionPolicy",
      metadata: { name },
      spec: {
        matchConstraints: { resourceRules: policy.resourceRules.map((rule) => ({ ...rule })) },
        matchConditions: expressions(policy.conditions),
        variables: expressions(policy.variables),
        failurePolicy: "Fail",
        reinvocationPolicy: policy.reinvocationPolicy,
        mutations: [{ patchType: "JSONPatch", jsonPatch: { expression: policy.patches } }],
      },
    },
    {
      apiVersion: "admissionregistration.k8s.io/v1",
      kind: "MutatingAdmissionPolicyBinding",
      metadata: { name },
      spec: { policyName: name, ...matching(namespaces) },
    },
  ];
}

/** CEL of a patch that adds a value. */
export const add = (path: string, value: string): string => `JSONPatch{op: "add", path: ${path}, value: ${value}}`;

/** Patches one after the other. */
export function sum(...parts: readonly string[]): string {
  return parts.map((part) => `(${part})`).join(" + ");
}

/** The namespaces of a binding. */
const matching = (namespaces: readonly Requirement[] | undefined) =>
  namespaces === undefined ? {} : { matchResources: { namespaceSelector: { matchExpressions: [...namespaces] } } };

/** A policy that denies answers 403, as Pod Security does: what it refuses is not malformed. */
export function policyManifests(policy: Policy): readonly Manifest[] {
  return [
    {
      apiVersion: "admissionregistration.k8s.io/v1",
      kind: "ValidatingAdmissionPolicy",
      metadata: { name: policy.name },
      spec: {
        failurePolicy: "Fail",
        matchConstraints: { resourceRules: policy.resourceRules.map((rule) => ({ ...rule })) },
        ...(policy.params === undefined
          ? {}
          : { paramKind: { apiVersion: policy.params.apiVersion, kind: policy.params.kind } }),
        ...(policy.conditions === undefined ? {} : { matchConditions: expressions(policy.conditions) }),
        variables: expressions(policy.variables),
        validations: policy.validations.map((each) => ({
          ...each,
          ...(policy.bindings.some(({ actions }) => actions.includes("Deny")) ? { reason: "Forbidden" } : {}),
        })),
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
          ...(policy.params === undefined
            ? {}
            : {
                paramRef: { selector: { matchLabels: { [policy.params.label]: "" } }, parameterNotFoundAction: "Deny" },
              }),
          ...matching(namespaces),
        },
      }),
    ),
  ];
}

interface Check {
  /** CEL that is true when all is well. */
  readonly expression: string;
  /**
   * What is wrong and how to fix it; `{pod}` stands for the path of the pod's spec in the object, `{x}` for the text
   * `variables.x`.
   */
  readonly message: string;
}

/** A policy on pods, wherever they are described, and where it acts. */
export interface PodPolicy {
  readonly name: string;
  /** CEL under which it looks at a pod at all, of the CEL for the pod's spec, and for that before an update. */
  readonly when: (pod: string, before: string) => string;
  readonly params?: Policy["params"];
  /** Additional variables, in the order in which they refer to each other. `pod` and `before` exist already. */
  readonly variables?: Variables;
  readonly checks: readonly Check[];
  /** Operations on Pods that are checked; workloads are checked whenever their pod template changes. */
  readonly operations: ("CREATE" | "UPDATE")[];
  /** Whether it also looks when ephemeral containers are added to a pod, a subresource of it. Default: no. */
  readonly ephemeralContainers?: true;
  readonly bindings: readonly Binding[];
}

/** The pod's spec in a policy's expressions. */
export const pod = "variables.pod";

/**
 * Path of a workload's pod template. Its author sees the warnings; those that the workload's controller gets are not
 * shown.
 */
const workloadRules: Policy["resourceRules"] = [
  templates("apps", "deployments", "daemonsets", "statefulsets", "replicasets"),
  templates("batch", "jobs", "cronjobs"),
  templates("", "replicationcontrollers"),
];

/** Chooses by the kind of an object with a pod's spec in it. */
const byKind = (inPod: string, inCronJob: string, inTemplate: string): string =>
  `(object.kind == "Pod" ? ${inPod} : object.kind == "CronJob" ? ${inCronJob} : ${inTemplate})`;

/**
 * The pod's spec of an object. The kinds have no type in common, hence no type is checked: the tables of tests stand in
 * for that.
 */
const specOf = (object: string): string =>
  byKind(
    `dyn(${object}).spec`,
    `dyn(${object}).spec.jobTemplate.spec.template.spec`,
    `dyn(${object}).spec.template.spec`,
  );

/** CEL: the kind and the name of the object: whoever applies many sees which one is meant, and each of equal ones. */
const named = 'object.kind + " " + dyn(object).metadata.?name.orValue(dyn(object).metadata.?generateName.orValue(""))';

/** A message, or the expression that puts texts into it; where that fails, they are left out. */
function messageOf(message: string): Omit<Validation, "expression"> {
  const parts = message.split(/\{(\w+)\}/);
  const inText = (name: string): string => (name === "pod" ? "variables.path" : `variables.${name}`);
  const all = parts.map((part, index) => (index % 2 === 0 ? text(part) : inText(part)));
  return {
    message: message.replaceAll("{pod}", "spec").replaceAll(/\{\w+\}/g, ""),
    messageExpression: [named, text(": "), ...all].join(" + "),
  };
}

/**
 * The policy of the API server: it looks at pods when they are made, and at workloads when their pods are described.
 * Whether it has anything to do with one stands in conditions, which cost a small part of what variables do.
 */
export function podPolicy({ name, operations, ephemeralContainers, bindings, params, ...policy }: PodPolicy): Policy {
  const [now, before] = [specOf("object"), specOf("oldObject")];
  return {
    name,
    bindings,
    ...(params === undefined ? {} : { params }),
    resourceRules: [
      podsWhen(...operations),
      ...(ephemeralContainers ? [{ ...podsWhen("UPDATE"), resources: ["pods/ephemeralcontainers"] }] : []),
      ...workloadRules,
    ],
    conditions: {
      // A workload that is scaled or was there before the policy is left alone.
      new: `request.operation == "CREATE" || object.kind == "Pod" || ${now} != ${before}`,
      // A list of one gives the expression a name, that no other list of a policy uses.
      concerned: `[${now}].exists(it, ${policy.when("it", `(${before})`)})`,
    },
    variables: {
      pod: now,
      before,
      path: byKind('"spec"', '"spec.jobTemplate.spec.template.spec"', '"spec.template.spec"'),
      ...policy.variables,
    },
    validations: policy.checks.map(({ expression, message }) => ({ expression, ...messageOf(message) })),
  };
}

/** Labels by which an administrator changes what a policy does in a namespace. */
export const namespaceLabels = {
  /** `allowed`: HostProcess pods may run here. */
  hostProcess: "fenestra.dev/host-process",
  /** `allowed`: pods may run on control-plane machines, and so act with their cloud identity. */
  controlPlane: "fenestra.dev/control-plane",
  /** `required`: a pod for Windows must say `spec.os.name: windows`. */
  windowsOsName: "fenestra.dev/windows-os-name",
  /** `defaulted`: a LimitRange gives containers a memory limit, so that workloads need not name theirs. */
  memoryLimits: "fenestra.dev/memory-limits",
  /** `allowed`: Services may name addresses that Kubernetes or the cloud did not give them. */
  externalAddresses: "fenestra.dev/external-addresses",
} as const;

/** Every namespace but the system's. */
export const notSystem = (spec: Pick<ClusterSpec, "kubernetes">): Requirement => ({
  key: "kubernetes.io/metadata.name",
  operator: "NotIn",
  values: [...systemNamespaces(spec)],
});

/** Every namespace without a label that allows. */
export const notAllowed = (key: string): Requirement => ({ key, operator: "NotIn", values: ["allowed"] });
