import { gmsa, gmsaSecrets, logs } from "../../kubernetes/switches.ts";
import type { Row } from "./row.ts";

const share = { name: "files", source: "//files.test/pods", secret: "smb-pods" };

const [account] = gmsa("aws")
  .credentialSpecs.slice(1)
  .map((each) => ({ ...each, name: "web" }));
const withSecret = { aws: { ...account, secret: gmsaSecrets.aws }, azure: { ...account, secret: gmsaSecrets.azure } };
const key = "arn:aws:kms:eu-central-1:123456789012:key/1234abcd-12ab-34cd-56ef-1234567890ab";

const { azureMonitor } = logs("azure");
const otlp = { endpoint: "https://otlp.test/v1/logs" };
const header = { name: "X-Token", secret: "token" };
const rsa = { "access.serviceAccountKeys": ["rsa-1"] };

/** Mistakes in the options of add-ons. */
export const addOnRows: readonly Row[] = [
  ["a share by its Windows path", "aws", { "addons.smb": { shares: [{ ...share, source: "\\\\files.test\\pods" }] } }],
  ["a share named as the disks' StorageClass", "azure", { "addons.smb": { shares: [{ ...share, name: "windows" }] } }],
  ["snapshots without disks", "aws", { "addons.storage": false, "addons.volumeSnapshots": true }],
  ["two shares of one name", "aws", { "addons.smb": { shares: [share, { ...share, source: "//files.test/other" }] } }],
  ["logs to nowhere", "aws", { "addons.logs": {} }],
  ["logs to two places", "azure", { "addons.logs": { azureMonitor, otlp }, "access.workloadIdentity": {}, ...rsa }],
  ["logs to the other cloud's service", "aws", { "addons.logs": { azureMonitor } }],
  ["logs to CloudWatch without an identity", "aws", { "addons.logs": { cloudwatch: {} } }],
  ["one header twice", "azure", { "addons.logs": { otlp: { ...otlp, headers: [header, { ...header, name: "x-TOKEN" }] } } }],
  ["two accounts of one name", "aws", { "addons.gmsa": { credentialSpecs: [account, account] } }],
  [
    "the plug-in on Linux",
    "aws",
    {
      "pools.0.ccgPlugin": true,
      "pools.1.ccgPlugin": true,
      "pools.1.image": "ami-0a1b2c3d4e5f60718",
      "addons.gmsa": { credentialSpecs: [withSecret.aws] },
    },
  ],
  ["the plug-in without an account", "azure", { "pools.1.ccgPlugin": true, "addons.gmsa": { credentialSpecs: [account] } }],
  ["a secret that no node reads", "azure", { "addons.gmsa": { credentialSpecs: [withSecret.azure] } }],
  [
    "the plug-in on AWS, where none is published",
    "aws",
    { "pools.1.ccgPlugin": true, "addons.gmsa": { credentialSpecs: [withSecret.aws] } },
  ],
  ["a secret of the other cloud", "azure", { "pools.1.ccgPlugin": true, "addons.gmsa": { credentialSpecs: [withSecret.aws] } }],
  [
    "an ARN without its last characters, and a key on its own",
    "aws",
    {
      "pools.1.ccgPlugin": true,
      "pools.1.image": "ami-0a1b2c3d4e5f60718",
      "addons.gmsa": {
        credentialSpecs: [
          { ...withSecret.aws, secret: "arn:aws:secretsmanager:eu-central-1:123456789012:secret:gmsa" },
          { ...account, name: "reports", kmsKey: key },
        ],
      },
    },
  ],
  [
    "a key of AWS on Azure",
    "azure",
    { "pools.1.ccgPlugin": true, "addons.gmsa": { credentialSpecs: [{ ...withSecret.azure, kmsKey: key }] } },
  ],
  [
    "limits of an autoscaler that is off",
    "aws",
    { "addons.autoscaler": false, "addons.autoscalerLimits": { nodes: 9 }, "pools.0.autoscale": { min: 0, max: 3 } },
  ],
  ["limits without a pool that grows", "azure", { "addons.autoscalerLimits": { cores: 64 } }],
  [
    "a limit that the least numbers reach",
    "aws",
    {
      "controlPlane.replicas": 3,
      "addons.autoscalerLimits": { nodes: 8 },
      "pools.0.autoscale": { min: 2, max: 3 },
      "pools.0.perZone": true,
    },
  ],
];
