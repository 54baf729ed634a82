import { z } from "zod";
import file from "./prices.json" with { type: "json" };

const price = z.number().positive();

const regionSchema = z.strictObject({
  /** Day of the prices, ISO date. */
  date: z.iso.date(),
  /** Where they come from. */
  source: z.string(),
  /** Of a machine with Linux, by its size. */
  machineHour: z.record(z.string(), price),
  /** Licence of Windows Server, for each processor of a machine. */
  windowsVcpuHour: price.optional(),
  /** Of a GiB of disk: AWS, gp3. */
  diskGibMonth: price.optional(),
  /** Of a disk, by the GiB of its tier: Azure, Premium SSD. */
  diskMonth: z.record(z.string(), price).optional(),
  natHour: price.optional(),
  balancerHour: price.optional(),
  addressHour: price.optional(),
  keyMonth: price.optional(),
});

/** The form of `prices.json`: list prices on demand, without tax. */
export const pricesSchema = z.strictObject({ currency: z.literal("USD"), regions: z.record(z.string(), regionSchema) });

/** Prices of one region. What is missing is unknown. */
export type RegionPrices = z.output<typeof regionSchema>;

/** Prices of every region that is known, by `cloud/region`. */
export type Prices = z.output<typeof pricesSchema>;

/** The repository's own price file. */
export function readPrices(): Prices {
  return pricesSchema.parse(file);
}
