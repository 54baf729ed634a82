import { awsOwners } from "../../components/aws/owners.ts";
import { azureOwners } from "../../components/azure/owners.ts";
import type { Owners } from "../../components/model/cloudFacts/facts.ts";

/** Who owns the lists and mappings among the inputs of a type. */
export function ownersOf(type: string): Owners {
  const table = /^(pulumi:providers:)?azure-native(:|$)/.test(type) ? azureOwners : awsOwners;
  const [every, own] = [table["*"], table[type]];
  return { ...every, ...own, contested: { ...every?.contested, ...own?.contested } };
}

/** What of others stops a deletion, by type, on a cloud by the beginning of its types. */
export function heldTypes(cloud: string) {
  return Object.entries({ ...awsOwners, ...azureOwners }).flatMap(([type, { heldBy }]) =>
    heldBy !== undefined && type.startsWith(cloud) ? [[type, heldBy] as const] : [],
  );
}
