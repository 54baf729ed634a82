import type { Row } from "./row.ts";

/** Zones, regions, accounts, labels, taints and tags. */
export const metadataRows: readonly Row[] = [
  [
    "a zone of another region",
    "aws",
    { "network.zones": ["eu-central-1a", "us-east-1b"] },
    [["network.zones[1]", "us-east-1b", "is not a zone of the region", "eu-central-1a, eu-central-1b and so on"]],
  ],
  ["a zone twice", "azure", { "network.zones": ["1", "1"] }, [["network.zones[1]", "1", "is listed twice", "each zone once"]]],
  [
    "a fourth zone",
    "azure",
    { "network.zones": ["1", "2", "3", "4"] },
    [
      [
        "network.zones",
        ["1", "2", "3", "4"],
        "has too many items",
        "a list of 1 to 3 items. Availability zones in order, one to three: eu-central-1a on AWS, 1, 2, 3 on Azure. The control plane is spread over them in turn, so the order stays, and a zone is appended only while each of its machines has one for itself.",
      ],
    ],
  ],
  [
    "zones that are numbers",
    "azure",
    { "network.zones": [1, "2"] },
    [["network.zones[0]", 1, "has the wrong type", "a text that is not empty"]],
  ],
  [
    "a zone that Azure has not",
    "azure",
    { "network.zones": ["1", "4"] },
    [["network.zones[1]", "4", "is not an Azure zone", '"1", "2" or "3"']],
  ],
  [
    "a pool in a zone outside the network",
    "aws",
    { "pools.1.zones": ["eu-central-1c"] },
    [["pools[1].zones[0]", "eu-central-1c", "is not a zone of the network", "one of network.zones: eu-central-1a, eu-central-1b"]],
  ],
  [
    "a pool in a zone twice",
    "aws",
    { "pools.1.zones": ["eu-central-1a", "eu-central-1a"] },
    [["pools[1].zones[1]", "eu-central-1a", "is listed twice", "each zone once"]],
  ],
  [
    "a region in China",
    "aws",
    { region: "cn-north-1", network: { zones: ["cn-north-1a"] } },
    [
      [
        "region",
        "cn-north-1",
        "is a region in China, where endpoints have a domain that Fenestra's machines do not use",
        "the name of a region of AWS, such as eu-central-1",
      ],
    ],
  ],
  [
    "a region of a secret network",
    "aws",
    { region: "us-iso-east-1", network: { zones: ["us-iso-east-1a"] } },
    [
      [
        "region",
        "us-iso-east-1",
        "is a region of its own network, where endpoints have a domain that Fenestra's machines do not use",
        "the name of a region of AWS, such as eu-central-1",
      ],
    ],
  ],
  [
    "a region of the other cloud",
    "aws",
    { region: "westeurope" },
    [["region", "westeurope", "is not a region of AWS", "the name of a region of AWS, such as eu-central-1"]],
  ],
  [
    "a subscription on AWS",
    "aws",
    { accountId: "01234567-89ab-cdef-0123-456789abcdef" },
    [["accountId", "01234567-89ab-cdef-0123-456789abcdef", "belongs to the other cloud", "an AWS account id, 12 digits"]],
  ],
  [
    "an AWS account on Azure",
    "azure",
    { accountId: "123456789012" },
    [["accountId", "123456789012", "belongs to the other cloud", "an Azure subscription id"]],
  ],
  [
    "an account id with too few digits",
    "aws",
    { accountId: "12345" },
    [
      [
        "accountId",
        "12345",
        "is neither an AWS account id nor an Azure subscription id",
        "a text, 12 digits, or an Azure subscription's UUID in lower case, such as 123456789012. Guard: the AWS account or Azure subscription that this stack may touch, nothing else.",
      ],
    ],
  ],
  [
    "a label of Kubernetes",
    "aws",
    { "pools.0.labels": { "node.kubernetes.io/windows-build": "1" } },
    [
      [
        'pools[0].labels["node.kubernetes.io/windows-build"]',
        "node.kubernetes.io/windows-build",
        "is a label that Kubernetes or Fenestra sets",
        "a prefix of your own, or none: kubernetes.io, k8s.io and fenestra.dev are taken",
      ],
    ],
  ],
  [
    "a label of Fenestra",
    "aws",
    { "pools.0.labels": { "fenestra.dev/hyperv": "false" } },
    [
      [
        'pools[0].labels["fenestra.dev/hyperv"]',
        "fenestra.dev/hyperv",
        "is a label that Kubernetes or Fenestra sets",
        "a prefix of your own, or none: kubernetes.io, k8s.io and fenestra.dev are taken",
      ],
    ],
  ],
  [
    "a label that is no name",
    "aws",
    { "pools.0.labels": { "-a": "b" } },
    [
      [
        'pools[0].labels["-a"]',
        "-a",
        "is not the name of a label",
        "an optional DNS prefix with a slash, then up to 63 letters, digits, - _ . with a letter or digit at both ends",
      ],
    ],
  ],
  [
    "a label with a bad prefix",
    "aws",
    { "pools.0.labels": { "a..b/c": "d" } },
    [
      [
        'pools[0].labels["a..b/c"]',
        "a..b/c",
        "is not the name of a label",
        "an optional DNS prefix with a slash, then up to 63 letters, digits, - _ . with a letter or digit at both ends",
      ],
    ],
  ],
  [
    "a label value with a space",
    "aws",
    { "pools.0.labels": { a: "b c" } },
    [
      [
        "pools[0].labels.a",
        "b c",
        "is not a label value",
        "nothing, or up to 63 letters, digits, - _ . with a letter or digit at both ends",
      ],
    ],
  ],
  [
    "the taint of Windows nodes",
    "aws",
    { "pools.1.taints": [{ key: "os", value: "x", effect: "NoSchedule" }] },
    [["pools[1].taints[0]", "os:NoSchedule", "is set by Fenestra on Windows", "each key and effect once"]],
  ],
  [
    "the taint of the cloud controller",
    "aws",
    {
      "pools.0.taints": [{ key: "node.cloudprovider.kubernetes.io/uninitialized", value: "true", effect: "NoSchedule" }],
    },
    [
      [
        "pools[0].taints[0].key",
        "node.cloudprovider.kubernetes.io/uninitialized",
        "is a taint that Kubernetes or Fenestra sets",
        "a prefix of your own, or none: kubernetes.io, k8s.io and fenestra.dev are taken",
      ],
    ],
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
    [["pools[0].taints[1]", "a:NoSchedule", "is listed twice", "each key and effect once"]],
  ],
  [
    "a taint without a key",
    "aws",
    { "pools.0.taints": [{ effect: "NoSchedule" }] },
    [["pools[0].taints[0].key", undefined, "is missing", "a text that is not empty. Key of the taint."]],
  ],
  [
    "an effect that does not exist",
    "aws",
    { "pools.0.taints": [{ key: "a", effect: "noschedule" }] },
    [
      [
        "pools[0].taints[0].effect",
        "noschedule",
        "is not an allowed value",
        "one of NoSchedule, PreferNoSchedule, NoExecute. What happens to pods that do not tolerate it.",
      ],
    ],
  ],
  [
    "a tag of AWS",
    "aws",
    { tags: { "AWS:cost": "x" } },
    [
      [
        'tags["AWS:cost"]',
        "x",
        "is a tag that the program or the cloud sets",
        "a name outside fenestra:, aws:, kubernetes.io/cluster/, and not KubernetesCluster",
      ],
    ],
  ],
  [
    "a tag that cloud controllers read",
    "aws",
    { tags: { KubernetesCluster: "x" } },
    [
      [
        "tags.KubernetesCluster",
        "x",
        "is a tag that the program or the cloud sets",
        "a name outside fenestra:, aws:, kubernetes.io/cluster/, and not KubernetesCluster",
      ],
    ],
  ],
  [
    "a tag with a slash",
    "aws",
    { tags: { "a/b": "x" } },
    [['tags["a/b"]', "x", "has a character that a cloud refuses in a name", "names without < > % & \\ ? /"]],
  ],
  [
    "tag values that IAM refuses",
    "aws",
    { tags: { owner: "Web Shop & Co", cost: "a\u0000b", fine: "Größe 1/2: a@b_c.d=+-" } },
    ["cost", "owner"].map((name) => [
      `tags.${name}`,
      name === "owner" ? "Web Shop & Co" : "a\u0000b",
      "has a character that AWS refuses in tags of roles",
      "letters, digits, spaces and _ . : / = + - @",
    ]),
  ],
  [
    "a tag value of two lines",
    "azure",
    { tags: { owner: "a\r\nb", cost: "Web Shop & Co" } },
    [["tags.owner", "a\r\nb", "has a control character in its value", "values on one line"]],
  ],
  [
    "a mistyped region, whose zones are then not to blame",
    "aws",
    { region: "eu-centrall-1" },
    [["region", "eu-centrall-1", "is not a region of AWS", "the name of a region of AWS, such as eu-central-1"]],
  ],
  [
    "a mistyped region of Azure",
    "azure",
    { region: "westeuroope" },
    [["region", "westeuroope", "is not a region of Azure", "the name of a region of Azure, such as westeurope"]],
  ],
  [
    "a tag value that is too long",
    "aws",
    { tags: { a: "x".repeat(257) } },
    [["tags.a", "x".repeat(257), "has a value that is too long", "at most 256 characters"]],
  ],
  [
    "tags that differ by case",
    "azure",
    { tags: { Owner: "a", owner: "b" } },
    [["tags.owner", "b", "differs from Owner by case only", "names that differ without regard to case, as Azure compares them"]],
  ],
  ["a tag without a name", "aws", { tags: { "": "x" } }, [['tags[""]', "x", "is not an allowed key", "a key that is not empty"]]],
  [
    "more labels, taints and tags than a group of machines on AWS can have",
    "aws",
    {
      tags: Object.fromEntries(Array.from({ length: 35 }, (_, index) => [`t${index}`, "x"])),
      "pools.1.autoscale": { min: 0, max: 3 },
      "pools.1.labels": { a: "1", b: "1" },
    },
    [
      [
        "pools[1]",
        7,
        "is too many labels and taints: each needs a tag of the autoscaled group, beside the stack's own",
        "at most 6, those that Fenestra sets included: a group of machines has 50 tags",
      ],
    ],
  ],
  [
    "a label too long for a tag",
    "aws",
    { "pools.1.autoscale": { min: 0, max: 3 }, "pools.1.labels": { [`${"x".repeat(80)}.test/a`]: "1" } },
    [
      [
        "pools[1]",
        `${"x".repeat(80)}.test/a`,
        "is a label or taint too long for a pool with autoscale, which must name it in a tag",
        "keys of at most 82 characters on AWS",
      ],
    ],
  ],
];
