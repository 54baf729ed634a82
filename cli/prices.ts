import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { loadConfig } from "../components/config/load.ts";
import { readStackFile, stackNames, stacksFolder } from "../components/config/stackFile.ts";
import { type ClusterSpec, clusterSpec } from "../components/model/clusterSpec.ts";
import { type Prices, pricesSchema, type RegionPrices } from "../plan/cost/prices.ts";
import { type Command, exitCodes, type Terminal, UsageError } from "./exit.ts";
import { awsPrices } from "./prices/aws.ts";
import { azurePrices } from "./prices/azure.ts";

const help = `Usage: fenestra prices [options]

Asks the clouds' public price lists for the regions and machine sizes of all stacks, and writes them to plan/cost/prices.json. Needs the
network, and no account. The list of EC2 has some hundred megabytes for each region.

  --aws URL          in place of https://pricing.us-east-1.amazonaws.com
  --azure URL        in place of https://prices.azure.com
  --dry-run          print the file in place of writing it
`;

/** \`fenestra prices\`. */
export const pricesCommand: Command = {
  summary: "Fetch the clouds' list prices for the estimates of the plan",
  help,
  run: async (args, terminal) => {
    const { values } = parseArgs({
      args: [...args],
      options: {
        aws: { type: "string", default: "https://pricing.us-east-1.amazonaws.com" },
        azure: { type: "string", default: "https://prices.azure.com" },
        "dry-run": { type: "boolean", default: false },
      },
    });
    const file = fileURLToPath(new URL("../plan/cost/prices.json", import.meta.url));
    const specs = stackNames().map((stack) => clusterSpec(loadConfig(readStackFile(stack, stacksFolder))));
    const before = pricesSchema.parse(JSON.parse(readFileSync(file, "utf8")));
    const day = new Date().toISOString().slice(0, 10);
    const text = `${JSON.stringify(await refreshed(before, specs, values, day, terminal), null, 2)}\n`;
    if (values["dry-run"]) terminal.out(text);
    else writeFileSync(file, text);
    return exitCodes.fine;
  },
};

/**
 * The prices with those of every region of the clusters fetched again. What the lists do not have is removed: an old figure under a new day
 * would be wrong.
 *
 * @throws UsageError when a list cannot be had
 */
export async function refreshed(
  before: Prices,
  specs: readonly ClusterSpec[],
  from: { readonly aws: string; readonly azure: string },
  day: string,
  { err }: Pick<Terminal, "err">,
): Promise<Prices> {
  const regions: Record<string, RegionPrices> = { ...before.regions };
  for (const [key, members] of Map.groupBy(specs, ({ cloud, region }) => `${cloud}/${region}`)) {
    const sizes = new Map(
      members.flatMap(({ controlPlane, pools }) =>
        [controlPlane.size, ...pools.map(({ size }) => size)].map(({ name, vcpus }) => [name, vcpus] as const),
      ),
    );
    const [first] = members;
    if (first === undefined) continue;
    try {
      const found =
        first.cloud === "aws"
          ? await awsPrices(from.aws, first.region, [...sizes.keys()])
          : await azurePrices(from.azure, first.region, sizes);
      const source = first.cloud === "aws" ? "AWS Price List Bulk API" : "Azure Retail Prices API";
      regions[key] = pricesSchema.shape.regions.valueType.parse({ date: day, source, machineHour: {}, ...found });
    } catch (error) {
      throw new UsageError(`the prices of ${key} cannot be had: ${error instanceof Error ? error.message : error}`);
    }
    const missing = [...sizes.keys()].filter((size) => regions[key]?.machineHour[size] === undefined);
    err(`${key}: ${sizes.size - missing.length} sizes${missing.length === 0 ? "" : `, unknown: ${missing.join(", ")}`}\n`);
  }
  return { ...before, regions };
}
