import type { Row } from "./row.ts";

const hosts = "arn:aws:resource-groups:eu-central-1:123456789012:group/hosts";
const profile = "arn:aws:iam::123456789012:instance-profile/nodes";

/** How machines are bought and placed. */
export const placementRows: readonly Row[] = [
  [
    "names of the other cloud",
    "azure",
    { "pools.0.capacityReservation": "cr-0123456789abcdef0", "pools.1.securityGroups": ["sg-0123456789abcdef0"] },
  ],
  ["disks of the other cloud", "aws", { "pools.0.disk": { type: "Premium_LRS" }, "pools.1.disk": { type: "io2", throughput: 250 } }],
  [
    "more speed than disks of that size have",
    "aws",
    {
      "controlPlane.etcdDisk": { iops: 12_000 },
      "pools.0.disk": { throughput: 1000 },
      "pools.0.diskGb": 30,
      "pools.1.disk": { type: "io2", iops: 64_000 },
      "pools.1.diskGb": 60,
    },
  ],
  [
    "settings that only AWS has",
    "azure",
    { "pools.0.disk": { iops: 4000 }, "pools.0.furtherSizes": ["m6i.large"], "pools.0.instanceProfile": profile, iam: { rolePath: "/x/" } },
  ],
  [
    "rolls that only AWS has, and none at all",
    "azure",
    { "pools.0.update": { maxSurge: 0 }, "pools.0.maxAge": 30, "pools.1.update": { maxUnavailable: "5%" }, "pools.1.spot": true },
  ],
  ["licences of one's own for Linux", "azure", { "pools.0.hybridBenefit": true }],
  ["spot and what is bought otherwise", "aws", { "pools.0.spot": true, "pools.0.dedicatedHosts": hosts, "pools.1.spotMaxPrice": 0.2 }],
  ["a reservation in one zone for two", "aws", { "pools.0.capacityReservation": "cr-0123456789abcdef0" }],
  [
    "sizes that are not alike",
    "aws",
    { "pools.0.size": "m7i.large", "pools.0.furtherSizes": ["m6i.large", "m7i.large", "c7i.large", "g5.xlarge"] },
  ],
  ["annotations of Kubernetes", "aws", { "pools.0.annotations": { "node.kubernetes.io/x": "y" } }],
  ["one profile for two pools", "aws", { "pools.0.instanceProfile": profile, "pools.1.instanceProfile": profile }],
];
