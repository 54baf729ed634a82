import { systemNamespaces } from "../../model/addOns.ts";
import type { ClusterSpec } from "../../model/clusterSpec.ts";
import type { Manifest, Text } from "../manifest.ts";

/** A ValidatingAdmissionPolicy and where it acts. */
export interface Policy {
  readonly name: string;
  readonly resourceRules: readonly ResourceRule[];
  /** CEL that must all be true, or it does not look at a request. Default: it always does. */
  readonly conditions?: Variables;
  /**
   * CEL `params` is each object of this kind in turn: with the label, and where there is none, what it looks at is
   * refused; or all without it (default: all), and where there is none, it is let in.
   */
  readonly params?: { readonly apiVersion: string; readonly kind: string } & (
    | { readonly label: string }
    | { readonly without?: string }
  );
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
export interface Binding {
  readonly suffix: string;
  readonly actions: ("Deny" | "Warn" | "Audit")[];
  /** Default: all. */
  readonly namespaces?: readonly Requirement[] | undefined;
  /** Default: those of the policy. */
  readonly resourceRules?: readonly ResourceRule[];
  /** Labels that the objects have, that they have not, and values of some. Default: it does not look at them. */
  readonly labels?: {
    readonly some?: readonly string[];
    readonly none?: readonly string[];
    readonly values?: Readonly<Record<string, string>>;
  };
}

/** A requirement on a namespace's labels. */
export interface Requirement {
  readonly key: string;
  readonly operator: "In" | "NotIn";
  readonly values: string[];
}

/** Expressions with their names, as the API server takes them. */
const expressions = (of: Variables) => Object.entries(of).map(([name, expression]) => ({ name, expression }));

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

/** What a mutation does with some pods. */
export interface Change {
  /** CEL under which it does something. */
  readonly when: string;
  /** CEL of its patches. */
  readonly patches: string;
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
      spec: { policyName: name, ...matching({ namespaces }) },
    },
  ];
}

/** CEL of a patch that adds a value. */
export const add = (path: string, value: string): string => `JSONPatch{op: "add", path: ${path}, value: ${value}}`;

/** Patches one after the other. */
export function sum(...parts: readonly string[]): string {
  return parts.map((part) => `(${part})`).join(" + ");
}

/** Where a binding acts. */
function matching({ namespaces, resourceRules, labels }: Omit<Binding, "suffix" | "actions">) {
  const requirements = [
    ...(labels?.some ?? []).map((key) => ({ key, operator: "Exists" })),
    ...(labels?.none ?? []).map((key) => ({ key, operator: "DoesNotExist" })),
  ];
  const matchResources = {
    ...(namespaces === undefined ? {} : { namespaceSelector: { matchExpressions: [...namespaces] } }),
    ...(resourceRules === undefined ? {} : { resourceRules: resourceRules.map((rule) => ({ ...rule })) }),
    ...(labels === undefined
      ? {}
      : {
          objectSelector: {
            ...(requirements.length === 0 ? {} : { matchExpressions: requirements }),
            ...(labels.values === undefined ? {} : { matchLabels: labels.values }),
          },
        }),
  };
  return Object.keys(matchResources).length === 0 ? {} : { matchResources };
}

function chosen(params: NonNullable<Policy["params"]>) {
  return "label" in params
    ? { selector: { matchLabels: { [params.label]: "" } }, parameterNotFoundAction: "Deny" }
    : {
        selector:
          params.without === undefined ? {} : { matchExpressions: [{ key: params.without, operator: "DoesNotExist" }] },
        parameterNotFoundAction: "Allow",
      };
}

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
      ({ suffix, actions, ...where }): Manifest => ({
        apiVersion: "admissionregistration.k8s.io/v1",
        kind: "ValidatingAdmissionPolicyBinding",
        metadata: { name: `${policy.name}-${suffix}` },
        spec: {
          policyName: policy.name,
          validationActions: actions,
          ...(policy.params === undefined ? {} : { paramRef: chosen(policy.params) }),
          ...matching(where),
        },
      }),
    ),
  ];
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
