import { createHash } from "node:crypto";
import type { ClusterSpec } from "../../model/clusterSpec.ts";
import { signInPrefix } from "../../model/signIn.ts";
import type { AddOnEntry } from "../addOnEntry.ts";
import type { Manifest } from "../manifest.ts";

export const signIn: AddOnEntry = {
  name: "sign-in",
  after: [],
  manifests: signInManifests,
};

/** Binds each ClusterRole of `access.signIn[].roles` to its groups. A binding's role cannot change, so the role is part of its name. */
export function signInManifests({ signIn }: Pick<ClusterSpec, "signIn">): readonly Manifest[] {
  return signIn.flatMap((issuer) =>
    Object.entries(issuer.roles).map(([role, groups]) => ({
      apiVersion: "rbac.authorization.k8s.io/v1",
      kind: "ClusterRoleBinding",
      metadata: { name: `fenestra:sign-in:${issuer.name}:${nameOf(role)}` },
      roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: role },
      subjects: groups.map((group) => ({
        apiGroup: "rbac.authorization.k8s.io",
        kind: "Group",
        name: `${signInPrefix(issuer)}${group}`,
      })),
    })),
  );
}

/** A role as a part of a name; one that a path segment cannot hold, by its digest (kubernetes/kubernetes, path.ValidatePathSegmentName). */
function nameOf(role: string): string {
  return /^[\w:.-]+$/.test(role) ? role : createHash("sha256").update(role).digest("hex").slice(0, 10);
}
