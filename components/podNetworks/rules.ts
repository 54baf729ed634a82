import { childPath, type Problem } from "../config/problem.ts";
import { type Rule, rule } from "../config/rules/rule.ts";
import type { PoolConfig } from "../config/schema.ts";
import { hasSettings } from "../config/settings.ts";
import { parseCidr } from "../model/cidr.ts";
import { defaultPodNetwork } from "./names.ts";
import { podNetworks } from "./podNetworks.ts";

const path = (field: string): string => childPath("config.fenestra:network", field);

/** Azure CNI reads its addresses from Azure's platform, and they belong to network interfaces of Azure. */
const onAzure = rule(["cloud", "network.pods"], ({ cloud, "network.pods": pods }) =>
  pods !== "azure-cni" || cloud === "azure"
    ? []
    : [
        {
          path: path("pods"),
          value: pods,
          message: "takes the pods' addresses from network interfaces of Azure, which this cloud does not have",
          allowed: "flannel on AWS",
          remedy: "leave it out",
        },
      ],
);

/** Sizes of existing subnets and their other tenants are not known well enough to promise addresses for every pod. */
const onOwnNetwork = rule(["network.pods", "network.existing"], (given): readonly Problem[] =>
  given["network.pods"] !== "azure-cni" || given["network.existing"] === undefined
    ? []
    : [
        {
          path: path("pods"),
          value: given["network.pods"],
          message: "needs subnets that Fenestra divides, so that every machine has addresses for its pods",
          allowed: "flannel with network.existing",
          remedy: "leave it out, or let Fenestra make the network",
        },
      ],
);

const settings = rule(["network.pods", "network.azureCni", "pools"], (given): readonly Problem[] => {
  const { "network.pods": pods, "network.azureCni": own, pools } = given;
  if (pods !== "azure-cni")
    return own === undefined
      ? []
      : [
          {
            path: path("azureCni"),
            value: own,
            message: "is read with network.pods: azure-cni only",
            allowed: "nothing with another pod network",
            remedy: "set network.pods: azure-cni, or leave it out",
          },
        ];
  if (own === undefined)
    return [
      {
        path: path("azureCni"),
        value: own,
        message: "is missing: the publisher names no digests of the plug-in, so the stack file must",
        allowed: "plugin.linux, and plugin.windows with a Windows pool, each with url and sha256",
        remedy: "name archives that you have checked, such as those of AKS (docs/azure.md)",
      },
    ];
  return own.plugin.windows === undefined && pools.some(({ os }) => os !== "linux")
    ? [
        {
          path: childPath(childPath(path("azureCni"), "plugin"), "windows"),
          value: undefined,
          message: "is missing, and there is a Windows pool",
          allowed: "url and sha256 of the archive for Windows",
          remedy: "name an archive that you have checked",
        },
      ]
    : [];
});

/** Where pods have addresses of the machines' network, no other range is used. */
const ownRange = rule(["network.pods", "kubernetes.podCidr"], (given) =>
  ranged(given["network.pods"]) || given["kubernetes.podCidr"] === unsetRange
    ? []
    : [
        {
          path: "config.fenestra:kubernetes.podCidr",
          value: given["kubernetes.podCidr"],
          message: `is not used with network.pods: ${given["network.pods"]}, where pods have addresses of network.cidr`,
          allowed: "no value",
          remedy: "leave it out",
        },
      ],
);

/** The schema's default. */
const unsetRange = "10.244.0.0/16";

/**
 * Machines and pods of a pool are in the subnet of its first zone, and every machine has all its addresses from the start. Beside the five that
 * Azure keeps, internal load balancers of Services take some. A roll adds one machine at a time to a group.
 */
const roomForPods = rule(
  ["network.pods", "network.cidr", "network.zones", "network.azureCni", "pools"],
  (given): readonly Problem[] => {
    const whole = parseCidr(given["network.cidr"]);
    const own = given["network.azureCni"];
    if (given["network.pods"] !== "azure-cni" || whole === undefined || own === undefined) return [];
    if (whole.prefix > leastNetwork)
      return [
        {
          path: path("cidr"),
          value: given["network.cidr"],
          message: "leaves the pods of control-plane machines too few addresses",
          allowed: `a /16 to /${leastNetwork} with network.pods: azure-cni`,
        },
      ];
    const room = 2 ** (32 - whole.prefix - 2) - kept;
    return given["network.zones"].flatMap((zone): readonly Problem[] => {
      const machines = given.pools.map((pool) => machinesIn(pool, zone, given["network.zones"]));
      const wanted = machines.reduce((sum, most) => sum + most, 0) * (1 + own.podsPerNode);
      return wanted <= room
        ? []
        : [
            {
              path: path("cidr"),
              value: given["network.cidr"],
              message: `has room for ${room} addresses in the subnet of zone ${zone}, but machines and pods may take ${wanted}`,
              allowed:
                "1 + azureCni.podsPerNode addresses for each machine of the pools whose first zone it is, and for one more per pool",
              remedy: "choose a larger range, fewer pods per node, perZone pools, or lower count or autoscale.max",
            },
          ];
    });
  },
);

/** A /26 has room for three machines and their pods. */
const roomForControlPlane = rule(
  ["network.pods", "network.zones", "controlPlane.replicas"],
  ({ "network.pods": pods, "network.zones": zones, "controlPlane.replicas": replicas }): readonly Problem[] =>
    pods !== "azure-cni" || Math.ceil(replicas / zones.length) <= 3
      ? []
      : [
          {
            path: "config.fenestra:controlPlane.replicas",
            value: replicas,
            message:
              "puts more than three control-plane machines into one zone, whose subnet has addresses for the pods of three",
            allowed: "at most three per zone with network.pods: azure-cni",
            remedy: "name more zones",
          },
        ],
);

/** Smallest network, as a prefix, whose control-plane part of a zone is a /26. */
const leastNetwork = 20;
/** Addresses of a subnet that no machine gets: Azure's five, and some for load balancers. */
const kept = 5 + 20;

/** Most machines of a pool in the subnet of a zone. */
function machinesIn(pool: PoolConfig, zone: string, all: readonly string[]): number {
  const zones = pool.zones ?? all;
  const here = pool.perZone ? zones.includes(zone) : zones[0] === zone;
  const most = pool.autoscale?.max ?? (pool.perZone ? Math.ceil((pool.count ?? 1) / zones.length) : (pool.count ?? 1));
  return here && most > 0 ? most + 1 : 0;
}

function ranged(pods: string | undefined): boolean {
  return Object.values(podNetworks).some(({ name, nodeRanges }) => name === (pods ?? defaultPodNetwork) && nodeRanges);
}

/** The same rule where nodes have ranges of the pods' network, and none elsewhere. */
export function whereNodesHaveRanges(one: Rule): Rule {
  return (given, lock) =>
    hasSettings(given.settings, ["network.pods"]) && !ranged(given.settings["network.pods"]) ? [] : one(given, lock);
}

/** The rules on the choice of a pod network. */
export const podNetworkRules: readonly Rule[] = [
  onAzure,
  onOwnNetwork,
  settings,
  ownRange,
  roomForPods,
  roomForControlPlane,
];
