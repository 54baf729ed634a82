import { type Problem, refuse } from "./problem.ts";
import { firstEncryptionKey } from "./secretsEncryption.ts";
import { firstServiceAccountKey } from "./serviceAccountKeys.ts";

/** A list of keys of which the first one is used for what is new, and all for what there is. */
interface KeyList {
  readonly path: string;
  /** The list of clusters without the setting. */
  readonly original: string;
  readonly verb: string;
  /** Why a key cannot be the first one before all API servers know it. */
  readonly unknown: string;
  /** Why a key must stay when it is no longer the first one. */
  readonly needed: string;
  readonly until: string;
}

/** A token of a key that an API server does not know is refused. */
export const serviceAccountList: KeyList = {
  path: "config.fenestra:access.serviceAccountKeys",
  original: firstServiceAccountKey,
  verb: "signs",
  unknown: "which no API server accepts yet: running pods would be refused",
  needed: "every token in the cluster would be refused",
  until: "its last token has ended",
};

/**
 * A Secret of a key that an API server does not have is an error there (k8s.io/apiserver,
 * pkg/storage/value/transformer.go).
 */
export const encryptionList: KeyList = {
  path: "config.fenestra:secretsEncryption.keys",
  original: firstEncryptionKey,
  verb: "encrypts",
  unknown: "which no API server has yet: one would write Secrets that another one cannot read",
  needed: "no API server could read the Secrets that it has encrypted",
  until: "every Secret is written anew",
};

/**
 * A new key must be known to every API server before the first of them uses it, and an old one as long as something is
 * left that needs it.
 */
export function keyProblems(
  { path, original, verb, unknown, needed, until }: KeyList,
  from: readonly string[] = [original],
  to: readonly string[] = [original],
): readonly Problem[] {
  const [used = "", uses = ""] = [from[0], to[0]];
  if (!from.includes(uses))
    return refuse(
      path,
      to,
      `${verb} with ${uses}, ${unknown}`,
      `${used} first, ${uses} behind it`,
      `append ${uses} first and update; docs/operations.md has the steps`,
    );
  if (to.includes(used)) return [];
  return refuse(
    path,
    to,
    `drops ${used}, which ${verb} until now: ${needed}`,
    `${uses} first, ${used} behind it`,
    `keep ${used} in second place until ${until}; docs/operations.md has the steps`,
  );
}
