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
        controllerRole: "c0ffee00-0000-4000-8000-000000000000",
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
          "2": { private: { id: "nodes", cidr: "10.0.4.0/24" }, controlPlane: { id: `${vnet}/subnets/cp`, cidr: "10.0.5.0/28" } },
        },
      },
    },
  ],
  ["a search domain on Azure", "azure", { "network.dns": { servers: ["10.0.0.4"], searchDomain: "corp.example.com" } }],
];
