import { cloudFacts } from "../../model/cloudFacts/cloudFacts.ts";
import { type Problem, refuse } from "../problem.ts";
import { path } from "./existingNetwork.ts";
import { elsewhere, only, type Rule, rule } from "./rule.ts";

/** Settings that an existing network has itself, and those of one cloud. */
const beside = rule(
  ["cloud", "network.existing", "network.nat", "network.dns"],
  ({ cloud, "network.existing": existing, "network.nat": nat, "network.dns": dns }): readonly Problem[] => {
    const domain = elsewhere("aws", cloud, dns?.searchDomain, "config.fenestra:network.dns.searchDomain").map((problem) => ({
      ...problem,
      remedy: "set it in the machines' image, or join them to the domain",
    }));
    if (existing === undefined) return domain;
    const { controllerRole, resourceGroup, subnets, tagSubnets } = existing;
    const key = "config.fenestra:network";
    return [
      ...domain,
      ...(nat === "perZone" ? refuse(`${key}.nat`, nat, "makes NAT gateways, which an existing network has itself", "single or none") : []),
      ...(dns !== undefined
        ? refuse(`${key}.dns`, dns, "cannot be set in an existing network, whose own name servers hold", "nothing")
        : []),
      ...elsewhere("azure", cloud, resourceGroup, path("resourceGroup")),
      ...elsewhere("azure", cloud, controllerRole, path("controllerRole")),
      // False says something too, so it is refused as well.
      ...elsewhere("aws", cloud, tagSubnets !== undefined, path("tagSubnets")).map((problem) => ({ ...problem, value: tagSubnets })),
      ...Object.entries(subnets).flatMap(([zone, { public: subnet }]) =>
        elsewhere("aws", cloud, subnet?.id, path("subnets", zone, "public"), "nothing: only a load balancer of AWS is in a subnet"),
      ),
    ];
  },
);

const publicSubnets = rule(["network.existing", "access.public"], ({ "network.existing": existing, "access.public": open }) =>
  Object.entries(existing?.subnets ?? {}).flatMap(([zone, { public: subnet }]): readonly Problem[] =>
    subnet !== undefined || open === undefined
      ? []
      : refuse(
          path("subnets", zone, "public"),
          undefined,
          "is missing: access.public makes a public load balancer",
          "id and cidr of a public subnet",
        ),
  ),
);

const resourceGroups = rule(["accountId", "network.existing"], ({ accountId, "network.existing": existing }): readonly Problem[] => {
  if (existing === undefined) return [];
  const { id, resourceGroup } = existing;
  const [, , subscription, , group] = id.split("/");
  const at = { path: path("resourceGroup"), value: resourceGroup };
  return [
    ...(resourceGroup !== undefined && resourceGroup.toLowerCase() === group?.toLowerCase()
      ? [
          {
            ...at,
            message: "is the resource group of the network, which the cluster's controllers could change then",
            allowed: "a resource group of the cluster's own",
          },
        ]
      : []),
    ...(resourceGroup !== undefined && !/^[\w.()-]{0,89}[\w()-]$/.test(resourceGroup)
      ? [{ ...at, message: "is not the name of a resource group", allowed: "up to 90 letters, digits and _ ( ) - ." }]
      : []),
    // A machine's network interface must be in the subscription of its network (Azure documentation, network interfaces).
    ...(accountId !== undefined && cloudFacts.azure.network.id.pattern.test(id) && accountId !== subscription?.toLowerCase()
      ? refuse(path("id"), id, "is in another subscription than accountId", `a virtual network of ${accountId}`)
      : []),
  ];
});

export const existingNetworkSettingsRules: readonly Rule[] = [beside, only("aws", publicSubnets), only("azure", resourceGroups)];
