import { text } from "./cel.ts";
import type { Binding, Policy, Validation, Variables } from "./policy.ts";

/** One check of a policy. */
interface Check {
  /** CEL that is true when all is well. */
  readonly expression: string;
  /** What is wrong and how to fix it; `{pod}` stands for the path of the pod's spec in the object, `{x}` for the text `variables.x`. */
  readonly message: string;
}

/** A policy on pods, wherever they are described, and where it acts. */
export interface PodPolicy {
  readonly name: string;
  /** CEL under which it looks at a pod at all; `variables.pod` is the pod's spec. */
  readonly when: string;
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

/** Path of a workload's pod template. Its author sees the warnings; those that the workload's controller gets are not shown. */
const workloadRules: Policy["resourceRules"] = [
  {
    apiGroups: ["apps"],
    apiVersions: ["v1"],
    operations: ["CREATE", "UPDATE"],
    resources: ["deployments", "daemonsets", "statefulsets", "replicasets"],
  },
  { apiGroups: ["batch"], apiVersions: ["v1"], operations: ["CREATE", "UPDATE"], resources: ["jobs", "cronjobs"] },
  { apiGroups: [""], apiVersions: ["v1"], operations: ["CREATE", "UPDATE"], resources: ["replicationcontrollers"] },
];

/** Chooses by the kind of an object with a pod's spec in it. */
const byKind = (inPod: string, inCronJob: string, inTemplate: string): string =>
  `object.kind == "Pod" ? ${inPod} : object.kind == "CronJob" ? ${inCronJob} : ${inTemplate}`;

/** The pod's spec of an object. The kinds have no type in common, hence no type is checked: the tables of tests stand in for that. */
const specOf = (object: string): string =>
  byKind(`dyn(${object}).spec`, `dyn(${object}).spec.jobTemplate.spec.template.spec`, `dyn(${object}).spec.template.spec`);

/** A message, or the expression that puts texts into it; where that fails, they are left out. */
function messageOf(message: string): Omit<Validation, "expression"> {
  const parts = message.split(/\{(\w+)\}/);
  const plain = { message: message.replaceAll("{pod}", "spec").replaceAll(/\{\w+\}/g, "") };
  const inText = (name: string): string => (name === "pod" ? "variables.path" : `variables.${name}`);
  return parts.length === 1
    ? plain
    : { ...plain, messageExpression: parts.map((part, index) => (index % 2 === 0 ? text(part) : inText(part))).join(" + ") };
}

/** The policy of the API server: it looks at pods when they are made, and at workloads when their pods are described. */
export function podPolicy({ name, operations, ephemeralContainers, bindings, ...policy }: PodPolicy): Policy {
  const pods = { apiGroups: [""], apiVersions: ["v1"] };
  return {
    name,
    bindings,
    resourceRules: [
      { ...pods, operations, resources: ["pods"] },
      ...(ephemeralContainers ? [{ ...pods, operations: ["UPDATE" as const], resources: ["pods/ephemeralcontainers"] }] : []),
      ...workloadRules,
    ],
    variables: {
      pod: specOf("object"),
      before: specOf("oldObject"),
      path: byKind('"spec"', '"spec.jobTemplate.spec.template.spec"', '"spec.template.spec"'),
      // A workload that is scaled or was there before the policy is left alone.
      isNew: `request.operation == "CREATE" || object.kind == "Pod" || ${pod} != variables.before`,
      ...policy.variables,
      applies: `variables.isNew && (${policy.when})`,
    },
    validations: policy.checks.map(({ expression, message }) => ({
      expression: `!variables.applies || (${expression})`,
      ...messageOf(message),
    })),
  };
}
