import type { Row } from "./row.ts";

const roleId = "2a2b9908-6ea1-4ae2-8e65-a410df84e7d1";
const subscription = "/subscriptions/00000000-0000-4000-8000-000000000000";
const managedPolicy = "arn:aws:iam::aws:policy/AmazonSQSReadOnlyAccess";

/** Names, versions, the control plane and counts. */
export const clusterRows: readonly Row[] = [
  ["a cluster named internal on AWS", "aws", { name: "internal" }],
  ["a cluster named internal-2 on AWS", "aws", { name: "internal-2" }],
  ...["windows-lab", "win-dows", "my-microsoft", "login"].map((name): Row => [`a cluster named ${name} on Azure`, "azure", { name }]),
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
  ],
  [
    "workload identity with a key that Entra ID refuses, and an issuer for people too",
    "azure",
    {
      "access.workloadIdentity": { issuer: "https://id.example" },
      "access.signIn": [{ name: "corp", issuer: "https://id.example", clientId: "a" }],
    },
  ],
  ["a key of service accounts twice", "aws", { "access.serviceAccountKeys": ["a", "b", "a"] }],
  ["a key of Secrets twice", "aws", { "secretsEncryption.keys": ["key2", "key2"] }],
  [
    "a key of KMS, as an earlier release took it",
    "aws",
    { secretsEncryption: { keys: ["key1", "kms-1"], kms: [{ name: "kms-1", key: "arn:aws:kms:eu-central-1:123456789012:key/0123" }] } },
  ],
  ["14 tags on Azure", "azure", { tags: Object.fromEntries(Array.from({ length: 14 }, (_, index) => [`tag-${index}`, ""])) }],
  ["encryption at host on AWS", "aws", { encryptionAtHost: true }],
  ["an unknown Kubernetes release", "aws", { "kubernetes.version": "1.34.0" }],
  ["a Kubernetes minor without a patch", "aws", { "kubernetes.version": "1.36" }],
  ["two control-plane machines", "aws", { "controlPlane.replicas": 2 }],
  ["a control plane on Arm", "aws", { "controlPlane.size": "m7g.large" }],
  ["a control plane that is too small", "azure", { "controlPlane.size": "Standard_B1ms" }],
  ["a control plane of unknown size", "azure", { "controlPlane.size": "Standard_L8s_v3" }],
  ["a control-plane image of the other cloud", "azure", { "controlPlane.image": "ami-0123456789abcdef0" }],
  ["min above max", "aws", { "pools.1.autoscale": { min: 3, max: 2 } }],
  ["a max of 0", "aws", { "pools.1.autoscale": { min: 0, max: 0 } }],
  ["a count outside the bounds", "aws", { "pools.1.autoscale": { min: 1, max: 4 }, "pools.1.count": 5 }],
  [
    "a count below the bounds of all zones",
    "aws",
    { "pools.1.autoscale": { min: 2, max: 4 }, "pools.1.count": 3, "pools.1.perZone": true },
  ],
  ["a negative count", "aws", { "pools.1.count": -1 }],
  ["half a machine", "aws", { "pools.1.count": 1.5 }],
];
