import { randomBytes } from "node:crypto";
import type { AzureRequest, SimulatedAccount, SimulatedVault } from "../../../plan/fakes/azureAccess.ts";
import type { AzureHost } from "../../../plan/fakes/azureMachines.ts";
import type { SimulatedMachine } from "../../../plan/fakes/machines.ts";
import type { CloudCall } from "../cloud.ts";
import type { EndpointAnswer } from "../server.ts";

/** A secret of a simulated vault. */
export interface StoredValue {
  value: string;
  /** Grows with each write. */
  version: number;
}

/** What the simulated endpoints of Azure work on. */
export interface AzureCloud {
  readonly hostAt: (address: string) => AzureHost | undefined;
  /** All machines that there are now. */
  readonly hosts: () => Iterable<AzureHost>;
  /** All scale sets, those without a machine too. */
  readonly scaleSets: () => readonly { readonly id: string; readonly computerNamePrefix: string }[];
  readonly madeAt: (host: AzureHost) => Date;
  /** Newest model of a machine's set: who came from it has its user data. */
  readonly modelOf: (host: AzureHost) => SimulatedMachine;
  readonly tokens: TokenIssuer;
  readonly authorize: (principalId: string, request: AzureRequest) => boolean;
  readonly vaults: readonly SimulatedVault[];
  /** Secrets by their URL without version. */
  readonly secrets: Map<string, StoredValue>;
  readonly accounts: readonly SimulatedAccount[];
  /** Blobs by `<server>/<container>/<name>`. */
  readonly blobs: Map<string, Buffer>;
  readonly calls: CloudCall[];
}

/** A call of a machine whose token was right. */
export interface AzureCaller {
  readonly host: AzureHost;
  /** Whether the roles allow it; recorded either way. */
  readonly allowed: (request: AzureRequest) => boolean;
}

export function jsonAnswer(status: number, body: unknown): EndpointAnswer {
  return { status, headers: { "content-type": "application/json; charset=utf-8" }, body: JSON.stringify(body) };
}

/**
 * The error document that Azure's services have in common, of which machines read the code; of Blob Storage they read
 * the status alone.
 */
export function azureError(status: number, code: string, message = code): EndpointAnswer {
  return jsonAnswer(status, { error: { code, message } });
}

interface TokenClaims {
  /** Its resource: `https://vault.azure.net`. */
  readonly audience: string;
  /** Object id of the identity. */
  readonly principalId: string;
  /** Milliseconds since the epoch. */
  readonly expires: number;
}

/** Life of a managed identity's token, in milliseconds: a day. */
const tokenLifeMs = 24 * 3_600_000;

/** Access tokens of a simulated tenant; whoever bears one may use it. */
export class TokenIssuer {
  readonly #tokens = new Map<string, TokenClaims>();

  issue(audience: string, principalId: string, now: number): { readonly token: string; readonly claims: TokenClaims } {
    const claims = { audience, principalId, expires: now + tokenLifeMs };
    // Real ones are JSON Web Tokens of about this length.
    const token = `eyJ0eXAiOiJKV1QiLCJhbGciOiJSUzI1NiJ9.${randomBytes(900).toString("base64url")}.${randomBytes(256).toString("base64url")}`;
    this.#tokens.set(token, claims);
    return { token, claims };
  }

  /**
   * What a request's bearer token says, or why it is refused.
   * @param audiences resources that the server answers for
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
