import type { PoolSpec } from "./pools.ts";

/**
 * Time that a machine of a pool has to join, in seconds. Windows boots, installs and reboots once; after it the machine is taken for lost and
 * replaced.
 */
export const joinSeconds = { linux: 900, windows: 2400 } as const;

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
