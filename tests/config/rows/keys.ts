import type { Row } from "./row.ts";

/** Keys, types and names. */
export const keyRows: readonly Row[] = [
  [
    "an unknown key at each level",
    "aws",
    {
      nodes: 1,
      "network.vpc": "x",
      "kubernetes.verzion": "1.36.4",
      "controlPlane.count": 3,
      "pools.1.minSize": 3,
      "pools.1.autoscale": { min: 1, max: 2, step: 1 },
      "pools.1.capacity": { vcpus: 4, memoryGib: 16, gpus: 1 },
      "pools.1.taints": [{ key: "a", effect: "NoSchedule", operator: "Equal" }],
      "access.internal": true,
      "access.public": { allow: ["203.0.113.0/24"], deny: [] },
      "addons.dashboard": true,
      "mirror.images": "https://m.test",
    },
  ],
  ["another cloud", "aws", { cloud: "gcp" }],
  ["a name with capitals", "aws", { name: "Prod" }],
  ["a name that is too long", "aws", { name: "a23456789012345678901" }],
  ["no pools", "aws", { pools: [] }],
  ["pools that are no list", "aws", { pools: { linux: {} } }],
  ["a missing network", "aws", { network: undefined }],
  ["a missing operating system", "aws", { "pools.0.os": undefined }],
  ["a pool name that is too long", "aws", { "pools.1.name": "windows-server-2022-x" }],
  ["a pool name that ends in a hyphen", "aws", { "pools.1.name": "win-" }],
  ["a duplicate pool name", "aws", { "pools.1.name": "linux" }],
  ["a pool name that a divided pool takes", "aws", { "pools.0.perZone": true, "pools.1.name": "linux-b" }],
  ["ten characters for Windows on Azure", "azure", { "pools.1.name": "win2022abc" }],
  [
    "nine characters and a zone for Windows on Azure",
    "azure",
    { "pools.1.name": "win2022ab", "pools.1.perZone": true, "pools.1.zones": ["2"] },
  ],
  ["a mapping called length where a text belongs", "aws", { "network.zones": [{ length: { toString: "x" } }] }],
];
