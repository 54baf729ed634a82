import type { PoolSpec } from "./pools.ts";

/** Name of a pool's Auto Scaling group or scale set: fixed in advance, so that user data and permissions can reference it. */
export function groupName(cluster: string, pool: string): string {
  return `${cluster}-${pool}`;
}

/** Minimum, desired and maximum number of a pool's machines. */
export function groupSize(pool: PoolSpec): { readonly minSize: number; readonly desiredCapacity: number; readonly maxSize: number } {
  return { minSize: pool.autoscale?.min ?? pool.count, desiredCapacity: pool.count, maxSize: pool.autoscale?.max ?? pool.count };
}

/**
 * How many machines a roll may start beyond those wanted, and how many may be missing meanwhile, in whole percents of the largest group,
 * rounded up: so a number means at least so many, and a surge at least one. Together at most 100, the widest range that AWS takes.
 */
export function rollPercents(pool: PoolSpec): { readonly surge: number; readonly unavailable: number } {
  const most = Math.max(1, groupSize(pool).maxSize);
  const ofMachines = (count: number): number => Math.min(100, Math.ceil((100 * count) / most));
  const percent = (amount: string | number): number => (typeof amount === "number" ? ofMachines(amount) : Number.parseInt(amount, 10));
  const { maxSurge = "10%", maxUnavailable = 0 } = pool.update ?? {};
  const unavailable = percent(maxUnavailable);
  const surge = percent(maxSurge) === 0 ? 0 : Math.max(percent(maxSurge), ofMachines(1));
  return { surge: Math.min(surge, 100 - unavailable), unavailable };
}
