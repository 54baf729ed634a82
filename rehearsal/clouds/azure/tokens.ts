import { randomBytes } from "node:crypto";

/** What a token says. */
interface TokenClaims {
  /** Resource that it is for: `https://vault.azure.net`. */
  readonly audience: string;
  /** Object id of the identity. */
  readonly principalId: string;
  /** Milliseconds since the epoch. */
  readonly expires: number;
}

/** How long a managed identity's token lives, in milliseconds: a day. */
const tokenLifeMs = 24 * 3_600_000;

/** Access tokens of a simulated tenant. Whoever bears one may use it, as in the real one. */
export class TokenIssuer {
  readonly #tokens = new Map<string, TokenClaims>();

  /** A new token for a resource. */
  issue(audience: string, principalId: string, now: number): { readonly token: string; readonly claims: TokenClaims } {
    const claims = { audience, principalId, expires: now + tokenLifeMs };
    // Real ones are JSON Web Tokens of about this length.
    const token = `eyJ0eXAiOiJKV1QiLCJhbGciOiJSUzI1NiJ9.${randomBytes(900).toString("base64url")}.${randomBytes(256).toString("base64url")}`;
    this.#tokens.set(token, claims);
    return { token, claims };
  }

  /**
   * What the bearer token of a request says, or why it is refused.
   *
   * @param audiences resources that the server answers for.
   */
  read(authorization: string | undefined, audiences: readonly string[], now: number): TokenClaims | string {
    const token = /^Bearer (\S+)$/.exec(authorization ?? "")?.[1];
    if (token === undefined) return "Request is missing a Bearer token";
    const claims = this.#tokens.get(token);
    if (claims === undefined) return "The token is not one of this tenant";
    if (claims.expires <= now) return "The token has expired";
    if (!audiences.includes(claims.audience.replace(/\/$/, "")))
      return `Invalid audience. Expected ${audiences.join(", ")}, found: ${claims.audience}`;
    return claims;
  }
}
