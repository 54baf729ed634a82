import { defaultSizes, machineSize, poolContract } from "../model/pools.ts";
import type { Problem } from "./problem.ts";
import type { PoolConfig, StackConfig } from "./schema.ts";

/** Most tags of a resource (Amazon EC2 Auto Scaling API, CreateAutoScalingGroup; Azure documentation, tag resources). */
const mostTags = 50;

/** Tags of an autoscaled group beside those of the stack file and of its labels and taints: owner and name, discovery, resources. */
const ownTags = { aws: 4 + 2 + 3, azure: 2 + 4 + 3 } as const;

/** Longest key of a label or taint that fits behind the autoscaler's prefix into the key of a tag on AWS, which has 128 characters. */
const longestKey = 128 - "k8s.io/cluster-autoscaler/node-template/label/".length;

/** The autoscaler learns the labels and taints of a group without a machine from its tags, of which there are not as many as one likes. */
export function hintProblems(pool: PoolConfig, path: string, { cloud, tags }: StackConfig): readonly Problem[] {
  const size = machineSize(cloud, pool.size ?? defaultSizes[cloud], pool.capacity);
  if (pool.autoscale === undefined || size === undefined) return [];
  const { kubeletLabels, ownLabels, taints } = poolContract(pool, pool.name, size);
  const keys = [...Object.keys({ ...ownLabels, ...kubeletLabels }), ...new Set(taints.map(({ key }) => key))];
  const free = mostTags - ownTags[cloud] - Object.keys(tags).length;
  const long = cloud === "aws" ? keys.filter((key) => key.length > longestKey) : [];
  return [
    ...long.map((key) => ({
      path,
      value: key,
      message: "is a label or taint too long for a pool with autoscale, which must name it in a tag",
      allowed: `keys of at most ${longestKey} characters on AWS`,
    })),
    ...(keys.length <= free
      ? []
      : [
          {
            path,
            value: keys.length,
            message: "is more labels and taints than fit beside the stack's tags into those of a pool with autoscale",
            allowed: `at most ${free}, those that Fenestra sets included: a group of machines has ${mostTags} tags`,
            remedy: "take away tags, labels or taints",
          },
        ]),
  ];
}
