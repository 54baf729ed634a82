import type { Manifest, Text } from "../manifest.ts";

/** A ValidatingAdmissionPolicy and where it acts. */
export interface Policy {
  readonly name: string;
  readonly resourceRules: readonly ResourceRule[];
  /** CEL: whether it looks at a request. Default: at all. */
  readonly when?: string;
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
export interface Validation {
  /** CEL that is true when all is well. */
  readonly expression: string;
  readonly message: string;
  /** CEL of a better message; where it fails, `message` counts. */
  readonly messageExpression?: string;
}

/** Where a policy acts, and how. */
export interface Binding {
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

/** A MutatingAdmissionPolicy on pods, and where it acts. */
interface Mutation {
  readonly name: string;
  readonly operations: ("CREATE" | "UPDATE")[];
  /** CEL that must all be true, or the policy does not look at a pod. */
  readonly conditions: Variables;
  readonly variables: Variables;
  /** Whether it runs again after others that change the pod. */
  readonly reinvocationPolicy: "Never" | "IfNeeded";
  /** CEL of the patches. */
  readonly patches: string;
  /** Namespaces in which it acts. Default: all. */
  readonly namespaces?: string[];
}

/** The objects of a policy that changes pods. */
export function mutationManifests({ name, namespaces, ...policy }: Mutation): readonly Manifest[] {
  const matchExpressions = [{ key: "kubernetes.io/metadata.name", operator: "In", values: namespaces ?? [] }];
  return [
    {
      apiVersion: "admissionregistration.k8s.io/v1",
      kind: "MutatingAdmissionPolicy",
      metadata: { name },
      spec: {
        matchConstraints: { resourceRules: [{ apiGroups: [""], apiVersions: ["v1"], operations: policy.operations, resources: ["pods"] }] },
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
      spec: { policyName: name, ...(namespaces === undefined ? {} : { matchResources: { namespaceSelector: { matchExpressions } } }) },
    },
  ];
}

/** The objects of a policy. */
export function policyManifests(policy: Policy): readonly Manifest[] {
  return [
    {
      apiVersion: "admissionregistration.k8s.io/v1",
      kind: "ValidatingAdmissionPolicy",
      metadata: { name: policy.name },
      spec: {
        failurePolicy: "Fail",
        matchConstraints: { resourceRules: policy.resourceRules.map((rule) => ({ ...rule })) },
        ...(policy.when === undefined ? {} : { matchConditions: [{ name: "when", expression: policy.when }] }),
        variables: expressions(policy.variables),
        validations: [...policy.validations],
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
          ...(namespaces === undefined ? {} : { matchResources: { namespaceSelector: { matchExpressions: [...namespaces] } } }),
        },
      }),
    ),
  ];
}
