import { createHash, createPublicKey } from "node:crypto";
import { type Problem, refuse } from "./problem.ts";

/** Key of every cluster without `secretsEncryption`. etcd has its name in each value, so it never changes. */
export const firstEncryptionKey = "key1";

/** Service account key of every cluster without the setting: ECDSA P-256. All others are RSA. */
export const firstServiceAccountKey = "ecdsa";

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

export interface SecretsEncryption {
  /** The first one encrypts, all decrypt. */
  readonly keys: readonly string[];
}

/** Whether machines have the one key of clusters without `secretsEncryption`, in its original files. */
export function isFirstKeyAlone({ keys }: SecretsEncryption): boolean {
  return keys.join() === firstEncryptionKey;
}

/**
 * Name of a key's entry in the secret store.
 *
 * @param first name of the first key's entry
 */
export function encryptionSecret(first: string, key: string): string {
  return key === firstEncryptionKey ? first : `${first}-${key}`;
}

/**
 * Initial value of secrets that machines write: the join secret and the `initialised` marker. Machines read it as "not
 * written yet". The program creates the entry, so that destroying the stack removes it, and then ignores its value.
 */
export const secretPlaceholder = "unwritten";

export interface ServiceAccountTokens {
  /** Accepted public keys, PEM, if several; the first belongs to the private key that signs. */
  readonly publicKeys: readonly string[];
  /** URL that clouds know the cluster by, `iss` of its tokens. */
  readonly issuer?: string | undefined;
}

/** Path of the discovery document below an issuer (OpenID Connect Discovery 1.0, section 4). */
export const discoveryPath = ".well-known/openid-configuration";
/**
 * The API server's path of the key set below an issuer (kubernetes/kubernetes: pkg/serviceaccount/openidmetadata.go).
 */
export const keySetPath = "openid/v1/jwks";

export function keySetUrl(issuer: string): string {
  return `${issuer.replace(/\/$/, "")}/${keySetPath}`;
}

/**
 * The key set as the API server serves it (kubernetes/kubernetes: pkg/serviceaccount/jwks.go, publicJWKSFromKeys). A
 * key's id is the SHA-256 of its DER (jwt.go, keyIDFromPublicKey).
 *
 * @param publicKeys PEM, RSA or P-256
 */
export function keySet(publicKeys: readonly string[]): string {
  return JSON.stringify({ keys: publicKeys.map(webKey) });
}

export function discoveryDocument(issuer: string, publicKeys: readonly string[]): string {
  return JSON.stringify({
    issuer,
    jwks_uri: keySetUrl(issuer),
    response_types_supported: ["id_token"],
    subject_types_supported: ["public"],
    id_token_signing_alg_values_supported: [...new Set(publicKeys.map((key) => webKey(key).alg))].sort(),
  });
}

function webKey(pem: string) {
  const key = createPublicKey(pem);
  const kid = createHash("sha256")
    .update(key.export({ type: "spki", format: "der" }))
    .digest("base64url");
  const alg = key.asymmetricKeyType === "rsa" ? "RS256" : "ES256";
  return { use: "sig", kid, alg, ...key.export({ format: "jwk" }) };
}

/** Prefix of an issuer's user and group names in Kubernetes. */
export function signInPrefix({ name }: { readonly name: string }): string {
  return `${name}:`;
}

/** Group of the administrators' kubeconfig: the next generation takes all earlier ones' rights. */
export const administratorsGroup = (generation: number): string => `fenestra:administrators-${generation}`;
