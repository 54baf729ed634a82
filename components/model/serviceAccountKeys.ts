import { createHash, createPublicKey } from "node:crypto";

/** Service account key of every cluster without the setting: ECDSA P-256. All others are RSA. */
export const firstServiceAccountKey = "ecdsa";

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
