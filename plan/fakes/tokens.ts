import { createLocalJWKSet, decodeJwt, type JWTPayload, jwtVerify } from "jose";
import { z } from "zod";
import { discoveryPath } from "../../components/model/keyLists.ts";

const discoverySchema = z.object({ issuer: z.string(), jwks_uri: z.url({ protocol: /^https$/ }) });
const keySetSchema = z.object({ keys: z.array(z.looseObject({ kty: z.string() })).max(100) });

export interface TokenRules {
  readonly issuer: string;
  readonly audience: string;
  readonly algorithms: readonly string[];
  readonly read: (url: string) => string | undefined;
}

/** The claim `iss`, unverified. */
export function issuerOf(token: string): string | undefined {
  return decodeJwt(token).iss;
}

/**
 * Claims that its issuer's published keys have signed (OpenID Connect Discovery 1.0, section 4.3; RFC 7519).
 *
 * @throws Error when the documents cannot be read or contradict the issuer, or the token is not valid
 */
export async function verifiedClaims(token: string, rules: TokenRules): Promise<JWTPayload> {
  const document = (url: string): unknown => {
    const found = rules.read(url);
    if (found === undefined) throw new Error(`not everybody may read ${url}`);
    return JSON.parse(found);
  };
  const discovery = discoverySchema.parse(document(`${rules.issuer}/${discoveryPath}`));
  if (discovery.issuer !== rules.issuer) throw new Error(`${rules.issuer} says that it is ${discovery.issuer}`);
  const keys = keySetSchema.parse(document(discovery.jwks_uri));
  const { payload } = await jwtVerify(token, createLocalJWKSet(keys), {
    issuer: rules.issuer,
    audience: rules.audience,
    algorithms: [...rules.algorithms],
  });
  return payload;
}
