import { createHash } from "node:crypto";
import type { ClusterSpec } from "../../model/clusterSpec.ts";
import { administratorsGroup, signInPrefix } from "../../model/signIn.ts";
import type { AddOnEntry } from "../addOnEntry.ts";
import type { Manifest } from "../manifest.ts";
import { clusterBinding } from "../rights.ts";

export const signIn: AddOnEntry = { name: "sign-in", after: [], manifests: signInManifests };

/**
 * Binds the present generation of administrators, and each ClusterRole of `access.signIn[].roles` to its groups. The
 * role is part of a binding's name, since it cannot change.
 */
export function signInManifests({
  signIn,
  kubeconfigGeneration,
}: Pick<ClusterSpec, "signIn" | "kubeconfigGeneration">): readonly Manifest[] {
  return [
    clusterBinding("fenestra:administrators", "cluster-admin", [member(administratorsGroup(kubeconfigGeneration))]),
    ...signIn.flatMap((issuer) =>
      Object.entries(issuer.roles).map(([role, groups]) =>
        clusterBinding(
          `fenestra:sign-in:${issuer.name}:${nameOf(role)}`,
          role,
          groups.map((group) => member(`${signInPrefix(issuer)}${group}`)),
        ),
      ),
    ),
  ];
}

const member = (group: string) => ({ apiGroup: "rbac.authorization.k8s.io", kind: "Group", name: group });

/**
 * A role, or the digest of one that a path segment cannot hold (kubernetes/kubernetes, path.ValidatePathSegmentName).
 */
function nameOf(role: string): string {
  return /^[\w:.-]+$/.test(role) ? role : createHash("sha256").update(role).digest("hex").slice(0, 10);
}
