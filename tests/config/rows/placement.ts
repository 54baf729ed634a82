import type { Row } from "./row.ts";

const hosts = "arn:aws:resource-groups:eu-central-1:123456789012:group/hosts";
const profile = "arn:aws:iam::123456789012:instance-profile/nodes";

/** How machines are bought and placed. */
export const placementRows: readonly Row[] = [
  [
    "names of the other cloud",
    "azure",
    { "pools.0.capacityReservation": "cr-0123456789abcdef0", "pools.1.securityGroups": ["sg-0123456789abcdef0"] },
    [
      [
        "pools[0].capacityReservation",
        "cr-0123456789abcdef0",
        "is not the id of a capacity reservation group",
        "the id of a capacity reservation group",
      ],
      [
        "pools[1].securityGroups[0]",
        "sg-0123456789abcdef0",
        "is not the id of an application security group",
        "the id of an application security group",
      ],
    ],
  ],
  [
    "disks of the other cloud",
    "aws",
    { "pools.0.disk": { type: "Premium_LRS" }, "pools.1.disk": { type: "io2", throughput: 250 } },
    [
      ["pools[0].disk.type", "Premium_LRS", "is a disk of the other cloud", "gp3, io2"],
      ["pools[1].disk.iops", undefined, "is missing", "a number, which io2 needs"],
      ["pools[1].disk.throughput", 250, "is not a setting of io2", "none: it follows iops"],
    ],
  ],
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
    [
      ["controlPlane.etcdDisk.iops", 12_000, "is more than gp3 gives a disk of 20 GiB", "at most 10000"],
      ["pools[0].disk.throughput", 1000, "is more than gp3 gives with 3000 operations per second", "at most 750"],
      ["pools[1].disk.iops", 64_000, "is more than io2 gives a disk of 60 GiB", "at most 60000"],
    ],
  ],
  [
    "settings that only AWS has",
    "azure",
    {
      "pools.0.disk": { iops: 4000 },
      "pools.0.furtherSizes": ["m6i.large"],
      "pools.0.instanceProfile": profile,
      iam: { rolePath: "/x/" },
    },
    [
      ["iam.rolePath", "/x/", "is a setting of AWS", "nothing: only AWS has it"],
      ["pools[0].disk.iops", 4000, "is a setting of AWS", "nothing: only AWS has it"],
      ["pools[0].furtherSizes", ["m6i.large"], "is a setting of AWS", "nothing: only AWS has it"],
      ["pools[0].instanceProfile", profile, "is a setting of AWS", "nothing: only AWS has it"],
    ],
  ],
  [
    "licences of one's own for Linux",
    "azure",
    { "pools.0.hybridBenefit": true },
    [["pools[0].hybridBenefit", true, "is meant for Windows pools", "false on Linux"]],
  ],
  [
    "spot and what is bought otherwise",
    "aws",
    { "pools.0.spot": true, "pools.0.dedicatedHosts": hosts, "pools.1.spotMaxPrice": 0.2 },
    [
      ["pools[0].dedicatedHosts", hosts, "does not go with spot: true", "nothing with spot: true"],
      ["pools[1].spotMaxPrice", 0.2, "does not go with spot: false", "nothing without spot: true"],
    ],
  ],
  [
    "a reservation in one zone for two",
    "aws",
    { "pools.0.capacityReservation": "cr-0123456789abcdef0" },
    [["pools[0].capacityReservation", "cr-0123456789abcdef0", "is in one zone, and the pool has more", "a pool with one zone in zones"]],
  ],
  [
    "sizes that are not alike",
    "aws",
    { "pools.0.size": "m7i.large", "pools.0.furtherSizes": ["m6i.large", "m7i.large", "c7i.large", "g5.xlarge"] },
    [
      ["pools[0].furtherSizes[1]", "m7i.large", "is listed twice", "each size once"],
      ["pools[0].furtherSizes[2]", "c7i.large", "differs from size", "x86 sizes with 2 processors and 8 GiB"],
      ["pools[0].furtherSizes[3]", "g5.xlarge", "is not a machine size that Fenestra knows", "sizes of known processors and memory"],
    ],
  ],
  [
    "annotations of Kubernetes",
    "aws",
    { "pools.0.annotations": { "node.kubernetes.io/x": "y" } },
    [
      [
        'pools[0].annotations["node.kubernetes.io/x"]',
        "node.kubernetes.io/x",
        "is an annotation that Kubernetes or Fenestra sets",
        "a prefix of your own, or none: kubernetes.io, k8s.io and fenestra.dev are taken",
      ],
    ],
  ],
  [
    "one profile for two pools",
    "aws",
    { "pools.0.instanceProfile": profile, "pools.1.instanceProfile": profile },
    [
      [
        "pools[1].instanceProfile",
        profile,
        "is the profile of config.fenestra:pools[0] already",
        "a profile for each pool: nodes of one must not have the rights of another",
      ],
    ],
  ],
];
