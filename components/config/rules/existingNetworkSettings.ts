import type { Problem } from "../problem.ts";
import { ids, path } from "./existingNetwork.ts";
import { type Rule, rule } from "./rule.ts";

/** Settings that an existing network has itself, and those of one cloud. */
const beside = rule(
  ["cloud", "accountId", "network.existing", "network.nat", "network.dns", "access.public"],
  ({ cloud, accountId, "network.existing": existing, "network.nat": nat, "network.dns": dns, "access.public": open }) => {
    const dnsOnAzure =
      cloud === "azure" && dns?.searchDomain !== undefined
        ? [
            {
              path: "config.fenestra:network.dns.searchDomain",
              value: dns.searchDomain,
              message: "is an option of AWS: the DHCP of Azure gives no search domain",
              allowed: "nothing on Azure",
              remedy: "set it in the machines' image, or join them to the domain",
            },
          ]
        : [];
    if (existing === undefined) return dnsOnAzure;
    const { id, resourceGroup, subnets, tagSubnets } = existing;
    const [, , subscription, , group] = id.split("/");
    const wrong = (at: string, value: unknown, message: string, allowed: string): Problem => ({
      path: at,
      value,
      message,
      allowed,
    });
    const problems: readonly (Problem | false)[] = [
      nat === "perZone" &&
        wrong("config.fenestra:network.nat", nat, "makes NAT gateways, which an existing network has itself", "single or none"),
      dns !== undefined &&
        wrong("config.fenestra:network.dns", dns, "cannot be set in an existing network, whose own name servers hold", "nothing"),
      cloud === "aws" &&
        resourceGroup !== undefined &&
        wrong(path("resourceGroup"), resourceGroup, "is an option of Azure", "nothing on AWS"),
      cloud === "azure" &&
        tagSubnets !== undefined &&
        wrong(path("tagSubnets"), tagSubnets, "is an option of AWS", "nothing on Azure, where no subnet is tagged"),
      cloud === "azure" &&
        resourceGroup !== undefined &&
        resourceGroup.toLowerCase() === group?.toLowerCase() &&
        wrong(
          path("resourceGroup"),
          resourceGroup,
          "is the resource group of the network, which the cluster's controllers could change then",
          "a resource group of the cluster's own",
        ),
      cloud === "azure" &&
        resourceGroup !== undefined &&
        !/^[\w.()-]{0,89}[\w()-]$/.test(resourceGroup) &&
        wrong(path("resourceGroup"), resourceGroup, "is not the name of a resource group", "up to 90 letters, digits and _ ( ) - ."),
      // A machine's network interface must be in the subscription of its network (Azure documentation, network interfaces).
      cloud === "azure" &&
        accountId !== undefined &&
        ids.azure.network.test(id) &&
        accountId !== subscription?.toLowerCase() &&
        wrong(path("id"), id, "is in another subscription than accountId", `a virtual network of ${accountId}`),
    ];
    const publicSubnets = Object.entries(subnets).flatMap(([zone, { public: subnet }]): readonly Problem[] => {
      const at = path("subnets", zone, "public");
      if (cloud === "azure" && subnet !== undefined)
        return [wrong(at, subnet.id, "is an option of AWS", "nothing on Azure, where a public load balancer is in no subnet")];
      if (cloud === "aws" && subnet === undefined && open !== undefined)
        return [wrong(at, undefined, "is missing: access.public makes a public load balancer", "id and cidr of a public subnet")];
      return [];
    });
    return [...dnsOnAzure, ...problems.filter((problem) => problem !== false), ...publicSubnets];
  },
);

/** The rules on settings beside an existing network, and on name servers of one that is created. */
export const existingNetworkSettingsRules: readonly Rule[] = [beside];
