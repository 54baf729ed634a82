import { gmsa, gmsaSecrets, logs } from "../../kubernetes/switches.ts";
import type { Row } from "./row.ts";

const share = { name: "files", source: "//files.test/pods", secret: "smb-pods" };

const [account] = gmsa("aws")
  .credentialSpecs.slice(1)
  .map((each) => ({ ...each, name: "web" }));
const withSecret = {
  aws: { ...account, secret: gmsaSecrets.aws },
  azure: { ...account, secret: gmsaSecrets.azure },
};
const key = "arn:aws:kms:eu-central-1:123456789012:key/1234abcd-12ab-34cd-56ef-1234567890ab";

const { azureMonitor } = logs("azure");
const otlp = { endpoint: "https://otlp.test/v1/logs" };
const header = { name: "X-Token", secret: "token" };
const rsa = { "access.serviceAccountKeys": ["rsa-1"] };

/** Mistakes in the options of add-ons. */
export const addOnRows: readonly Row[] = [
  [
    "a share by its Windows path",
    "aws",
    { "addons.smb": { shares: [{ ...share, source: "\\\\files.test\\pods" }] } },
    [
      [
        "addons.smb.shares[0].source",
        "\\\\files.test\\pods",
        "is not the address of a share",
        "a text, two slashes, the server, a slash, the share, such as //files.corp.example.com/pods. Address of the share. Nodes look the server's name up, Windows ones by their own DNS: a Service's name is not found there.",
      ],
    ],
  ],
  [
    "a share named as the disks' StorageClass",
    "azure",
    { "addons.smb": { shares: [{ ...share, name: "windows" }] } },
    [["addons.smb.shares[0].name", "windows", "is the StorageClass of the cloud's disks", "a name other than linux and windows"]],
  ],
  [
    "two shares of one name",
    "aws",
    { "addons.smb": { shares: [share, { ...share, source: "//files.test/other" }] } },
    [["addons.smb.shares[1].name", "files", "is listed twice", "each name once"]],
  ],
  ["logs to nowhere", "aws", { "addons.logs": {} }, [["addons.logs", [], "names no destination", "one of cloudwatch and otlp"]]],
  [
    "logs to two places",
    "azure",
    { "addons.logs": { azureMonitor, otlp }, "access.workloadIdentity": {}, ...rsa },
    [["addons.logs", ["azureMonitor", "otlp"], "names two", "one of azureMonitor and otlp"]],
  ],
  [
    "logs to the other cloud's service",
    "aws",
    { "addons.logs": { azureMonitor } },
    [["addons.logs.azureMonitor", azureMonitor, "is a service of the other cloud", "one of cloudwatch and otlp"]],
  ],
  [
    "logs to CloudWatch without an identity",
    "aws",
    { "addons.logs": { cloudwatch: {} } },
    [
      [
        "addons.logs.cloudwatch",
        { retentionDays: 90 },
        "needs an identity of the collectors' own",
        "cloudwatch only with access.workloadIdentity",
      ],
    ],
  ],
  [
    "one header twice",
    "azure",
    { "addons.logs": { otlp: { ...otlp, headers: [header, { ...header, name: "x-TOKEN" }] } } },
    [["addons.logs.otlp.headers[1].name", "x-TOKEN", "is listed twice", "each name once"]],
  ],
  [
    "two accounts of one name",
    "aws",
    { "addons.gmsa": { credentialSpecs: [account, account] } },
    [["addons.gmsa.credentialSpecs[1].name", "web", "is listed twice", "each name once"]],
  ],
  [
    "the plug-in on Linux",
    "aws",
    {
      "pools.0.ccgPlugin": true,
      "pools.1.ccgPlugin": true,
      "pools.1.image": "ami-0a1b2c3d4e5f60718",
      "addons.gmsa": { credentialSpecs: [withSecret.aws] },
    },
    [["pools[0].ccgPlugin", true, "is meant for Windows pools", "false on Linux"]],
  ],
  [
    "the plug-in without an account",
    "azure",
    { "pools.1.ccgPlugin": true, "addons.gmsa": { credentialSpecs: [account] } },
    [
      [
        "pools[1].ccgPlugin",
        true,
        "needs at least one gMSA account with a secret",
        "true only where an account of addons.gmsa.credentialSpecs has a secret",
      ],
    ],
  ],
  [
    "a secret that no node reads",
    "azure",
    { "addons.gmsa": { credentialSpecs: [withSecret.azure] } },
    [["addons.gmsa.credentialSpecs[0].secret", gmsaSecrets.azure, "is read by no node", "a secret only where a pool has ccgPlugin"]],
  ],
  [
    "the plug-in on AWS, where none is published",
    "aws",
    { "pools.1.ccgPlugin": true, "addons.gmsa": { credentialSpecs: [withSecret.aws] } },
    [
      [
        "pools[1].ccgPlugin",
        true,
        "has no plug-in to install, and the image latest has none",
        "true only with an image that has the plug-in, which AWS publishes in its own images alone",
      ],
    ],
  ],
  [
    "a secret of the other cloud",
    "azure",
    { "pools.1.ccgPlugin": true, "addons.gmsa": { credentialSpecs: [withSecret.aws] } },
    [
      [
        "addons.gmsa.credentialSpecs[0].secret",
        gmsaSecrets.aws,
        "is not the name of a secret",
        "the resource id of a secret: /subscriptions/…/resourceGroups/…/providers/Microsoft.KeyVault/vaults/…/secrets/…",
      ],
    ],
  ],
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
    [
      [
        "addons.gmsa.credentialSpecs[0].secret",
        "arn:aws:secretsmanager:eu-central-1:123456789012:secret:gmsa",
        "is not the name of a secret",
        "the whole ARN of a secret of Secrets Manager, with its six last characters",
      ],
      ["addons.gmsa.credentialSpecs[1].kmsKey", key, "is the key of no secret", "a key only where secret names one of Secrets Manager"],
    ],
  ],
  [
    "a key of AWS on Azure",
    "azure",
    {
      "pools.1.ccgPlugin": true,
      "addons.gmsa": { credentialSpecs: [{ ...withSecret.azure, kmsKey: key }] },
    },
    [["addons.gmsa.credentialSpecs[0].kmsKey", key, "is a setting of AWS", "a key only where secret names one of Secrets Manager"]],
  ],
  [
    "limits of an autoscaler that is off",
    "aws",
    { "addons.autoscaler": false, "addons.autoscalerLimits": { nodes: 9 }, "pools.0.autoscale": { min: 0, max: 3 } },
    [
      [
        "addons.autoscalerLimits",
        { nodes: 9, scaleDown: true },
        "limits an autoscaler that is switched off",
        "limits only with the autoscaler",
      ],
    ],
  ],
  [
    "limits without a pool that grows",
    "azure",
    { "addons.autoscalerLimits": { cores: 64 } },
    [
      [
        "addons.autoscalerLimits",
        { cores: 64, scaleDown: true },
        "limits no autoscaler: no pool has autoscale",
        "limits only with the autoscaler",
      ],
    ],
  ],
  [
    "a limit that the least numbers reach",
    "aws",
    {
      "controlPlane.replicas": 3,
      "addons.autoscalerLimits": { nodes: 8 },
      "pools.0.autoscale": { min: 2, max: 3 },
      "pools.0.perZone": true,
    },
    [
      [
        "addons.autoscalerLimits.nodes",
        8,
        "lets no pool grow: control plane and the least numbers of the pools are 8 nodes",
        "more than 8, or no limit",
      ],
    ],
  ],
];
