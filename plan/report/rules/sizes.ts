import { type ClusterSpec, clientLimits } from "../../../components/model/clusterSpec.ts";
import { key, type Rule } from "./rule.ts";

/** Nodes up to which each size tier is meant, as the setting's description has it. */
const tierNodes = { small: 50, medium: 250, large: 1000 } as const;

/** Most nodes that the stack file lets the cluster have. */
function mostNodes({ pools, controlPlane }: ClusterSpec): number {
  return pools.reduce((sum, { autoscale, count }) => sum + (autoscale?.max ?? count), controlPlane.members.length);
}

/** Half of the default, from the OpenShift guide for Windows machine sets: below it a few images of Windows fill the disk. */
const leastWindowsDisk = 60;

/** What the default size has. The rules of the stack file refuse what cannot run at all. */
const leastWindowsMemory = 8;

export const sizeRules: readonly Rule[] = [
  ({ spec }) => {
    const nodes = mostNodes(spec);
    const tiers = (["small", "medium", "large"] as const).filter((name) => tierNodes[name] >= nodes);
    const own = (["small", "medium", "large"] as const).find((name) => clientLimits[name].qps === spec.kubernetes.clientLimits.qps);
    if (own === undefined || nodes <= tierNodes[own]) return [];
    return [
      {
        id: "size-tier-too-small",
        level: "warning",
        path: key("kubernetes.sizeTier"),
        message: `The cluster may have ${nodes} nodes; the size tier ${own} is meant for about ${tierNodes[own]}.`,
        remedy:
          tiers[0] === undefined
            ? "Divide the machines among several clusters."
            : `Set kubernetes.sizeTier to ${tiers[0]} before the cluster grows: it replaces the control-plane machines one at a time.`,
      },
    ];
  },
  ({ spec }) =>
    spec.pools.flatMap(({ os, diskGb, size, path }) => {
      if (os !== "windows") return [];
      const small = [
        ...(diskGb < leastWindowsDisk ? [`a disk of ${diskGb} GiB`] : []),
        ...(size.memoryGib < leastWindowsMemory ? [`${size.memoryGib} GiB of memory`] : []),
      ];
      if (small.length === 0) return [];
      return [
        {
          id: "windows-machine-small",
          level: "warning",
          path,
          message: `Windows machines with ${small.join(" and ")} have little left for pods and their images.`,
          remedy: `Give them ${leastWindowsDisk} GiB of disk and ${leastWindowsMemory} GiB of memory or more.`,
        },
      ];
    }),
  ({ spec: { facts, publicAccess = [] } }) =>
    publicAccess.length > facts.network.mostGroupRules && {
      id: "more-networks-than-rules",
      level: "warning",
      path: key("access.public.allow"),
      message: `A security group has ${facts.network.mostGroupRules} inbound rules by default, one for each of these ${publicAccess.length} networks: the update fails (RulesPerSecurityGroupLimitExceeded).`,
      remedy: "Name fewer, larger networks, or have the quota L-0EA8095F of the service vpc raised.",
    },
  ({ spec }) =>
    !spec.facts.regions.known.includes(spec.region) && {
      id: "region-unknown",
      level: "warning",
      path: key("region"),
      message: `${spec.region} is not among the regions that Fenestra knows.`,
      remedy: "Check its spelling; a region that is newer than this version is fine.",
    },
];
