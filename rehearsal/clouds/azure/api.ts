import { same } from "../../../plan/fakes/azureAccess.ts";
import type { AzureHost } from "../../../plan/fakes/azureMachines.ts";
import { uuid } from "../../../plan/fakes/identifiers.ts";
import { type EndpointAnswer, type EndpointHandler, type EndpointRequest, pageOf } from "../server.ts";
import { type AzureCaller, type AzureCloud, azureError, jsonAnswer } from "./state.ts";
import { blobStore, keyVault } from "./stores.ts";

export const managementHost = "management.azure.com";

/**
 * The simulated endpoints of Azure: a request needs a token for the right resource, and its identity's roles decide.
 */
export function azureApi(cloud: AzureCloud): EndpointHandler {
  return (request) => {
    const host = cloud.hostAt(request.caller);
    if (host === undefined) return { status: 404, body: `no endpoint ${request.host} for ${request.caller}` };
    const as = (audiences: readonly string[]) => caller(cloud, host, request, audiences);
    const vault = cloud.vaults.find((item) => same(item.host, request.host));
    if (vault !== undefined) return keyVault(cloud, vault, as(["https://vault.azure.net"]), request);
    const account = cloud.accounts.find((item) => same(item.host, request.host));
    if (account !== undefined) {
      return blobStore(cloud, account, as(["https://storage.azure.com", `https://${account.host}`]), request);
    }
    if (request.host === managementHost)
      return resourceManager(
        cloud,
        as(["https://management.azure.com", "https://management.core.windows.net"]),
        request,
      );
    return { status: 404, body: `no endpoint ${request.host}` };
  };
}

function caller(
  cloud: AzureCloud,
  host: AzureHost,
  request: EndpointRequest,
  audiences: readonly string[],
): AzureCaller | string {
  const claims = cloud.tokens.read(request.headers.authorization, audiences, Date.now());
  if (typeof claims === "string") return claims;
  return {
    host,
    allowed: (asked) => {
      const yes = cloud.authorize(claims.principalId, asked);
      const { action, resource } = asked;
      cloud.calls.push({ machine: host.machine.id, action, resource, allowed: yes });
      return yes;
    },
  };
}

function resourceManager(cloud: AzureCloud, by: AzureCaller | string, request: EndpointRequest): EndpointAnswer {
  if (typeof by === "string") return azureError(401, "AuthenticationFailed", by);
  const [path = "", search = ""] = request.url.split("?");
  const query = new URLSearchParams(search);
  if (!query.has("api-version")) return azureError(400, "MissingApiVersionParameter");
  const isMachine = /^\/subscriptions\/.+\/virtualMachineScaleSets\/[^/]+\/virtualMachines\/\d+$/i.test(path);
  if (isMachine && request.method === "GET") return scaleSetMachine(cloud, by, path);
  const page = request.method === "GET" ? listPage(cloud, by, path, query) : undefined;
  return page ?? azureError(501, "NotImplemented", `no simulation of ${request.method} ${path}`);
}

/** An instance of a scale set (Azure REST API, Virtual Machine Scale Set VMs - Get), as far as it is read. */
function scaleSetMachine(cloud: AzureCloud, by: AzureCaller, id: string): EndpointAnswer {
  const action = "Microsoft.Compute/virtualMachineScaleSets/virtualMachines/read";
  if (!by.allowed({ action, plane: "control", resource: id })) return unauthorized(action);
  const host = [...cloud.hosts()].find(({ resourceId }) => same(resourceId, id));
  if (host === undefined) return azureError(404, "NotFound", id);
  return jsonAnswer(200, machineOf(cloud, host));
}

const unauthorized = (action: string): EndpointAnswer => azureError(403, "AuthorizationFailed", action);

/** A VM, or an instance of a scale set (Azure REST API, Virtual Machine Scale Set VMs). */
function machineOf(cloud: AzureCloud, host: AzureHost): object {
  const model = cloud.modelOf(host);
  return {
    id: host.resourceId,
    name: host.resourceName,
    instanceId: host.resourceId.split("/").at(-1),
    zones: host.machine.zone === "" ? [] : [host.machine.zone],
    // Whether a set's tags are at once those of its instances is not documented: the worse case.
    tags: model.tags,
    properties: {
      ...(host.machine.group !== undefined && { latestModelApplied: model.userData.equals(host.machine.userData) }),
      // A number that comes back is another machine.
      vmId: uuid(host.machine.urn, host.resourceId, cloud.madeAt(host).toISOString()),
      osProfile: { computerName: host.computerName },
      storageProfile: { osDisk: { osType: host.os === "windows" ? "Windows" : "Linux" } },
      // Without it the cloud controller takes the machine for gone (cloud-provider-azure v1.36.5, azure_vmss_cache.go).
      networkProfile: { networkInterfaces: [{ id: cardId(host) }] },
      provisioningState: "Succeeded",
      // As the resource manager writes times: seven digits of a second, and an offset.
      timeCreated: cloud.madeAt(host).toISOString().replace("Z", "0000+00:00"),
    },
  };
}

const cardId = ({ resourceId }: AzureHost): string => `${resourceId}/networkInterfaces/address`;

function cardOf(host: AzureHost): object {
  const addresses = [host.machine.privateIp, ...(host.machine.secondaryIps ?? [])];
  return {
    id: cardId(host),
    properties: {
      // Lists write ids in another case than the resource itself.
      virtualMachine: { id: host.resourceId.toUpperCase() },
      ipConfigurations: addresses.map((privateIPAddress) => ({ properties: { privateIPAddress } })),
    },
  };
}

const setPath =
  /^(\/subscriptions\/[^/]+\/resourceGroups\/[^/]+\/providers\/Microsoft\.Compute\/virtualMachineScaleSets\/[^/]+)/i;
const ofSet = (host: AzureHost): string | undefined => setPath.exec(host.resourceId)?.[1];

/** Lists by path, with the action that reads them. */
const lists: readonly {
  readonly path: RegExp;
  readonly action: string;
  readonly items: (hosts: readonly AzureHost[], cloud: AzureCloud, set: string) => ReadonlyMap<string, object>;
}[] = [
  {
    path: /\/Microsoft\.Compute\/virtualMachineScaleSets$/i,
    action: "Microsoft.Compute/virtualMachineScaleSets/read",
    items: (hosts, cloud) =>
      new Map(
        cloud.scaleSets().map(({ id, computerNamePrefix }) => {
          const capacity = hosts.filter((host) => same(ofSet(host), id)).length;
          const networkProfile = { networkInterfaceConfigurations: [] };
          const virtualMachineProfile = { osProfile: { computerNamePrefix }, networkProfile };
          const properties = { orchestrationMode: "Uniform", provisioningState: "Succeeded", virtualMachineProfile };
          return [id, { id, name: id.split("/").at(-1), sku: { capacity }, etag: '"1"', properties }];
        }),
      ),
  },
  {
    path: /\/Microsoft\.Compute\/virtualMachineScaleSets\/[^/]+\/virtualMachines$/i,
    action: "Microsoft.Compute/virtualMachineScaleSets/virtualMachines/read",
    items: (hosts, cloud, set) =>
      new Map(hosts.filter((host) => same(ofSet(host), set)).map((host) => [host.resourceId, machineOf(cloud, host)])),
  },
  {
    path: /\/Microsoft\.Compute\/virtualMachineScaleSets\/[^/]+\/networkInterfaces$/i,
    action: "Microsoft.Compute/virtualMachineScaleSets/networkInterfaces/read",
    items: (hosts, _, set) =>
      new Map(hosts.filter((host) => same(ofSet(host), set)).map((host) => [host.resourceId, cardOf(host)])),
  },
  {
    path: /\/Microsoft\.Compute\/virtualMachines$/i,
    action: "Microsoft.Compute/virtualMachines/read",
    items: (hosts, cloud) =>
      new Map(
        hosts.filter((host) => ofSet(host) === undefined).map((host) => [host.resourceId, machineOf(cloud, host)]),
      ),
  },
  {
    path: /\/Microsoft\.Network\/networkInterfaces$/i,
    action: "Microsoft.Network/networkInterfaces/read",
    items: (hosts) =>
      new Map(hosts.filter((host) => ofSet(host) === undefined).map((host) => [host.resourceId, cardOf(host)])),
  },
];

/** A page of a list that machines read; `undefined` for other paths. */
function listPage(
  cloud: AzureCloud,
  by: AzureCaller,
  path: string,
  query: URLSearchParams,
): EndpointAnswer | undefined {
  const list = lists.find((each) => each.path.test(path));
  if (list === undefined) return undefined;
  if (!by.allowed({ action: list.action, plane: "control", resource: path })) return unauthorized(list.action);
  const items = list.items([...cloud.hosts()], cloud, setPath.exec(path)?.[1] ?? "");
  const page = pageOf(items.keys(), "", query.get("$skiptoken"));
  if (page === undefined) return azureError(400, "InvalidSkipToken", "the token is of no page");
  const next = new URLSearchParams({ "api-version": query.get("api-version") ?? "", $skiptoken: page.next });
  return jsonAnswer(200, {
    value: page.names.map((name) => items.get(name)),
    ...(page.next !== "" && { nextLink: `https://management.azure.com${path}?${next}` }),
  });
}
