import { createHash } from "node:crypto";
import { z } from "zod";
import { fromJson } from "../../../components/model/json.ts";
import type { SimulatedVault } from "../../../plan/fakes/azureAccess.ts";
import type { AzureHost } from "../../../plan/fakes/azureMachines.ts";
import { type EndpointAnswer, type EndpointRequest, pageOf } from "../server.ts";
import { type AzureCaller, type AzureCloud, azureError, jsonAnswer, type StoredValue } from "./state.ts";

/** Largest value of a secret, in bytes (Key Vault, "Secrets": 25 kB). */
const secretLimit = 25_600;
const versions = ["7.2", "7.3", "7.4", "7.5", "7.6", "2025-07-01"];

const putSchema = z.strictObject({
  value: z.string(),
  contentType: z.string().optional(),
  tags: z.record(z.string(), z.string()).optional(),
  attributes: z.looseObject({}).optional(),
});

/** The secrets of a Key Vault, of which each write makes a new version (Key Vault REST API, Get Secret, Set Secret). */
export function keyVault(
  cloud: AzureCloud,
  vault: SimulatedVault,
  by: AzureCaller | string,
  host: AzureHost,
  request: EndpointRequest,
): EndpointAnswer {
  if (typeof by === "string") {
    return {
      ...azureError(401, "Unauthorized", `AKV10000: ${by}`),
      headers: {
        "www-authenticate": 'Bearer authorization="https://login.windows.net/", resource="https://vault.azure.net"',
      },
    };
  }
  if (!vault.admits(host.subnet))
    return azureError(
      403,
      "Forbidden",
      "Client address is not authorized and caller is not a trusted service.",
      "ForbiddenByFirewall",
    );
  const [path = "", query = ""] = request.url.split("?");
  if (!versions.includes(new URLSearchParams(query).get("api-version") ?? ""))
    return azureError(400, "BadParameter", "api-version must be specified and known");
  if (request.method === "GET" && path === "/secrets") return list(cloud, vault, by, new URLSearchParams(query));
  const name = /^\/secrets\/([0-9a-zA-Z-]{1,127})$/.exec(path)?.[1];
  if (name === undefined || (request.method !== "GET" && request.method !== "PUT"))
    return azureError(404, "NotFound", `no simulation of ${request.method} ${path}`);
  const verb = request.method === "GET" ? "getSecret" : "setSecret";
  const action = `Microsoft.KeyVault/vaults/secrets/${verb}/action`;
  if (!by.allowed({ action, plane: "data", resource: `${vault.id}/secrets/${name}` })) return forbidden(action);
  const url = `https://${vault.host}/secrets/${name}`;
  return request.method === "GET" ? read(cloud, url, name) : write(cloud, url, request.body);
}

const forbidden = (action: string): EndpointAnswer =>
  azureError(403, "Forbidden", `Caller is not authorized to perform action ${action}`, "ForbiddenByRbac");

/** Get Secrets: a vault's secrets without values, in pages whose address has the port too. */
function list(cloud: AzureCloud, vault: SimulatedVault, by: AzureCaller, query: URLSearchParams): EndpointAnswer {
  const action = "Microsoft.KeyVault/vaults/secrets/readMetadata/action";
  if (!by.allowed({ action, plane: "data", resource: vault.id })) return forbidden(action);
  const page = pageOf(cloud.secrets.keys(), `https://${vault.host}/secrets/`, query.get("$skiptoken"));
  if (page === undefined) return azureError(400, "BadParameter", "the page is none of this list");
  const next = `https://${vault.host}:443/secrets?api-version=7.4&$skiptoken=${encodeURIComponent(page.next)}`;
  return jsonAnswer(200, {
    value: page.names.map((id) => ({ id, attributes: { enabled: true } })),
    nextLink: page.next === "" ? null : next,
  });
}

function read(cloud: AzureCloud, url: string, name: string): EndpointAnswer {
  const stored = cloud.secrets.get(url);
  if (stored === undefined)
    return azureError(404, "SecretNotFound", `A secret with (name/id) ${name} was not found in this key vault.`);
  return bundle(url, stored);
}

function write(cloud: AzureCloud, url: string, body: Buffer): EndpointAnswer {
  const input = putSchema.safeParse(fromJson(body.toString("utf8")));
  if (!input.success) return azureError(400, "BadParameter", "the body is not a secret");
  const { value } = input.data;
  if (Buffer.byteLength(value) > secretLimit)
    return azureError(400, "BadParameter", `the value has more than ${secretLimit} bytes`);
  const stored = { value, version: (cloud.secrets.get(url)?.version ?? 0) + 1 };
  cloud.secrets.set(url, stored);
  return bundle(url, stored);
}

function bundle(url: string, { value, version }: StoredValue): EndpointAnswer {
  const id = createHash("sha256").update(`${url}/${version}`).digest("hex").slice(0, 32);
  const attributes = { enabled: true, recoveryLevel: "Recoverable" };
  return jsonAnswer(200, { value, id: `${url}/${id}`, attributes });
}
