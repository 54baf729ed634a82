import { z } from "zod";
import { same } from "../../../plan/fakes/azureAccess.ts";
import type { EndpointAnswer, EndpointRequest } from "../server.ts";
import { azureError } from "./answers.ts";
import { setOf } from "./lists.ts";
import type { AzureCaller, AzureCloud } from "./state.ts";

const compute = "Microsoft.Compute/virtualMachineScaleSets";
const deletion = z.strictObject({ instanceIds: z.array(z.string()).min(1) });
const resize = z.strictObject({ sku: z.strictObject({ capacity: z.number().int().min(0) }) });

/**
 * Changes of a scale set (Azure REST API, Virtual Machine Scale Sets: Delete Instances, Update): deleting lowers the size by itself, one
 * change at a time, and `If-Match` holds a change back that was made for an older set. `undefined` for any other request.
 */
export function changeSet(cloud: AzureCloud, by: AzureCaller, path: string, request: EndpointRequest): EndpointAnswer | undefined {
  const [, id = "", tail] = /^(\/subscriptions\/.+\/virtualMachineScaleSets\/[^/]+)(\/delete)?$/i.exec(path) ?? [];
  const isDeletion = request.method === "POST" && tail !== undefined;
  if (id === "" || !(isDeletion || (request.method === "PATCH" && tail === undefined))) return undefined;
  const action = isDeletion ? `${compute}/delete/action` : `${compute}/write`;
  if (!by.allowed({ action, plane: "control", resource: id }))
    return azureError(403, "AuthorizationFailed", `The client does not have authorization to perform ${action}`);
  const { capacity, etag } = setOf(cloud, id);
  const wanted = request.headers["if-match"];
  if (wanted !== undefined && wanted !== `"${etag}"`) return azureError(412, "PreconditionFailed", "The etag of the set is another one");
  const own = [...cloud.hosts()].filter(({ resourceId }) => same(resourceId.replace(/\/virtualMachines\/\d+$/i, ""), id));
  if (own.some(({ resourceId }) => cloud.deleting.has(resourceId.toLowerCase())))
    return azureError(409, "Conflict", "Another operation on the set is in progress");
  const content: unknown = JSON.parse(request.body.toString("utf8"));
  if (!isDeletion) {
    cloud.sets.set(id.toLowerCase(), { capacity: resize.parse(content).sku.capacity, etag: etag + 1 });
    return { status: 202 };
  }
  const ids = deletion.parse(content).instanceIds;
  const found = own.filter(({ resourceId }) => ids.includes(resourceId.split("/").at(-1) ?? ""));
  if (found.length < ids.length) return azureError(400, "InstanceIdsListInstanceIdNotActiveVM", "an instance is not active");
  cloud.sets.set(id.toLowerCase(), { capacity: capacity - ids.length, etag: etag + 1 });
  for (const host of found) cloud.end(host);
  return { status: 202 };
}
