import type { Row } from "./row.ts";

/** Zones, regions, accounts, labels, taints and tags. */
export const metadataRows: readonly Row[] = [
  ["a zone of another region", "aws", { "network.zones": ["eu-central-1a", "us-east-1b"] }],
  ["a zone twice", "azure", { "network.zones": ["1", "1"] }],
  ["a fourth zone", "azure", { "network.zones": ["1", "2", "3", "4"] }],
  ["zones that are numbers", "azure", { "network.zones": [1, "2"] }],
  ["a zone that Azure has not", "azure", { "network.zones": ["1", "4"] }],
  ["a pool in a zone outside the network", "aws", { "pools.1.zones": ["eu-central-1c"] }],
  ["a pool in a zone twice", "aws", { "pools.1.zones": ["eu-central-1a", "eu-central-1a"] }],
  ["a region in China", "aws", { region: "cn-north-1", network: { zones: ["cn-north-1a"] } }],
  ["a region of a secret network", "aws", { region: "us-iso-east-1", network: { zones: ["us-iso-east-1a"] } }],
  ["a region of Azure Government", "azure", { region: "usgovvirginia" }],
  ["a region of Azure in China", "azure", { region: "chinaeast2" }],
  ["a region of the other cloud", "aws", { region: "westeurope" }],
  ["a subscription on AWS", "aws", { accountId: "01234567-89ab-cdef-0123-456789abcdef" }],
  ["an AWS account on Azure", "azure", { accountId: "123456789012" }],
  ["an account id with too few digits", "aws", { accountId: "12345" }],
  ["a label of Kubernetes", "aws", { "pools.0.labels": { "node.kubernetes.io/windows-build": "1" } }],
  ["a label of Fenestra", "aws", { "pools.0.labels": { "fenestra.dev/hyperv": "false" } }],
  ["a label that is no name", "aws", { "pools.0.labels": { "-a": "b" } }],
  ["a label with a bad prefix", "aws", { "pools.0.labels": { "a..b/c": "d" } }],
  ["a label value with a space", "aws", { "pools.0.labels": { a: "b c" } }],
  ["the taint of Windows nodes", "aws", { "pools.1.taints": [{ key: "os", value: "x", effect: "NoSchedule" }] }],
  [
    "the taint of the cloud controller",
    "aws",
    {
      "pools.0.taints": [{ key: "node.cloudprovider.kubernetes.io/uninitialized", value: "true", effect: "NoSchedule" }],
    },
  ],
  [
    "a taint twice",
    "aws",
    {
      "pools.0.taints": [
        { key: "a", value: "1", effect: "NoSchedule" },
        { key: "a", value: "2", effect: "NoSchedule" },
      ],
    },
  ],
  ["a taint without a key", "aws", { "pools.0.taints": [{ effect: "NoSchedule" }] }],
  ["an effect that does not exist", "aws", { "pools.0.taints": [{ key: "a", effect: "noschedule" }] }],
  ["a tag of AWS", "aws", { tags: { "AWS:cost": "x" } }],
  ["a tag that cloud controllers read", "aws", { tags: { KubernetesCluster: "x" } }],
  ["a tag with a slash", "aws", { tags: { "a/b": "x" } }],
  ["tag values that IAM refuses", "aws", { tags: { owner: "Web Shop & Co", cost: "a\u0000b", fine: "Größe 1/2: a@b_c.d=+-" } }],
  ["a tag value of two lines", "azure", { tags: { owner: "a\r\nb", cost: "Web Shop & Co" } }],
  ["a mistyped region, whose zones are then not to blame", "aws", { region: "eu-centrall-1" }],
  ["a mistyped region of Azure", "azure", { region: "westeuroope" }],
  ["a tag value that is too long", "aws", { tags: { a: "x".repeat(257) } }],
  ["tags that differ by case", "azure", { tags: { Owner: "a", owner: "b" } }],
  ["a tag without a name", "aws", { tags: { "": "x" } }],
  [
    "more labels, taints and tags than a group of machines on AWS can have",
    "aws",
    {
      tags: Object.fromEntries(Array.from({ length: 35 }, (_, index) => [`t${index}`, "x"])),
      "pools.1.autoscale": { min: 0, max: 3 },
      "pools.1.labels": { a: "1", b: "1" },
    },
  ],
  [
    "a label too long for a tag",
    "aws",
    { "pools.1.autoscale": { min: 0, max: 3 }, "pools.1.labels": { [`${"x".repeat(80)}.test/a`]: "1" } },
  ],
];
