import { readArtifactLock } from "../../../components/model/artifacts.ts";
import { selectableVersions } from "../../../components/model/releases.ts";
import type { Row } from "./row.ts";

const roleId = "2a2b9908-6ea1-4ae2-8e65-a410df84e7d1";
const subscription = "/subscriptions/00000000-0000-4000-8000-000000000000";
const managedPolicy = "arn:aws:iam::aws:policy/AmazonSQSReadOnlyAccess";

/** Names, versions, the control plane and counts. */
export const clusterRows: readonly Row[] = [
  [
    "a cluster named internal on AWS",
    "aws",
    { name: "internal" },
    [
      [
        "name",
        "internal",
        "makes the name of a load balancer that AWS refuses",
        "a name that is not internal and does not begin with internal-",
      ],
    ],
  ],
  [
    "a cluster named internal-2 on AWS",
    "aws",
    { name: "internal-2" },
    [
      [
        "name",
        "internal-2",
        "makes the name of a load balancer that AWS refuses",
        "a name that is not internal and does not begin with internal-",
      ],
    ],
  ],
  ...["windows-lab", "win-dows", "my-microsoft", "login"].map(
    (name): Row => [
      `a cluster named ${name} on Azure`,
      "azure",
      { name },
      [
        [
          "name",
          name,
          "makes names of a vault and a storage account that Azure refuses: ReservedResourceName",
          "a name without microsoft and windows, hyphens not counted, that does not begin with login",
        ],
      ],
    ],
  ),
  [
    "two issuers of one name and URL, and one that is called system",
    "aws",
    {
      "access.signIn": [
        { name: "corp", issuer: "https://id.example", clientId: "a" },
        { name: "corp", issuer: "https://id.example", clientId: "b" },
        { name: "system", issuer: "https://other.example", clientId: "c" },
      ],
    },
    [
      ["access.signIn[1].issuer", "https://id.example", "is listed twice", "each issuer once"],
      ["access.signIn[1].name", "corp", "is the name of two issuers", "each name once"],
      ["access.signIn[2].name", "system", "would let an issuer speak for the components of Kubernetes", "any other name"],
    ],
  ],
  [
    "rights of the other cloud, of nobody, in a namespace of the system, twice",
    "aws",
    {
      "access.workloadIdentity": {
        serviceAccounts: [
          { namespace: "shop", name: "a", roles: [{ role: roleId, scope: `${subscription}/resourceGroups/shop` }] },
          { namespace: "kube-system", name: "b", statements: [{ actions: ["s3:GetObject"], resources: ["*"] }] },
          { namespace: "shop", name: "c", policies: [managedPolicy] },
          { namespace: "shop", name: "c", policies: [managedPolicy] },
        ],
      },
    },
    [
      ["access.workloadIdentity.serviceAccounts[0]", "shop/a", "has no rights", "policies or statements"],
      [
        "access.workloadIdentity.serviceAccounts[0].roles",
        [{ role: roleId, scope: `${subscription}/resourceGroups/shop` }],
        "is a setting of Azure",
        "policies, statements",
      ],
      [
        "access.workloadIdentity.serviceAccounts[1].namespace",
        "kube-system",
        "is a namespace of the system",
        "a namespace whose name begins with neither kube- nor fenestra-",
      ],
      ["access.workloadIdentity.serviceAccounts[3]", "shop/c", "is listed twice", "each service account once"],
    ],
  ],
  [
    "workload identity with a key that Entra ID refuses, and an issuer for people too",
    "azure",
    {
      "access.workloadIdentity": { issuer: "https://id.example" },
      "access.signIn": [{ name: "corp", issuer: "https://id.example", clientId: "a" }],
    },
    [
      [
        "access.serviceAccountKeys[0]",
        "ecdsa",
        "signs with P-256, which Entra ID refuses (AADSTS5002738)",
        "an RSA key in first place while access.workloadIdentity is there",
      ],
      ["access.workloadIdentity.issuer", "https://id.example", "is an issuer of access.signIn too", "another URL"],
    ],
  ],
  [
    "a key of service accounts twice",
    "aws",
    { "access.serviceAccountKeys": ["a", "b", "a"] },
    [["access.serviceAccountKeys[2]", "a", "is listed twice", "each key once"]],
  ],
  [
    "a key of Secrets twice",
    "aws",
    { "secretsEncryption.keys": ["key2", "key2"] },
    [["secretsEncryption.keys[1]", "key2", "is listed twice", "each key once"]],
  ],
  [
    "a key of KMS, as an earlier release took it",
    "aws",
    { secretsEncryption: { keys: ["key1", "kms-1"], kms: [{ name: "kms-1", key: "arn:aws:kms:eu-central-1:123456789012:key/0123" }] } },
    [
      [
        "secretsEncryption.kms",
        [{ name: "kms-1", key: "arn:aws:kms:eu-central-1:123456789012:key/0123" }],
        "is not a key that Fenestra knows",
        "one of keys",
      ],
    ],
  ],
  [
    "14 tags on Azure",
    "azure",
    { tags: Object.fromEntries(Array.from({ length: 14 }, (_, index) => [`tag-${index}`, ""])) },
    [["tags", 14, "has too many tags for Azure's DNS zones", "at most 13"]],
  ],
  [
    "encryption at host on AWS",
    "aws",
    { encryptionAtHost: true },
    [["encryptionAtHost", true, "is a setting of Azure", "false on AWS, where the host encrypts every volume that Fenestra makes"]],
  ],
  [
    "an unknown Kubernetes release",
    "aws",
    { "kubernetes.version": "1.34.0" },
    [
      [
        "kubernetes.version",
        "1.34.0",
        "is a Kubernetes release without artifacts in the lock file",
        `one of ${selectableVersions(readArtifactLock()).join(", ")}`,
      ],
    ],
  ],
  [
    "a Kubernetes minor without a patch",
    "aws",
    { "kubernetes.version": "1.36" },
    [
      [
        "kubernetes.version",
        "1.36",
        "is not a release such as 1.36.4",
        "a text, three numbers with dots, such as 1.36.4. Kubernetes release, major.minor.patch. Must be in the lock file of artifacts. Upgrades go one minor at a time.",
      ],
    ],
  ],
  [
    "two control-plane machines",
    "aws",
    { "controlPlane.replicas": 2 },
    [
      [
        "controlPlane.replicas",
        2,
        "is not an allowed value",
        "1 or 3 or 5. Control-plane machines, each with an etcd member: 1, 3 or 5, spread over the zones. They may become more, not fewer: the members that leave hold etcd's quorum.",
      ],
    ],
  ],
  [
    "a control plane on Arm",
    "aws",
    { "controlPlane.size": "m7g.large" },
    [
      [
        "controlPlane.size",
        "m7g.large",
        "is an Arm size",
        "an x86 size: c5, m5, r5 and later from large on, t3 and later from medium to 2xlarge",
      ],
    ],
  ],
  [
    "a control plane that is too small",
    "azure",
    { "controlPlane.size": "Standard_B1ms" },
    [["controlPlane.size", "Standard_B1ms", "is too small for a control plane", "2 processors and 2 GiB at least (kubeadm)"]],
  ],
  [
    "a control plane of unknown size",
    "azure",
    { "controlPlane.size": "Standard_L8s_v3" },
    [
      [
        "controlPlane.size",
        "Standard_L8s_v3",
        "is not a machine size that Fenestra knows",
        "an x86 size: B, F, and D and E from version 3 on",
      ],
    ],
  ],
  [
    "a control-plane image of the other cloud",
    "azure",
    { "controlPlane.image": "ami-0123456789abcdef0" },
    [
      [
        "controlPlane.image",
        "ami-0123456789abcdef0",
        "is neither latest nor a pinned image",
        "latest, an image version of three numbers with dots, or the id of an image in a gallery",
      ],
    ],
  ],
  [
    "min above max",
    "aws",
    { "pools.1.autoscale": { min: 3, max: 2 } },
    [["pools[1].autoscale", { min: 3, max: 2 }, "has min above max", "a min that is at most max"]],
  ],
  [
    "a max of 0",
    "aws",
    { "pools.1.autoscale": { min: 0, max: 0 } },
    [["pools[1].autoscale.max", 0, "is too small", "a whole number from 1 to 1000. Most machines."]],
  ],
  [
    "a count outside the bounds",
    "aws",
    { "pools.1.autoscale": { min: 1, max: 4 }, "pools.1.count": 5 },
    [["pools[1].count", 5, "lies outside the bounds of autoscale", "1 to 4"]],
  ],
  [
    "a count below the bounds of all zones",
    "aws",
    { "pools.1.autoscale": { min: 2, max: 4 }, "pools.1.count": 3, "pools.1.perZone": true },
    [["pools[1].count", 3, "lies outside the bounds of autoscale", "4 to 8, since the bounds hold for each of 2 zones"]],
  ],
  [
    "a negative count",
    "aws",
    { "pools.1.count": -1 },
    [
      [
        "pools[1].count",
        -1,
        "is too small",
        "a whole number from 0 to 1000. Machines wanted. Default 1; the lower bound of autoscale when that is given.",
      ],
    ],
  ],
  [
    "half a machine",
    "aws",
    { "pools.1.count": 1.5 },
    [
      [
        "pools[1].count",
        1.5,
        "is not a whole number",
        "a whole number from 0 to 1000. Machines wanted. Default 1; the lower bound of autoscale when that is given.",
      ],
    ],
  ],
];
