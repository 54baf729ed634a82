import { same } from "../../../plan/fakes/azureAccess.ts";
import type { AzureHost } from "../../../plan/fakes/azureMachines.ts";
import type { EndpointAnswer, EndpointHandler, EndpointRequest } from "../server.ts";
import { azureError } from "./answers.ts";
import { blobStore } from "./blobs.ts";
import { listPage, machineOf } from "./lists.ts";
import { changeSet } from "./sets.ts";
import type { AzureCaller, AzureCloud } from "./state.ts";
import { keyVault } from "./vault.ts";

/** Name of the resource manager's server. */
export const managementHost = "management.azure.com";

/** The simulated endpoints of Azure: each request needs a token for the right resource, and the roles of its identity decide. */
export function azureApi(cloud: AzureCloud): EndpointHandler {
  return (request) => {
    const host = cloud.hostAt(request.caller);
    if (host === undefined) return { status: 404, body: `no endpoint ${request.host} for ${request.caller}` };
    const as = (audiences: readonly string[]) => caller(cloud, host, request, audiences);
    const vault = cloud.vaults.find((item) => same(item.host, request.host));
    if (vault !== undefined) return keyVault(cloud, vault, as(["https://vault.azure.net"]), host, request);
    const account = cloud.accounts.find((item) => same(item.host, request.host));
    if (account !== undefined) {
      return blobStore(cloud, account, as(["https://storage.azure.com", `https://${account.host}`]), request);
    }
    if (request.host === managementHost)
      return resourceManager(cloud, as(["https://management.azure.com", "https://management.core.windows.net"]), request);
    return { status: 404, body: `no endpoint ${request.host}` };
  };
}

function caller(cloud: AzureCloud, host: AzureHost, request: EndpointRequest, audiences: readonly string[]): AzureCaller | string {
  const claims = cloud.tokens.read(request.headers.authorization, audiences, Date.now());
  if (typeof claims === "string") return claims;
  return {
    host,
    allowed: (asked) => {
      const yes = cloud.authorize(claims.principalId, asked);
      const { action, resource } = asked;
      cloud.calls.push({ machine: host.machine.id, action, resource, allowed: yes, status: yes ? 200 : 403 });
      return yes;
    },
  };
}

/** What machines ask of the resource manager: lists of machines, and one instance of a scale set. */
function resourceManager(cloud: AzureCloud, by: AzureCaller | string, request: EndpointRequest): EndpointAnswer {
  if (typeof by === "string") return azureError(401, "AuthenticationFailed", by);
  const [path = "", search = ""] = request.url.split("?");
  const query = new URLSearchParams(search);
  if (!query.has("api-version"))
    return azureError(400, "MissingApiVersionParameter", "The api-version query parameter (?api-version=) is required.");
  const machine = /^(\/subscriptions\/.+\/virtualMachineScaleSets\/[^/]+\/virtualMachines\/\d+)$/i.exec(path)?.[1];
  if (machine !== undefined && request.method === "GET") return scaleSetMachine(cloud, by, machine);
  const change = changeSet(cloud, by, path, request);
  if (change !== undefined) return change;
  const page = request.method === "GET" ? listPage(cloud, by, path, query) : undefined;
  return page ?? azureError(404, "NotFound", `no simulation of ${request.method} ${path}`);
}

/** An instance of a scale set (Azure REST API, Virtual Machine Scale Set VMs - Get), with what its readers use. */
function scaleSetMachine(cloud: AzureCloud, by: AzureCaller, id: string): EndpointAnswer {
  const action = "Microsoft.Compute/virtualMachineScaleSets/virtualMachines/read";
  if (!by.allowed({ action, plane: "control", resource: id }))
    return azureError(403, "AuthorizationFailed", `The client does not have authorization to perform ${action}`);
  const host = [...cloud.hosts()].find(({ resourceId }) => same(resourceId, id));
  if (host === undefined) return azureError(404, "NotFound", `The entity was not found: ${id}`);
  return { status: 200, headers: { "content-type": "application/json; charset=utf-8" }, body: JSON.stringify(machineOf(cloud, host)) };
}
