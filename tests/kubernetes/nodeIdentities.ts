import { type Manifest, podSpec } from "../../components/kubernetes/manifest.ts";
import { controlPlaneKey } from "../../components/model/pools.ts";

/** What built-in roles that the program binds may write; ownNode.slow.test.ts reads them from a real API server. */
export const builtIn: Readonly<Record<string, readonly string[]>> = {
  "system:node-problem-detector": [
    "patch nodes/status",
    "create|patch|update events",
    "create|patch|update events.k8s.io/events",
  ],
  "system:node-proxier": ["create|patch|update events", "create|patch|update events.k8s.io/events"],
  "system:auth-delegator": [],
  "extension-apiserver-authentication-reader": [],
};

const reads = ["get", "list", "watch"];

/** As far as it is read here. */
interface Rule {
  readonly apiGroups?: readonly unknown[] | undefined;
  readonly resources?: readonly unknown[] | undefined;
  readonly verbs: readonly unknown[];
}

/** What rules let somebody write, as `VERBS GROUP/RESOURCE`. Reviews change nothing. */
export function writesOf(rules: readonly Rule[]): readonly string[] {
  return rules.flatMap(({ apiGroups = [], resources = [], verbs }) => {
    const writes = verbs
      .map(String)
      .filter((verb) => !reads.includes(verb))
      .toSorted();
    const changed = resources.map(String).filter((resource) => !/reviews(\.|$)/.test(resource));
    if (writes.length === 0) return [];
    return apiGroups.flatMap((group) =>
      changed.map((resource) => `${writes.join("|")} ${group === "" ? "" : `${group}/`}${resource}`),
    );
  });
}

/** What each account, as NAMESPACE:NAME, of pods that may be on a worker may write. */
export function nodeSideWrites(objects: readonly Manifest[]): ReadonlyMap<string, readonly string[]> {
  const accounts = objects.flatMap((each) => {
    const pod = podSpec(each);
    if (pod === undefined || controlPlaneKey in (pod.nodeSelector ?? {})) return [];
    return [`${each.metadata.namespace ?? "default"}:${pod.serviceAccountName ?? "default"}`];
  });
  const writesOfRole = (kind: string, name: string, namespace: string | undefined): readonly string[] => {
    const role = objects.find(
      (each) => each.kind === kind && each.metadata.name === name && each.metadata.namespace === namespace,
    );
    if (role === undefined || (role.kind !== "ClusterRole" && role.kind !== "Role")) {
      const known = builtIn[name];
      if (known === undefined) throw new RangeError(`what ${kind} ${name} may write is not known here`);
      return known;
    }
    return writesOf(role.rules ?? []);
  };
  const found = [...new Set(accounts)].map((account): [string, readonly string[]] => {
    const rights = objects.flatMap((each) => {
      if (each.kind !== "ClusterRoleBinding" && each.kind !== "RoleBinding") return [];
      if (!each.subjects?.some(({ name, namespace }) => `${namespace}:${name}` === account)) return [];
      const { kind, name } = each.roleRef;
      return writesOfRole(String(kind), String(name), kind === "Role" ? String(each.metadata.namespace) : undefined);
    });
    return [account, [...new Set(rights)].toSorted()];
  });
  return new Map(found);
}
