import { createInterface } from "node:readline";
import { Readable } from "node:stream";
import type { RegionPrices } from "../../plan/cost/prices.ts";

type Row = Readonly<Record<string, string>>;

/** Fields of a line of CSV as AWS writes it: in quotation marks, doubled inside; an empty one has none. */
function fields(line: string): readonly string[] {
  return [...line.matchAll(/(?:^|,)(?:"((?:[^"]|"")*)"|([^,]*))/g)].map(([, quoted, bare = ""]) =>
    quoted === undefined ? bare : quoted.replaceAll('""', '"'),
  );
}

/**
 * Rows on demand of a price list (AWS Price List Bulk API, "Reading the service price list file": a few lines about the file, then a head that
 * begins with SKU). Read line by line, since the list of EC2 has hundreds of megabytes.
 *
 * @throws Error when it is not such a list
 */
async function* rowsOf(url: string): AsyncGenerator<Row> {
  const response = await fetch(url, { signal: AbortSignal.timeout(600_000) });
  if (!response.ok || response.body === null) throw new Error(`${url}: HTTP ${response.status}`);
  let head: readonly string[] | undefined;
  for await (const line of createInterface({ input: Readable.fromWeb(response.body) })) {
    if (head === undefined) {
      if (line.startsWith('"SKU"')) head = fields(line);
    } else if (line.includes('"OnDemand"')) {
      const values = fields(line);
      yield Object.fromEntries(head.map((name, index) => [name, values[index] ?? ""]));
    }
  }
  if (head === undefined) throw new Error(`${url}: it is not a price list`);
}

const price = (row: Row): number => Number(row.PricePerUnit);

/** Prices of a region for these sizes, from the offers of EC2, VPC and KMS below `base`. What a list does not have is left out. */
export async function awsPrices(base: string, region: string, sizes: readonly string[]): Promise<Partial<RegionPrices>> {
  const list = (offer: string): string => `${base}/offers/v1.0/aws/${offer}/current/${region}/index.csv`;
  const found: Record<string, number> = {};
  const linux: Record<string, number> = {};
  const windows: Record<string, { readonly hour: number; readonly vcpus: number }> = {};
  for await (const row of rowsOf(list("AmazonEC2"))) {
    const size = row["Instance Type"] ?? "";
    const plain = row.Tenancy === "Shared" && row.CapacityStatus === "Used" && row["Pre Installed S/W"] === "NA";
    if (plain && sizes.includes(size) && row.Unit === "Hrs" && row.StartingRange === "0") {
      if (row.operation === "RunInstances") linux[size] = price(row);
      // Windows with its licence; with one of your own it has another operation.
      if (row.operation === "RunInstances:0002") windows[size] = { hour: price(row), vcpus: Number(row.vCPU) };
    }
    if (row["Volume API Name"] === "gp3" && row["Product Family"] === "Storage") found.diskGibMonth = price(row);
    if (/(^|-)NatGateway-Hours$/.test(row.usageType ?? "") && row.Unit === "Hrs") found.natHour = price(row);
    if (row["Product Family"] === "Load Balancer-Network" && /(^|-)LoadBalancerUsage$/.test(row.usageType ?? ""))
      found.balancerHour = price(row);
  }
  for await (const row of rowsOf(list("AmazonVPC")))
    if (/(^|-)PublicIPv4:InUseAddress$/.test(row.usageType ?? "")) found.addressHour = price(row);
  for await (const row of rowsOf(list("awskms"))) if (/-KMS-Keys$/.test(row.usageType ?? "")) found.keyMonth = price(row);
  const licences = Object.entries(windows).flatMap(([size, { hour, vcpus }]) => {
    const plain = linux[size];
    return plain === undefined ? [] : [Number(((hour - plain) / vcpus).toFixed(6))];
  });
  const [windowsVcpuHour] = licences;
  return { ...found, machineHour: linux, ...(windowsVcpuHour === undefined ? {} : { windowsVcpuHour }) };
}
