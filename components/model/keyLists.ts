import { type Problem, refuse } from "./problem.ts";
import { firstEncryptionKey } from "./secretsEncryption.ts";
import { firstServiceAccountKey } from "./serviceAccountKeys.ts";

/** A list of keys: the first one is for what is new, all for what there is. */
interface KeyList {
  readonly path: string;
  /** The list of clusters without the setting. */
  readonly original: string;
  readonly verb: string;
  /** Why a key cannot be first before all API servers know it. */
  readonly unknown: string;
  /** Why a former first key must stay. */
  readonly needed: string;
  readonly until: string;
}

export const serviceAccountList: KeyList = {
  path: "config.fenestra:access.serviceAccountKeys",
  original: firstServiceAccountKey,
  verb: "signs",
  unknown: "which no API server accepts yet: running pods would be refused",
  needed: "every token in the cluster would be refused",
  until: "its last token has ended",
};

/** A Secret of an unknown key is an error (k8s.io/apiserver, pkg/storage/value/transformer.go). */
export const encryptionList: KeyList = {
  path: "config.fenestra:secretsEncryption.keys",
  original: firstEncryptionKey,
  verb: "encrypts",
  unknown: "which no API server has yet: one would write Secrets that another one cannot read",
  needed: "no API server could read the Secrets that it has encrypted",
  until: "every Secret is written anew",
};

/** Every API server must know a new key before one uses it, and an old one while anything needs it. */
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
      `append ${uses} first and update; docs/operations/keys.md has the steps`,
    );
  if (to.includes(used)) return [];
  return refuse(
    path,
    to,
    `drops ${used}, which ${verb} until now: ${needed}`,
    `${uses} first, ${used} behind it`,
    `keep ${used} in second place until ${until}; docs/operations/keys.md has the steps`,
  );
}
