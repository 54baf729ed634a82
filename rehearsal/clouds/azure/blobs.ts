import type { SimulatedAccount } from "../../../plan/fakes/azureAccess.ts";
import { type EndpointAnswer, type EndpointRequest, pageOf } from "../server.ts";
import type { AzureCaller, AzureCloud } from "./state.ts";

/** First version of the service that takes tokens (Azure Storage, "Authorize with Microsoft Entra ID"). */
const firstVersion = "2017-11-09";
const actions = "Microsoft.Storage/storageAccounts/blobServices/containers/blobs";

/** The blobs of a storage account: Put Blob, Get Blob, Delete Blob, List Blobs (Blob service REST API). */
export function blobStore(
  cloud: AzureCloud,
  account: SimulatedAccount,
  by: AzureCaller | string,
  request: EndpointRequest,
): EndpointAnswer {
  if (typeof by === "string") return failure(401, "InvalidAuthenticationInfo", by);
  const version = request.headers["x-ms-version"] ?? "";
  if (!/^\d{4}-\d\d-\d\d$/.test(version) || version < firstVersion)
    return failure(400, "MissingRequiredHeader", `x-ms-version must be ${firstVersion} or later with a token`);
  if (!account.admits(by.host.subnet))
    return failure(403, "AuthorizationFailure", "This request is not authorized to perform this operation.");
  const [rawPath = "", search = ""] = request.url.split("?");
  const [, container = "", ...rest] = decodeURIComponent(rawPath).split("/");
  const query = new URLSearchParams(search);
  const name = rest.join("/");
  const resource = `${account.id}/blobServices/default/containers/${container}`;
  const allowed = (verb: string) => by.allowed({ action: `${actions}/${verb}`, plane: "data", resource });
  const denied = failure(403, "AuthorizationPermissionMismatch", "This request is not authorized by this permission.");
  const known = account.containers.includes(container);
  const missing = failure(404, "ContainerNotFound", `The container ${container} does not exist.`);
  const key = `${account.host}/${container}/${name}`;
  if (name === "") {
    if (request.method !== "GET" || query.get("restype") !== "container" || query.get("comp") !== "list")
      return failure(404, "ResourceNotFound", `no simulation of ${request.method} ${request.url}`);
    if (!allowed("read")) return denied;
    return known ? list(cloud, key, query) : missing;
  }
  switch (request.method) {
    case "PUT":
      if (request.headers["x-ms-blob-type"] !== "BlockBlob")
        return failure(400, "MissingRequiredHeader", "x-ms-blob-type must be BlockBlob");
      if (!allowed("write")) return denied;
      if (!known) return missing;
      cloud.blobs.set(key, request.body);
      return { status: 201 };
    case "GET": {
      if (!allowed("read")) return denied;
      const blob = cloud.blobs.get(key);
      return blob === undefined ? failure(404, "BlobNotFound", `${name} does not exist.`) : { status: 200, body: blob };
    }
    case "DELETE":
      if (!allowed("delete")) return denied;
      return cloud.blobs.delete(key) ? { status: 202 } : failure(404, "BlobNotFound", `${name} does not exist.`);
    default:
      return failure(405, "UnsupportedHttpVerb", request.method);
  }
}

function list(cloud: AzureCloud, container: string, query: URLSearchParams): EndpointAnswer {
  const names = [...cloud.blobs.keys()]
    .filter((key) => key.startsWith(container))
    .map((key) => key.slice(container.length));
  const prefix = query.get("prefix") ?? "";
  const page = pageOf(names, prefix, query.get("marker"));
  if (page === undefined) return failure(400, "InvalidQueryParameterValue", "The marker is not that of a page.");
  const blobs = page.names.map((name) => `<Blob><Name>${name}</Name></Blob>`).join("");
  return {
    status: 200,
    body: `\ufeff<?xml version="1.0" encoding="utf-8"?><EnumerationResults><Prefix>${prefix}</Prefix><Blobs>${blobs}</Blobs><NextMarker>${page.next}</NextMarker></EnumerationResults>`,
  };
}

function failure(status: number, code: string, message: string): EndpointAnswer {
  return {
    status,
    headers: { "content-type": "application/xml", "x-ms-error-code": code },
    body: `<?xml version="1.0" encoding="utf-8"?><Error><Code>${code}</Code><Message>${message}</Message></Error>`,
  };
}
