import type { Row } from "./row.ts";

/** NAT and ranges of addresses. */
export const networkRows: readonly Row[] = [
  [
    "NAT none without a mirror",
    "aws",
    { "network.nat": "none" },
    [
      [
        "network.nat",
        "none",
        "leaves the machines without a source for artifacts and images; missing: mirror.artifacts, mirror.registries",
        "none together with mirror.artifacts and mirror.registries, else single or perZone",
      ],
    ],
  ],
  [
    "NAT none with half a mirror",
    "aws",
    { "network.nat": "none", "mirror.artifacts": "https://m.test" },
    [
      [
        "network.nat",
        "none",
        "leaves the machines without a source for artifacts and images; missing: mirror.registries",
        "none together with mirror.artifacts and mirror.registries, else single or perZone",
      ],
    ],
  ],
  [
    "NAT none on Azure, even with a mirror",
    "azure",
    {
      "network.nat": "none",
      "mirror.artifacts": "https://m.test",
      "mirror.registries": { _default: "https://m.test" },
    },
    [
      [
        "network.nat",
        "none",
        "cuts the cloud controller, the disk driver and the autoscaler off from Azure's resource manager",
        "single or perZone on Azure",
      ],
    ],
  ],
  [
    "pods in the machines' network",
    "aws",
    { "kubernetes.podCidr": "10.0.0.0/16" },
    [
      [
        "kubernetes.podCidr",
        "10.0.0.0/16",
        "overlaps config.fenestra:network.cidr, 10.0.0.0/16",
        "three networks without a common address",
      ],
    ],
  ],
  [
    "Services in the machines' network",
    "aws",
    { "kubernetes.serviceCidr": "10.0.128.0/20" },
    [
      [
        "kubernetes.serviceCidr",
        "10.0.128.0/20",
        "overlaps config.fenestra:network.cidr, 10.0.0.0/16",
        "three networks without a common address",
      ],
    ],
  ],
  [
    "Services in the pods' network",
    "aws",
    { "kubernetes.serviceCidr": "10.244.0.0/20" },
    [
      [
        "kubernetes.serviceCidr",
        "10.244.0.0/20",
        "overlaps config.fenestra:kubernetes.podCidr, 10.244.0.0/16",
        "three networks without a common address",
      ],
    ],
  ],
  [
    "machines in the metadata range",
    "aws",
    { "network.cidr": "169.254.0.0/16" },
    [
      [
        "network.cidr",
        "169.254.0.0/16",
        "overlaps 169.254.0.0/16, the link-local range of metadata services",
        "a range that touches no reserved one, such as a part of 10.0.0.0/8, 172.16.0.0/12 or 192.168.0.0/16",
      ],
    ],
  ],
  [
    "a network with host bits",
    "aws",
    { "network.cidr": "10.0.0.5/16" },
    [["network.cidr", "10.0.0.5/16", "has host bits that are not zero", "an IPv4 network whose host bits are zero, /16 to /21"]],
  ],
  [
    "a network that is none",
    "aws",
    { "network.cidr": "10.0.0.0" },
    [
      [
        "network.cidr",
        "10.0.0.0",
        "is not an IPv4 network in CIDR notation",
        "a text, four numbers with dots, a slash and the prefix length, such as 10.0.0.0/16. Address range of the VPC or virtual network, a /16 to /21, on Azure to /22. Of an existing network its first range.",
      ],
    ],
  ],
  [
    "a network with an octet above 255",
    "aws",
    { "network.cidr": "10.0.300.0/24" },
    [["network.cidr", "10.0.300.0/24", "is not a network", "an IPv4 network whose host bits are zero, /16 to /21"]],
  ],
  [
    "a network that is too small",
    "aws",
    { "network.cidr": "10.0.0.0/22" },
    [["network.cidr", "10.0.0.0/22", "is too small a network", "an IPv4 network whose host bits are zero, /16 to /21"]],
  ],
  [
    "a network that is too small on Azure",
    "azure",
    { "network.cidr": "10.0.0.0/23" },
    [["network.cidr", "10.0.0.0/23", "is too small a network", "an IPv4 network whose host bits are zero, /16 to /22"]],
  ],
  [
    "a Service range that is too large",
    "aws",
    { "kubernetes.serviceCidr": "11.0.0.0/11" },
    [["kubernetes.serviceCidr", "11.0.0.0/11", "is too large a network", "an IPv4 network whose host bits are zero, /12 to /24"]],
  ],
  [
    "more machines than pod networks",
    "aws",
    { "pools.0.count": 254 },
    [
      [
        "kubernetes.podCidr",
        "10.244.0.0/16",
        "has room for 256 machines, but the pools may grow to 258",
        "a range with room for every machine, control plane and one more per group for replacements included",
      ],
    ],
  ],
  [
    "more machines than addresses",
    "aws",
    { "network.cidr": "10.0.0.0/21", "kubernetes.podCidr": "10.128.0.0/12", "pools.0.count": 1000 },
    [
      [
        "network.cidr",
        "10.0.0.0/21",
        "has room for 964 machines, but the pools may grow to 1003",
        "a range with room for every machine, control plane and one more per group for replacements included",
      ],
    ],
  ],
];
