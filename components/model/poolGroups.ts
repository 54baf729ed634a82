import type { PoolSpec } from "./pools.ts";

/** Name of a pool's Auto Scaling group or scale set: fixed in advance, so that user data and permissions can reference it. */
export function groupName(cluster: string, pool: string): string {
  return `${cluster}-${pool}`;
}

/** Minimum, desired and maximum number of a pool's machines. */
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
