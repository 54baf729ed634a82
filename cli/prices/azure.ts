import { z } from "zod";
import type { RegionPrices } from "../../plan/cost/prices.ts";

const itemSchema = z.looseObject({
  retailPrice: z.number(),
  armSkuName: z.string().nullish(),
  productName: z.string(),
  skuName: z.string(),
  meterName: z.string(),
  type: z.string(),
});
type Item = z.output<typeof itemSchema>;

/** A page of Azure Retail Prices (Microsoft documentation, "Azure Retail Prices overview": at most 1,000 items, then NextPageLink). */
const pageSchema = z.looseObject({ Items: z.array(itemSchema), NextPageLink: z.string().nullish() });

/** Most pages of one question. */
const mostPages = 20;

async function itemsOf(base: string, filter: string): Promise<readonly Item[]> {
  const items: Item[] = [];
  let next: string | null | undefined = `${base}/api/retail/prices?$filter=${encodeURIComponent(filter)}`;
  for (let page = 0; next && page < mostPages; page++) {
    const response = await fetch(next, { signal: AbortSignal.timeout(60_000) });
    if (!response.ok) throw new Error(`${new URL(next).host}: HTTP ${response.status}`);
    const read = pageSchema.parse(await response.json());
    items.push(...read.Items.filter(({ type }) => type === "Consumption"));
    next = read.NextPageLink;
  }
  return items;
}

/** GiB of the tiers of Premium SSD (Azure documentation, managed disk types). */
const tiers = { P1: 4, P2: 8, P3: 16, P4: 32, P6: 64, P10: 128, P15: 256, P20: 512, P30: 1024, P40: 2048, P50: 4096 };

/** Prices of a region for these sizes, each with its processors. What the interface does not have is left out. */
export async function azurePrices(base: string, region: string, sizes: ReadonlyMap<string, number>): Promise<Partial<RegionPrices>> {
  const here = `armRegionName eq '${region}' and priceType eq 'Consumption'`;
  // Names of sizes come from the stack file, whose rules take letters, digits, hyphens and underscores.
  const names = [...sizes.keys()].map((size) => `armSkuName eq '${size}'`).join(" or ");
  const machines = await itemsOf(base, `serviceName eq 'Virtual Machines' and ${here} and (${names})`);
  const plain = machines.filter(({ skuName }) => !/Spot|Low Priority/.test(skuName));
  const hourOf = (size: string, windows: boolean): number | undefined =>
    plain.find(({ armSkuName, productName }) => armSkuName === size && /Windows$/.test(productName) === windows)?.retailPrice;
  const licences = [...sizes].flatMap(([size, vcpus]) => {
    const [own, bare] = [hourOf(size, true), hourOf(size, false)];
    return own === undefined || bare === undefined ? [] : [Number(((own - bare) / vcpus).toFixed(6))];
  });
  const disks = await itemsOf(base, `serviceName eq 'Storage' and productName eq 'Premium SSD Managed Disks' and ${here}`);
  const diskMonth = Object.fromEntries(
    Object.entries(tiers).flatMap(([tier, gib]) => {
      const found = disks.find(({ meterName }) => meterName === `${tier} LRS Disk`);
      return found === undefined ? [] : [[String(gib), found.retailPrice]];
    }),
  );
  // These two are sold for all regions alike.
  const global = "armRegionName eq 'Global' and priceType eq 'Consumption'";
  const meter = async (service: string, name: string, place: string): Promise<number | undefined> =>
    (await itemsOf(base, `serviceName eq '${service}' and meterName eq '${name}' and ${place}`))[0]?.retailPrice;
  const others = {
    windowsVcpuHour: licences[0],
    natHour: await meter("NAT Gateway", "Standard Gateway", global),
    balancerHour: await meter("Load Balancer", "Standard Included LB Rules and Outbound Rules", global),
    addressHour: await meter("Virtual Network", "Standard IPv4 Static Public IP", here),
  };
  const machineHour = [...sizes.keys()].flatMap((size) => {
    const hour = hourOf(size, false);
    return hour === undefined ? [] : [[size, hour] as const];
  });
  return {
    machineHour: Object.fromEntries(machineHour),
    ...(Object.keys(diskMonth).length === 0 ? {} : { diskMonth }),
    ...Object.fromEntries(Object.entries(others).filter(([, found]) => found !== undefined)),
  };
}
