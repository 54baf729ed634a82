import type { V1ResourceRule } from "@kubernetes/client-node";

/** Groups and resources whose users no audit log of the program's policy names, and what everybody may do. */
const unrecorded = /^(?:events|leases)\b|\.(?:authorization|authentication)\.k8s\.io$/;

/** A right as people write it: `update nodes`, `list volumeattachments.storage.k8s.io`. */
export function rightOf(verb: string, group: string | undefined, resource: string, subresource = ""): string {
  const whole = subresource === "" ? resource : `${resource}/${subresource}`;
  return `${verb} ${[whole, group].filter(Boolean).join(".")}`;
}

/** Rights by an account's rules that it did not use. */
export function unusedRights(rules: readonly V1ResourceRule[], used: ReadonlySet<string>): readonly string[] {
  const rights = rules.flatMap(({ apiGroups = [], resources = [], verbs }) =>
    apiGroups.flatMap((group) => resources.flatMap((resource) => verbs.map((verb) => rightOf(verb, group, resource)))),
  );
  return [...new Set(rights)].filter((right) => !used.has(right) && !unrecorded.test(right.replace(/^\S+ /, "")));
}
