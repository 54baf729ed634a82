import {
  type KnownResource,
  mapOf,
  numberOf,
  type PropertyMap,
  type Resources,
  resourcesOfType,
  textOf,
} from "../../values.ts";
import { type MachineNeed, type Needs, type NeedsOf, type Place, settingOf, texts } from "../needs.ts";

export interface AzureMachine extends MachineNeed {
  /** Profile of a scale set's machines, or the inputs of a VM. */
  readonly profile: PropertyMap;
}

export interface AzureNeeds extends Needs<AzureMachine> {
  /** `/subscriptions/ID`. */
  readonly subscription: string;
  /** Id of the resource group, and whether the program makes it. */
  readonly group: { readonly id: string; readonly isMade: boolean };
}

export function azureNeeds<Program extends Resources>(
  program: Program,
  { region, accountId }: Place,
): NeedsOf<AzureNeeds> & { readonly program: Program } {
  const of = (type: string) => resourcesOfType(program, `azure-native:${type}`);
  const [group] = of("resources:ResourceGroup");
  const open = of("network:LoadBalancer").some((each) => JSON.stringify(each.inputs).includes("publicIPAddress"));
  const own = of("network:VirtualNetwork").flatMap(({ inputs, outputs }) =>
    texts(mapOf(outputs.addressSpace ?? inputs.addressSpace).addressPrefixes),
  );
  // In place of ranges; of what is connected with the network nobody knows more.
  const all = ["0.0.0.0/0"];
  const words: Readonly<Record<string, readonly string[]>> = { VirtualNetwork: own, Internet: all, "*": all };
  const from = (name: RegExp) =>
    of("network:SecurityRule")
      .filter((rule) => name.test(rule.name) && rule.inputs.access === "Allow")
      .flatMap(({ inputs }) => words[textOf(inputs.sourceAddressPrefix) ?? ""] ?? texts(inputs.sourceAddressPrefixes));
  const tags = mapOf(
    of("compute:VirtualMachineScaleSet")[0]?.inputs.tags ?? of("compute:VirtualMachine")[0]?.inputs.tags,
  );
  return {
    cluster: textOf(tags["fenestra:cluster"]) ?? "",
    region,
    accountId,
    program,
    greeting: ["Microsoft.Resources/subscriptions/read", path(`/subscriptions/${accountId}`, "2022-12-01")],
    machines: [
      ...of("compute:VirtualMachine").map((each) => vm(each)),
      ...of("compute:VirtualMachineScaleSet").map((each) => scaleSet(each)),
    ],
    publicAccess: open ? from(/-api-from-allowed$/) : undefined,
    privateAccess: from(/-api-from-network$/),
    subscription: `/subscriptions/${accountId}`,
    group: { id: group?.id ?? "", isMade: group?.read === undefined },
  };
}

function vm({ name, inputs }: KnownResource): AzureMachine {
  return {
    ...{ setting: settingOf(name), profile: inputs, count: 1, surge: 0, most: 1, spot: false },
    sizes: texts([mapOf(inputs.hardwareProfile).vmSize ?? null]),
    zones: texts(inputs.zones),
    diskGib: diskSizeOf(inputs),
  };
}

function scaleSet({ name, inputs }: KnownResource): AzureMachine {
  const profile = mapOf(inputs.virtualMachineProfile);
  const count = numberOf(mapOf(inputs.sku).capacity) ?? 0;
  const rolling = mapOf(mapOf(inputs.upgradePolicy).rollingUpgradePolicy);
  const percent = numberOf(rolling.maxBatchInstancePercent) ?? 20;
  return {
    ...{ setting: settingOf(name), profile, count, most: count },
    sizes: texts([mapOf(inputs.sku).name ?? null]),
    surge: rolling.maxSurge === true ? Math.ceil((count * percent) / 100) : 0,
    spot: profile.priority === "Spot",
    zones: texts(inputs.zones),
    diskGib: diskSizeOf(profile),
  };
}

function diskSizeOf(profile: PropertyMap): number {
  return numberOf(mapOf(mapOf(profile.storageProfile).osDisk).diskSizeGB) ?? 0;
}

export const path = (at: string, version: string): string => `${at}?api-version=${version}`;
