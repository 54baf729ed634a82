import type { Row } from "./row.ts";

/** NAT and ranges of addresses. */
export const networkRows: readonly Row[] = [
  ["NAT none without a mirror", "aws", { "network.nat": "none" }],
  ["NAT none with half a mirror", "aws", { "network.nat": "none", "mirror.artifacts": "https://m.test" }],
  [
    "NAT none on Azure, even with a mirror",
    "azure",
    { "network.nat": "none", "mirror.artifacts": "https://m.test", "mirror.registries": { _default: "https://m.test" } },
  ],
  [
    "others' addresses among pods and Services",
    "aws",
    {
      "network.dns": { servers: ["10.96.0.10", "10.244.3.4"] },
      httpProxy: "http://10.244.9.9:3128",
      "mirror.artifacts": "https://10.96.0.9/files",
      "mirror.registries": { "r.test": "https://10.244.9.9" },
      "access.private": { allow: ["10.244.0.0/17", "10.0.0.0/8"] },
    },
  ],
  ["pods in the machines' network", "aws", { "kubernetes.podCidr": "10.0.0.0/16" }],
  ["Services in the machines' network", "aws", { "kubernetes.serviceCidr": "10.0.128.0/20" }],
  ["Services in the pods' network", "aws", { "kubernetes.serviceCidr": "10.244.0.0/20" }],
  ["machines in the metadata range", "aws", { "network.cidr": "169.254.0.0/16" }],
  ["a network with host bits", "aws", { "network.cidr": "10.0.0.5/16" }],
  ["a network that is none", "aws", { "network.cidr": "10.0.0.0" }],
  ["a network with an octet above 255", "aws", { "network.cidr": "10.0.300.0/24" }],
  ["a network that is too small", "aws", { "network.cidr": "10.0.0.0/22" }],
  ["a network that is too small on Azure", "azure", { "network.cidr": "10.0.0.0/23" }],
  ["a Service range that is too large", "aws", { "kubernetes.serviceCidr": "11.0.0.0/11" }],
  ["more machines than pod networks", "aws", { "pools.0.count": 254 }],
  ["more machines than addresses", "aws", { "network.cidr": "10.0.0.0/21", "kubernetes.podCidr": "10.128.0.0/12", "pools.0.count": 1000 }],
];
