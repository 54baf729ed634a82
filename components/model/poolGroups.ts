import type { PoolSpec } from "./pools.ts";

/** Name of a pool's Auto Scaling group or scale set: known beforehand, so that user data and rights can name it. */
export function groupName(cluster: string, pool: string): string {
  return `${cluster}-${pool}`;
}

/** Least, wanted and most machines of a pool. */
export function groupSize(pool: PoolSpec): {
  readonly minSize: number;
  readonly desiredCapacity: number;
  readonly maxSize: number;
} {
  return {
    minSize: pool.autoscale?.min ?? pool.count,
    desiredCapacity: pool.count,
    maxSize: pool.autoscale?.max ?? pool.count,
  };
}
