import { createHash, createPublicKey } from "node:crypto";

/** Name of the key of service accounts that every cluster without the setting has: ECDSA P-256. All others are RSA. */
export const firstServiceAccountKey = "ecdsa";

export interface ServiceAccountTokens {
  /** Public keys that are accepted, PEM, when there are several. The first is that of the private key that signs. */
  readonly publicKeys: readonly string[];
  /** URL that clouds know the cluster by; tokens have it in `iss`. */
  readonly issuer?: string | undefined;
}

/** Path of the discovery document below an issuer (OpenID Connect Discovery 1.0, section 4). */
export const discoveryPath = ".well-known/openid-configuration";
/**
 * Path of the key set below an issuer, as the API server has it (kubernetes/kubernetes:
 * pkg/serviceaccount/openidmetadata.go).
 */
export const keySetPath = "openid/v1/jwks";

export function keySetUrl(issuer: string): string {
  return `${issuer.replace(/\/$/, "")}/${keySetPath}`;
}

/**
 * The key set of service accounts as the API server serves it (kubernetes/kubernetes: pkg/serviceaccount/jwks.go,
 * publicJWKSFromKeys). A key's id is the SHA-256 of its DER (jwt.go, keyIDFromPublicKey).
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
