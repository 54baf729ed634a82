import type { Manifest, PolicyRule, Subject } from "./manifest.ts";

export interface Account {
  readonly name: string;
  readonly namespace: string;
}

export function serviceAccount({ name, namespace }: Account): Manifest {
  return { apiVersion: "v1", kind: "ServiceAccount", metadata: { name, namespace } };
}

/** A ClusterRole of the account's own, bound to it. */
export function clusterRights(account: Account, name: string, rules: PolicyRule[]): readonly Manifest[] {
  return [
    { apiVersion: "rbac.authorization.k8s.io/v1", kind: "ClusterRole", metadata: { name }, rules },
    boundClusterRole(account, name, name),
  ];
}

/** Binds an existing ClusterRole to an account. */
export function boundClusterRole({ name: account, namespace }: Account, name: string, role: string): Manifest {
  return clusterBinding(name, role, [{ kind: "ServiceAccount", name: account, namespace }]);
}

export function clusterBinding(name: string, role: string, subjects: Subject[]): Manifest {
  const roleRef = { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: role };
  return {
    apiVersion: "rbac.authorization.k8s.io/v1",
    kind: "ClusterRoleBinding",
    metadata: { name },
    roleRef,
    subjects,
  };
}

/** A Role of the account's own, bound to it. */
export function namespaceRights(account: Account, name: string, rules: PolicyRule[]): readonly Manifest[] {
  return [
    {
      apiVersion: "rbac.authorization.k8s.io/v1",
      kind: "Role",
      metadata: { name, namespace: account.namespace },
      rules,
    },
    boundRole(account, name, name, account.namespace),
  ];
}

function boundRole(account: Account, name: string, role: string, where: string): Manifest {
  return {
    apiVersion: "rbac.authorization.k8s.io/v1",
    kind: "RoleBinding",
    metadata: { name, namespace: where },
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "Role", name: role },
    subjects: [{ kind: "ServiceAccount", name: account.name, namespace: account.namespace }],
  };
}

/** Lets an account read how the API server authenticates, as extension servers and cloud controllers do at start. */
export function readsAuthentication(account: Account, name: string): Manifest {
  return boundRole(account, name, "extension-apiserver-authentication-reader", "kube-system");
}

/** A rule; its group is empty for the core API. */
export function rule(group: string, resources: string[], verbs: string[], resourceNames?: string[]): PolicyRule {
  return { apiGroups: [group], resources, verbs, ...(resourceNames === undefined ? {} : { resourceNames }) };
}

/** What the election of a leader needs, by its Leases. A name cannot limit what is created. */
export const leaseRules = (...names: string[]): PolicyRule[] => [
  rule("coordination.k8s.io", ["leases"], ["create"]),
  rule("coordination.k8s.io", ["leases"], ["get", "patch", "update"], names),
];
