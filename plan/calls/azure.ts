import { isPropertyMap, type PropertyValue, textOf } from "../../components/gates/resources.ts";
import type { AzureRequest } from "../fakes/azureAccess.ts";
import type { RecordedResource } from "../program/recorded.ts";
import type { Operation } from "./operation.ts";

export interface DeployerRequest extends AzureRequest {
  /** Id of the role that is given or taken away. */
  readonly role?: string;
}

/**
 * What a reference needs on its target (Azure RBAC, linked access checks; Azure documentation, permissions of
 * networking).
 */
const linked: readonly (readonly [type: RegExp, action: string])[] = [
  [/^Microsoft\.Network\/(?!privateDnsZones)/i, "join/action"],
  [/^Microsoft\.ManagedIdentity\/userAssignedIdentities$/i, "assign/action"],
];

/**
 * The calls behind azure-native's PUT, GET or DELETE of an id (pulumi/pulumi-azure-native,
 * provider/pkg/provider/provider.go), and what its references need. A blob needs its account's keys
 * (provider/pkg/resources/customresources/custom_storage_azidentity.go, `newBlobClient`).
 */
export function azureActions(
  { type, id, inputs, read }: RecordedResource,
  operation: Operation,
): readonly DeployerRequest[] {
  const resource = id ?? read ?? "";
  const of = (action: string, on = resource): DeployerRequest => ({ action, plane: "control", resource: on });
  if (type === "azure-native:storage:Blob") {
    const account = resource.split("/").slice(0, 9).join("/");
    return [of("Microsoft.Storage/storageAccounts/listKeys/action", account)];
  }
  const own = typeOf(resource);
  const reading = of(`${own}/read`);
  if (operation === "read") return [reading];
  const role = type.endsWith(":RoleAssignment") ? textOf(inputs.roleDefinitionId)?.split("/").at(-1) : undefined;
  const change = {
    ...of(`${own}/${operation === "delete" ? "delete" : "write"}`),
    ...(role === undefined ? {} : { role }),
  };
  if (operation === "delete") return [change];
  const references = idsIn(Object.values(inputs)).flatMap((each) =>
    linked.filter(([pattern]) => pattern.test(typeOf(each))).map(([, action]) => of(`${typeOf(each)}/${action}`, each)),
  );
  return [change, reading, ...(type.startsWith("azure-native:authorization:") ? [] : references)];
}

/** `Microsoft.Network/virtualNetworks/subnets` of an id. */
function typeOf(id: string): string {
  const [, inside] = /.*\/providers\/(.+)$/i.exec(id) ?? [];
  if (inside === undefined) return "Microsoft.Resources/subscriptions/resourceGroups";
  const [namespace, ...parts] = inside.split("/");
  return [namespace, ...parts.filter((_, place) => place % 2 === 0)].join("/");
}

function idsIn(values: readonly PropertyValue[]): readonly string[] {
  return values.flatMap((value): readonly string[] => {
    if (Array.isArray(value)) return idsIn(value);
    if (isPropertyMap(value)) return [...idsIn(Object.values(value)), ...idsIn(Object.keys(value))];
    return typeof value === "string" &&
      /^\/subscriptions\/[^/]+\/resourceGroups\/[^/]+\/providers\/[^\s]+$/i.test(value)
      ? [value]
      : [];
  });
}
