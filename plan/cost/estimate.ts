import { z } from "zod";
import type { ClusterSpec } from "../../components/model/clusterSpec.ts";
import { counted } from "../counted.ts";
import { type RecordedProgram, resourcesOfType } from "../program/recorded.ts";
import { listOf } from "../program/values.ts";
import type { Prices, RegionPrices } from "./prices.ts";

/** Hours of a month, as the clouds' calculators count them. */
const hours = 730;

const month = z.number().nonnegative().nullable();

/** What a stack costs in a month of 730 hours, in US dollars: an estimate, from list prices on demand. */
export const costSchema = z
  .strictObject({
    date: z.string().nullable().describe("Day of the prices; null when the region has none."),
    lines: z
      .array(
        z
          .strictObject({
            what: z.string().describe("A pool by its name, or what is paid for."),
            month: month.describe("US dollars a month; null when a price is unknown."),
          })
          .readonly(),
      )
      .readonly(),
    known: z.number().nonnegative().describe("Sum of the lines that are known."),
    complete: z.boolean().describe("Whether every line is known."),
  })
  .readonly();

/** An estimate. */
export type Cost = z.output<typeof costSchema>;

/**
 * Estimates what the program's own resources cost: machines at their first number, their licences and disks, NAT gateways, load balancers of
 * the API, public addresses, keys. Traffic, snapshots and what Services and claims make later are not in it.
 */
export function estimateCost(spec: ClusterSpec, program: RecordedProgram, prices: Prices): Cost {
  const region = prices.regions[`${spec.cloud}/${spec.region}`];
  if (region === undefined) return { date: null, lines: [], known: 0, complete: false };
  const { controlPlane } = spec;
  const lines = [
    {
      what: "control plane",
      month: times(
        controlPlane.members.length,
        sum([
          machineMonth(region, controlPlane.size, false),
          diskMonth(region, controlPlane.osDiskGb),
          diskMonth(region, controlPlane.etcdDiskGb),
        ]),
      ),
    },
    ...spec.pools.map((pool) => {
      // The price of spare capacity is the market's.
      const machine = pool.spot ? null : machineMonth(region, pool.size, pool.os === "windows");
      return { what: pool.name, month: times(pool.count, sum([machine, diskMonth(region, pool.diskGb)])) };
    }),
    ...otherLines(spec, program, region),
  ];
  const known = lines.reduce((total, line) => total + (line.month ?? 0), 0);
  return { date: region.date, lines, known: cents(known), complete: lines.every((line) => line.month !== null) };
}

function otherLines(spec: ClusterSpec, program: RecordedProgram, region: RegionPrices): Cost["lines"] {
  // By the gigabyte, which only the workloads know.
  const { logs } = spec.addons;
  const volume: Cost["lines"] =
    logs?.cloudwatch === undefined && logs?.azureMonitor === undefined ? [] : [{ what: "logs by their volume", month: null }];
  const count = (type: string): number => resourcesOfType(program, type).length;
  const perHour = (what: string, number: number, price: number | undefined): Cost["lines"] =>
    number === 0 ? [] : [{ what: counted(number, what), month: times(number, monthly(price)) }];
  if (spec.cloud === "azure")
    return [
      ...perHour("NAT gateway", count("azure-native:network:NatGateway"), region.natHour),
      ...perHour("load balancer", count("azure-native:network:LoadBalancer"), region.balancerHour),
      ...perHour("public address", count("azure-native:network:PublicIPAddress"), region.addressHour),
      ...volume,
    ];
  const keys = count("aws:kms/key:Key");
  const balancers = resourcesOfType(program, "aws:lb/loadBalancer:LoadBalancer");
  const open = balancers.filter(({ inputs }) => inputs.internal === false);
  const addresses = open.reduce((total, { inputs }) => total + listOf(inputs.subnets).length, count("aws:ec2/eip:Eip"));
  const endpoints = resourcesOfType(program, "aws:ec2/vpcEndpoint:VpcEndpoint").filter(
    ({ inputs }) => inputs.vpcEndpointType === "Interface",
  );
  return [
    ...perHour("NAT gateway", count("aws:ec2/natGateway:NatGateway"), region.natHour),
    ...perHour("load balancer", balancers.length, region.balancerHour),
    ...perHour("public address", addresses, region.addressHour),
    ...perHour("interface endpoint", endpoints.length, undefined),
    { what: counted(keys, "key"), month: times(keys, region.keyMonth ?? null) },
    ...volume,
  ];
}

function machineMonth(region: RegionPrices, size: { readonly name: string; readonly vcpus: number }, windows: boolean): number | null {
  const licence = windows ? times(size.vcpus, monthly(region.windowsVcpuHour)) : 0;
  return sum([monthly(region.machineHour[size.name]), licence]);
}

/** A disk costs by its size, or by the next tier on Azure. */
function diskMonth({ diskGibMonth, diskMonth: tiers }: RegionPrices, gib: number): number | null {
  if (diskGibMonth !== undefined) return diskGibMonth * gib;
  // Tiers of Premium SSD double from 4 GiB on (Azure documentation, managed disk types).
  return tiers?.[String(Math.max(4, 2 ** Math.ceil(Math.log2(gib))))] ?? null;
}

function monthly(price: number | undefined): number | null {
  return price === undefined ? null : price * hours;
}

function times(number: number, price: number | null): number | null {
  if (number === 0) return 0;
  return price === null ? null : cents(number * price);
}

function sum(parts: readonly (number | null)[]): number | null {
  return parts.reduce((total, part) => (total === null || part === null ? null : total + part), 0);
}

function cents(amount: number): number {
  return Math.round(amount * 100) / 100;
}
