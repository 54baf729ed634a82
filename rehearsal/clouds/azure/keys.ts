import { z } from "zod";
import { parsed } from "../../../components/gates/apiProbe.ts";
import type { SimulatedVault } from "../../../plan/fakes/azureAccess.ts";
import type { EndpointAnswer } from "../server.ts";
import { azureError } from "./answers.ts";
import type { AzureCaller, AzureCloud } from "./state.ts";

const schema = z.strictObject({ alg: z.literal("RSA-OAEP-256"), value: z.base64url() });
/** Most bytes that RSA-OAEP-256 encrypts with a key of 2,048 bits, the shortest of Key Vault (RFC 8017, 7.1.1). */
const plaintextLimit = 190;

/** A path of the use of a version of a key. */
const path = /^\/keys\/([0-9a-zA-Z-]{1,127})\/([0-9a-f]{32})\/(encrypt|decrypt)$/;

/**
 * Use of a key (Key Vault REST API, Encrypt and Decrypt). Every key that is named exists.
 *
 * @returns `undefined` for any other path
 */
export function useOfKey(
  cloud: AzureCloud,
  vault: SimulatedVault,
  by: AzureCaller,
  request: { readonly method: string; readonly path: string; readonly body: Buffer },
): EndpointAnswer | undefined {
  const [, name, version, operation] = path.exec(request.path) ?? [];
  if (operation === undefined || request.method !== "POST") return undefined;
  const action = `Microsoft.KeyVault/vaults/keys/${operation}/action`;
  if (!by.allowed({ action, plane: "data", resource: `${vault.id}/keys/${name}` }))
    return azureError(403, "Forbidden", `Caller is not authorized to perform action ${action}`, "ForbiddenByRbac");
  const input = schema.safeParse(parsed(request.body.toString("utf8")));
  if (!input.success) return azureError(400, "BadParameter", "the body is no operation of a key");
  const kid = `https://${vault.host}/keys/${name}/${version}`;
  const value = Buffer.from(input.data.value, "base64url");
  if (operation === "encrypt" && value.length > plaintextLimit)
    return azureError(400, "BadParameter", `the value has more than ${plaintextLimit} bytes`);
  const result = operation === "encrypt" ? cloud.keys.seal(kid, value) : cloud.keys.open(kid, value);
  if (result === undefined) return azureError(400, "BadParameter", "the value was not encrypted by this key");
  return {
    status: 200,
    headers: { "content-type": "application/json; charset=utf-8" },
    body: JSON.stringify({ kid, value: result.toString("base64url") }),
  };
}
