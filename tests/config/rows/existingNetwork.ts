import type { Row } from "./row.ts";

const vnet = "/subscriptions/00000000-0000-4000-8000-000000000000/resourceGroups/net/providers/Microsoft.Network/virtualNetworks/spoke";

/** Networks that exist already, and name servers of those that are created. */
export const existingNetworkRows: readonly Row[] = [
  [
    "an existing network of AWS with a mistake in each place",
    "aws",
    {
      "pools.0.count": 100,
      "network.nat": "perZone",
      "network.dns": { servers: ["10.0.0.2"] },
      "access.public": { allow: ["198.18.0.0/24"] },
      "network.existing": {
        id: "my-vpc",
        resourceGroup: "group",
        moreCidrs: ["10.0.0.1/24", "10.244.0.0/24"],
        subnets: {
          "eu-central-1a": {
            private: { id: "subnet-0123456789abcdef1", cidr: "10.0.0.0/26" },
            controlPlane: { id: "cp", cidr: "10.0.0.0/29" },
          },
          "eu-central-1c": {
            private: { id: "subnet-0123456789abcdef1", cidr: "10.0.0.64/26" },
            controlPlane: { id: "subnet-0123456789abcdef2", cidr: "10.0.0.0/28" },
          },
        },
      },
    },
    [
      ["network.dns", { servers: ["10.0.0.2"] }, "cannot be set in an existing network, whose own name servers hold", "nothing"],
      ["network.existing.id", "my-vpc", "is not the id of a network", "the id of a VPC, such as vpc-0123456789abcdef0"],
      ["network.existing.moreCidrs[0]", "10.0.0.1/24", "is not a network", "an IPv4 network whose host bits are zero"],
      [
        "network.existing.moreCidrs[1]",
        "10.244.0.0/24",
        "overlaps config.fenestra:kubernetes.podCidr, 10.244.0.0/16",
        "networks without a common address",
      ],
      ["network.existing.resourceGroup", "group", "is a setting of Azure", "nothing: only Azure has it"],
      [
        "network.existing.subnets",
        54,
        "has room for 54 machines in private subnets, but the pools may grow to 103",
        "subnets with room for every machine, and one more per group for replacements",
      ],
      ["network.existing.subnets.eu-central-1a.controlPlane.cidr", "10.0.0.0/29", "is too small a subnet", "a /28 or a larger one"],
      [
        "network.existing.subnets.eu-central-1a.controlPlane.cidr",
        "10.0.0.0/29",
        "overlaps config.fenestra:network.existing.subnets.eu-central-1a.private.cidr, 10.0.0.0/26",
        "ranges of different subnets without a common address",
      ],
      [
        "network.existing.subnets.eu-central-1a.controlPlane.id",
        "cp",
        "is not the id of a subnet",
        "the id of a subnet, such as subnet-0123456789abcdef0",
      ],
      [
        "network.existing.subnets.eu-central-1a.public",
        undefined,
        "is missing: access.public makes a public load balancer",
        "id and cidr of a public subnet",
      ],
      [
        "network.existing.subnets.eu-central-1b",
        undefined,
        "is missing, although it is one of network.zones",
        "private and controlPlane, each with id and cidr",
      ],
      ["network.existing.subnets.eu-central-1c", "eu-central-1c", "is not one of network.zones", "one of eu-central-1a, eu-central-1b"],
      [
        "network.existing.subnets.eu-central-1c.controlPlane.cidr",
        "10.0.0.0/28",
        "overlaps config.fenestra:network.existing.subnets.eu-central-1a.private.cidr, 10.0.0.0/26",
        "ranges of different subnets without a common address",
      ],
      [
        "network.existing.subnets.eu-central-1c.controlPlane.cidr",
        "10.0.0.0/28",
        "overlaps config.fenestra:network.existing.subnets.eu-central-1a.controlPlane.cidr, 10.0.0.0/29",
        "ranges of different subnets without a common address",
      ],
      [
        "network.existing.subnets.eu-central-1c.private.cidr",
        "10.0.0.64/26",
        "differs from config.fenestra:network.existing.subnets.eu-central-1a.private.cidr, which is of the same subnet",
        "10.0.0.0/26",
      ],
      [
        "network.existing.subnets.eu-central-1c.private.id",
        "subnet-0123456789abcdef1",
        "is named by config.fenestra:network.existing.subnets.eu-central-1a.private.id already",
        "a subnet of its own for each zone and purpose",
      ],
      [
        "network.existing.subnets.eu-central-1c.public",
        undefined,
        "is missing: access.public makes a public load balancer",
        "id and cidr of a public subnet",
      ],
      ["network.nat", "perZone", "makes NAT gateways, which an existing network has itself", "single or none"],
    ],
  ],
  [
    "an existing network of Azure with a mistake in each place",
    "azure",
    {
      accountId: "11111111-0000-4000-8000-000000000000",
      "network.existing": {
        id: `${vnet}`,
        resourceGroup: "Net",
        tagSubnets: false,
        subnets: {
          "1": {
            private: { id: `${vnet}/subnets/nodes`, cidr: "10.1.0.0/24" },
            controlPlane: { id: `${vnet}/subnets/nodes`, cidr: "10.1.0.0/24" },
            public: { id: `${vnet}/subnets/lb`, cidr: "10.0.8.0/27" },
          },
          "2": {
            private: { id: "nodes", cidr: "10.0.4.0/24" },
            controlPlane: { id: `${vnet}/subnets/cp`, cidr: "10.0.5.0/28" },
          },
        },
      },
    },
    [
      [
        "network.existing.id",
        `${vnet}`,
        "is in another subscription than accountId",
        "a virtual network of 11111111-0000-4000-8000-000000000000",
      ],
      [
        "network.existing.resourceGroup",
        "Net",
        "is the resource group of the network, which the cluster's controllers could change then",
        "a resource group of the cluster's own",
      ],
      ['network.existing.subnets["1"].controlPlane.cidr', "10.1.0.0/24", "is outside of the network", "a part of 10.0.0.0/16"],
      [
        'network.existing.subnets["1"].controlPlane.id',
        `${vnet}/subnets/nodes`,
        'is named by config.fenestra:network.existing.subnets["1"].private.id already',
        "another subnet for the control plane than for workers, since its addresses are fixed",
      ],
      ['network.existing.subnets["1"].private.cidr', "10.1.0.0/24", "is outside of the network", "a part of 10.0.0.0/16"],
      [
        'network.existing.subnets["1"].public',
        `${vnet}/subnets/lb`,
        "is a setting of AWS",
        "nothing: only a load balancer of AWS is in a subnet",
      ],
      ['network.existing.subnets["2"].private.id', "nodes", "is not the id of a subnet of the network", `${vnet}/subnets/...`],
      ["network.existing.tagSubnets", false, "is a setting of AWS", "nothing: only AWS has it"],
    ],
  ],
  [
    "a search domain on Azure",
    "azure",
    { "network.dns": { servers: ["10.0.0.4"], searchDomain: "corp.example.com" } },
    [["network.dns.searchDomain", "corp.example.com", "is a setting of AWS", "nothing: only AWS has it"]],
  ],
];
