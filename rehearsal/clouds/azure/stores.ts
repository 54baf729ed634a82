import { createHash } from "node:crypto";
import { z } from "zod";
import { fromJson } from "../../../components/model/json.ts";
import type { SimulatedAccount, SimulatedVault } from "../../../plan/fakes/azureAccess.ts";
import type { SimulatedMachine } from "../../../plan/fakes/machines.ts";
import { type EndpointAnswer, type EndpointHandler, type EndpointRequest, pageOf } from "../server.ts";
import type { AzureIdentity } from "./metadata.ts";
import { type AzureCaller, type AzureCloud, azureError, jsonAnswer, type StoredValue } from "./state.ts";

/** Largest value of a secret, in bytes (Key Vault, "Secrets": 25 kB). */
const secretLimit = 25_600;

const putSchema = z.strictObject({ value: z.string() });

/** The secrets of a Key Vault, of which each write makes a new version (Key Vault REST API, Get Secret, Set Secret). */
export function keyVault(
  cloud: AzureCloud,
  vault: SimulatedVault,
  by: AzureCaller | string,
  request: EndpointRequest,
): EndpointAnswer {
  if (typeof by === "string") return azureError(401, "Unauthorized", by);
  if (!vault.admits(by.host.subnet)) return azureError(403, "ForbiddenByFirewall");
  const [path = "", query = ""] = request.url.split("?");
  if (new URLSearchParams(query).get("api-version") !== "7.4")
    return azureError(400, "BadParameter", "no simulation but of api-version 7.4");
  if (request.method === "GET" && path === "/secrets") return list(cloud, vault, by, new URLSearchParams(query));
  const name = /^\/secrets\/([0-9a-zA-Z-]{1,127})$/.exec(path)?.[1];
  if (name === undefined || (request.method !== "GET" && request.method !== "PUT"))
    return azureError(404, "NotFound", `no simulation of ${request.method} ${path}`);
  const action = `Microsoft.KeyVault/vaults/secrets/${request.method === "GET" ? "getSecret" : "setSecret"}/action`;
  if (!by.allowed({ action, plane: "data", resource: `${vault.id}/secrets/${name}` })) return forbidden(action);
  const url = `https://${vault.host}/secrets/${name}`;
  return request.method === "GET" ? read(cloud, url, name) : write(cloud, url, request.body);
}

const forbidden = (action: string): EndpointAnswer => azureError(403, "ForbiddenByRbac", action);

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
  if (stored === undefined) return azureError(404, "SecretNotFound", name);
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
  return jsonAnswer(200, { value, id: `${url}/${id}`, attributes: { enabled: true, recoveryLevel: "Recoverable" } });
}

/** First version of the service that takes tokens (Azure Storage, "Authorize with Microsoft Entra ID"). */
const firstVersion = "2017-11-09";
const actions = "Microsoft.Storage/storageAccounts/blobServices/containers/blobs";

/** The blobs of a storage account: Put Blob, Get Blob, List Blobs (Blob service REST API). */
export function blobStore(
  cloud: AzureCloud,
  account: SimulatedAccount,
  by: AzureCaller | string,
  request: EndpointRequest,
): EndpointAnswer {
  if (typeof by === "string") return azureError(401, "InvalidAuthenticationInfo", by);
  const version = request.headers["x-ms-version"] ?? "";
  if (!/^\d{4}-\d\d-\d\d$/.test(version) || version < firstVersion)
    return azureError(400, "MissingRequiredHeader", "x-ms-version");
  if (!account.admits(by.host.subnet)) return azureError(403, "AuthorizationFailure");
  const [rawPath = "", search = ""] = request.url.split("?");
  const [, container = "", ...rest] = decodeURIComponent(rawPath).split("/");
  const query = new URLSearchParams(search);
  const name = rest.join("/");
  const resource = `${account.id}/blobServices/default/containers/${container}`;
  const allowed = (verb: string) => by.allowed({ action: `${actions}/${verb}`, plane: "data", resource });
  const denied = azureError(403, "AuthorizationPermissionMismatch");
  const known = account.containers.includes(container);
  const missing = azureError(404, "ContainerNotFound");
  const key = `${account.host}/${container}/${name}`;
  if (name === "") {
    if (request.method !== "GET" || query.get("restype") !== "container" || query.get("comp") !== "list")
      return azureError(404, "ResourceNotFound", `no simulation of ${request.method} ${request.url}`);
    if (!allowed("read")) return denied;
    return known ? listBlobs(cloud, key, query) : missing;
  }
  switch (request.method) {
    case "PUT":
      if (request.headers["x-ms-blob-type"] !== "BlockBlob")
        return azureError(400, "MissingRequiredHeader", "x-ms-blob-type");
      if (!allowed("write")) return denied;
      if (!known) return missing;
      cloud.blobs.set(key, request.body);
      return { status: 201 };
    case "GET": {
      if (!allowed("read")) return denied;
      const blob = cloud.blobs.get(key);
      return blob === undefined ? azureError(404, "BlobNotFound", name) : { status: 200, body: blob };
    }
    default:
      return azureError(405, "UnsupportedHttpVerb", request.method);
  }
}

function listBlobs(cloud: AzureCloud, container: string, query: URLSearchParams): EndpointAnswer {
  const names = [...cloud.blobs.keys()]
    .filter((key) => key.startsWith(container))
    .map((key) => key.slice(container.length));
  const prefix = query.get("prefix") ?? "";
  const page = pageOf(names, prefix, query.get("marker"));
  if (page === undefined) return azureError(400, "InvalidQueryParameterValue", "marker");
  const blobs = page.names.map((name) => `<Blob><Name>${name}</Name></Blob>`).join("");
  return {
    status: 200,
    body: `\ufeff<?xml version="1.0" encoding="utf-8"?><EnumerationResults><Prefix>${prefix}</Prefix><Blobs>${blobs}</Blobs><NextMarker>${page.next}</NextMarker></EnumerationResults>`,
  };
}

/** Reads a secret as a machine's scripts do: with a token from the metadata service, by any of its identities. */
export async function readSecret(
  machine: SimulatedMachine,
  url: string,
  identities: readonly AzureIdentity[],
  { metadata, endpoints }: { readonly metadata: EndpointHandler; readonly endpoints: EndpointHandler },
): Promise<string> {
  const common = { caller: machine.privateIp, method: "GET", body: Buffer.alloc(0) };
  let refusal = `${machine.id} has no identity`;
  for (const { clientId } of identities) {
    const query = `api-version=2018-02-01&client_id=${clientId}&resource=https%3A%2F%2Fvault.azure.net`;
    const token = await metadata({
      ...common,
      host: "169.254.169.254",
      url: `/metadata/identity/oauth2/token?${query}`,
      headers: { metadata: "true" },
    });
    const { host, pathname } = new URL(url);
    const answer = await endpoints({
      ...common,
      host,
      url: `${pathname}?api-version=7.4`,
      headers: { authorization: `Bearer ${told(token).access_token}` },
    });
    if (answer.status === 200) return told(answer).value;
    refusal = `${url} for ${machine.id}: ${answer.status} ${String(answer.body ?? "")}`;
  }
  throw new Error(refusal);
}

const answerSchema = z.looseObject({ access_token: z.string().default(""), value: z.string().default("") });

const told = ({ body }: EndpointAnswer) => answerSchema.parse(fromJson(String(body)));
