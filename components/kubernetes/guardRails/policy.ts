import type { Manifest } from "../manifest.ts";

/** A ValidatingAdmissionPolicy and where it acts. */
export interface Policy {
  readonly name: string;
  readonly resourceRules: readonly ResourceRule[];
  /** CEL: whether it looks at a request. Default: at all. */
  readonly when?: string;
  /** In the order in which they refer to each other. */
  readonly variables: readonly Variable[];
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

/** A name for a CEL expression: `variables.NAME` in those after it. */
export interface Variable {
  readonly name: string;
  readonly expression: string;
}

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
        variables: [...policy.variables],
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
