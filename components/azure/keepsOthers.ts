import * as pulumi from "@pulumi/pulumi";
import { z } from "zod";
import { skipVariable } from "../gates/startGate.ts";
import { at } from "../model/json.ts";
import { messageOf } from "../model/messages.ts";
import { azureOwners } from "./owners.ts";

/** A resource as Azure has it now, by its id. */
export type ReadResource = (id: string, apiVersion: string) => Promise<unknown>;

/** What the SDK, or the program of a machine, sends where nobody else says anything. */
export const filledIn: Readonly<Record<string, unknown>> = {
  "identity.type": "UserAssigned",
  enableDdosProtection: false,
  enableVmProtection: false,
  privateEndpointNetworkPolicies: "Disabled",
  privateLinkServiceNetworkPolicies: "Enabled",
};

const resource = z.looseObject({ properties: z.looseObject({}).default({}) });

/** What differs without anybody's doing. */
const unsteady = /^(etag|provisioningState|type|name)$/;

/** Values that are set, each with the last name on its way: they are where the SDK and Azure agree. */
function settings(value: unknown, name = ""): readonly string[] {
  if (Array.isArray(value)) return value.flatMap((item) => settings(item, name));
  if (typeof value === "object" && value !== null)
    return Object.entries(value).flatMap(([key, inner]) => (unsteady.test(key) ? [] : settings(inner, key)));
  return value ? [`${name}=${value}`.toLowerCase()] : [];
}

/**
 * Inputs that somebody has set since the state was read, and that this update would take off.
 * @param update the state, and what is sent
 */
export function takenOff(
  type: string,
  update: readonly (Readonly<Record<string, unknown>> | undefined)[],
  live: unknown,
): readonly string[] {
  const { left, contested = {} } = azureOwners[type] ?? {};
  const { properties, ...top } = resource.parse(live ?? {});
  return [...(left?.inputs ?? []), ...Object.keys(contested)].filter((name) => {
    const known = new Set(update.flatMap((each) => settings(each?.[name], name)));
    return settings(properties[name] ?? top[name], name).some((each) => !known.has(each));
  });
}

/**
 * Leaves to others what the table of owners says. Of an ignored input the engine sends the state's value, which is what
 * a refresh has read: where nobody has read, an update of a network or subnet stops, in its preview too.
 *
 * @param read what cannot be read is told, and the update goes on
 */
export function keepsOthers(name: string, read: ReadResource): pulumi.ResourceTransformation {
  const hook = new pulumi.ResourceHook(
    name,
    async ({ urn, id, type, oldOutputs, newInputs }) => {
      if (process.env[skipVariable]?.split(",").includes("all") === true) return;
      const live = await read(id, String(oldOutputs?.azureApiVersion)).catch((error: unknown) => {
        void pulumi.log.warn(`whether others set something on ${id} is not asked: ${messageOf(error)}`);
      });
      const found = takenOff(type, [oldOutputs, newInputs], live);
      if (found.length > 0)
        throw new Error(
          `${id}: somebody has set ${found.join(", ")} there, which this update does not know and would take off. Read it, ` +
            `look at the preview, and update again: pulumi refresh --target '${urn}'. Then a change of ` +
            "networkSecurityGroup, natGateway and dhcpOptions is shown, and the rest stays (docs/platform.md)",
        );
    },
    { onDryRun: true },
  );
  return ({ type, props, opts }) => {
    const { left, asks } = azureOwners[type] ?? {};
    if (left === undefined || opts.id !== undefined) return undefined;
    // The SDK wraps some of an account's inputs, sent or not.
    const isWrapped = (value: unknown) => /:StorageAccount$/.test(type) && pulumi.Output.isInstance(value);
    const ignoreChanges = left.inputs.filter(
      (input) => at(props, input) === filledIn[input] || isWrapped(props[input]),
    );
    const hooks = asks === true ? { hooks: { beforeUpdate: [hook] } } : {};
    return { props, opts: pulumi.mergeOptions(opts, { ignoreChanges, ...hooks }) };
  };
}
