import { same } from "../../../plan/fakes/azureAccess.ts";
import type { AzureHost } from "../../../plan/fakes/azureMachines.ts";
import { uuid } from "../../../plan/fakes/identifiers.ts";
import { pageOf } from "../pages.ts";
import type { EndpointAnswer } from "../server.ts";
import { azureError } from "./answers.ts";
import type { AzureCaller, AzureCloud } from "./state.ts";

/** A machine as the resource manager has it: a VM, or an instance of a scale set (Azure REST API, Virtual Machine Scale Set VMs). */
export function machineOf(cloud: AzureCloud, host: AzureHost): object {
  return {
    id: host.resourceId,
    name: host.resourceName,
    instanceId: host.resourceId.split("/").at(-1),
    zones: host.machine.zone === "" ? [] : [host.machine.zone],
    properties: {
      // A number that comes back is another machine.
      vmId: uuid(host.machine.urn, host.resourceId, cloud.madeAt(host).toISOString()),
      osProfile: { computerName: host.computerName },
      storageProfile: { osDisk: { osType: host.os === "windows" ? "Windows" : "Linux" } },
      provisioningState: cloud.deleting.has(host.resourceId.toLowerCase()) ? "Deleting" : "Succeeded",
      // Seven digits of a second and an offset, as the resource manager writes times.
      timeCreated: cloud.madeAt(host).toISOString().replace("Z", "0000+00:00"),
    },
  };
}

function cardOf(host: AzureHost): object {
  const addresses = [host.machine.privateIp, ...(host.machine.secondaryIps ?? [])];
  return {
    id: `${host.resourceId}/networkInterfaces/address`,
    properties: {
      // Lists write ids in another case than the resource itself.
      virtualMachine: { id: host.resourceId.toUpperCase() },
      ipConfigurations: addresses.map((privateIPAddress) => ({ properties: { privateIPAddress } })),
    },
  };
}

const setPath = /^(\/subscriptions\/[^/]+\/resourceGroups\/[^/]+\/providers\/Microsoft\.Compute\/virtualMachineScaleSets\/[^/]+)/i;
const ofSet = (host: AzureHost): string | undefined => setPath.exec(host.resourceId)?.[1];

/** Size and version of a scale set. */
export function setOf(cloud: AzureCloud, id: string): { readonly capacity: number; readonly etag: number } {
  return cloud.sets.get(id.toLowerCase()) ?? { capacity: [...cloud.hosts()].filter((host) => same(ofSet(host), id)).length, etag: 1 };
}

/** Lists: what each path has, the action that reads it, and the versions of the API that know it. */
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
        hosts.flatMap((host): readonly [string, object][] => {
          const id = ofSet(host);
          if (id === undefined) return [];
          const { capacity, etag } = setOf(cloud, id);
          return [[id, { id, name: id.split("/").at(-1), sku: { capacity }, etag: `"${etag}"` }]];
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
    items: (hosts, _, set) => new Map(hosts.filter((host) => same(ofSet(host), set)).map((host) => [host.resourceId, cardOf(host)])),
  },
  {
    path: /\/Microsoft\.Compute\/virtualMachines$/i,
    action: "Microsoft.Compute/virtualMachines/read",
    items: (hosts, cloud) =>
      new Map(hosts.filter((host) => ofSet(host) === undefined).map((host) => [host.resourceId, machineOf(cloud, host)])),
  },
  {
    path: /\/Microsoft\.Network\/networkInterfaces$/i,
    action: "Microsoft.Network/networkInterfaces/read",
    items: (hosts) => new Map(hosts.filter((host) => ofSet(host) === undefined).map((host) => [host.resourceId, cardOf(host)])),
  },
];

/** A page of one of the lists that a cluster's machines read; `undefined` for any other path. */
export function listPage(cloud: AzureCloud, by: AzureCaller, path: string, query: URLSearchParams): EndpointAnswer | undefined {
  const list = lists.find((each) => each.path.test(path));
  if (list === undefined) return undefined;
  if (!by.allowed({ action: list.action, plane: "control", resource: path }))
    return azureError(403, "AuthorizationFailed", `The client does not have authorization to perform ${list.action}`);
  if (cloud.faults.throttled > 0) {
    cloud.faults.throttled -= 1;
    return { ...azureError(429, "TooManyRequests", "too many requests"), headers: { "retry-after": "3" } };
  }
  const hosts = [...cloud.hosts()].filter(({ machine }) => !cloud.faults.hidden.has(machine.id));
  const items = list.items(hosts, cloud, setPath.exec(path)?.[1] ?? "");
  const page = pageOf(items.keys(), "", query.get("$skiptoken"));
  if (page === undefined) return azureError(400, "InvalidSkipToken", "the token is of no page");
  const next = new URLSearchParams({ "api-version": query.get("api-version") ?? "", $skiptoken: page.next });
  return {
    status: 200,
    headers: { "content-type": "application/json; charset=utf-8" },
    body: JSON.stringify({
      value: page.names.map((name) => items.get(name)),
      ...(page.next === "" ? {} : { nextLink: `https://management.azure.com${path}?${next}` }),
    }),
  };
}
