import { z } from "zod";
import {
  certificate,
  described,
  exampleCertificate,
  lowerCaseName,
  matching,
  nameForm,
  ofOrganisation,
  section,
  switchOff,
  switchOn,
} from "./forms.ts";

/** What CloudWatch keeps logs for, in days (CloudWatch Logs API, PutRetentionPolicy). */
const retentionDays = [
  1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 545, 731, 1096, 1827, 2192, 2557, 2922, 3288, 3653,
] as const;

const cloudwatch = section(
  "A log group of CloudWatch named /fenestra/ and the cluster's name, which the program creates. Needs access.workloadIdentity.",
  {
    retentionDays: described(
      z.literal(retentionDays).default(90),
      "Days that CloudWatch keeps the logs, of the periods that it knows.",
    ),
  },
);

const azureMonitor = section(
  "A data collection rule of Azure Monitor with an OTLP data source, which you create. Needs access.workloadIdentity.",
  {
    endpoint: described(
      z
        .url({ protocol: /^https$/ })
        .regex(
          /\/data[Cc]ollection[Rr]ules\/[^/]+\/streams\/[^/]+\/otlp\/v1\/logs$/,
          "is not a rule's URL for OTLP logs",
        ),
      "URL of the rule's stream for OTLP logs, as the portal shows it at the data collection rule.",
      {
        patternErrorMessage: "the https URL for OTLP logs of a data collection rule, up to /otlp/v1/logs",
        examples: [
          "https://logs-1234.westeurope-1.ingest.monitor.azure.com/datacollectionRules/dcr-0123/streams/Microsoft-OTLP-Logs/otlp/v1/logs",
        ],
      },
    ),
    dataCollectionRule: described(
      matching(
        /^\/subscriptions\/[0-9a-f-]{36}\/resourceGroups\/[^/]+\/providers\/Microsoft\.Insights\/dataCollectionRules\/[^/]+$/i,
        "is not the resource id of a data collection rule",
      ),
      "Resource id of that rule: the collectors' identity gets the right to write to it, and no other.",
      {
        patternErrorMessage: "/subscriptions/…/resourceGroups/…/providers/Microsoft.Insights/dataCollectionRules/…",
        examples: [
          "/subscriptions/00000000-0000-4000-8000-000000000000/resourceGroups/logs/providers/Microsoft.Insights/dataCollectionRules/cluster-logs",
        ],
      },
    ),
  },
);

const header = z.strictObject({
  name: described(matching(/^[A-Za-z][A-Za-z0-9-]*$/, "is not the name of a header"), "Name of the header.", {
    patternErrorMessage: "letters, digits and hyphens, a letter first",
    examples: ["Authorization"],
  }),
  secret: described(
    lowerCaseName(),
    "Name of a Secret in fenestra-monitoring that you make yourself; collectors start once it exists.",
    { ...nameForm, examples: ["log-token"] },
  ),
  key: described(
    matching(/^[A-Za-z0-9._-]+$/, "is not a key of a Secret").default("value"),
    "Key of the Secret whose value is the header's value.",
    { patternErrorMessage: "letters, digits, dots, hyphens and underscores" },
  ),
});

const otlp = section("Any endpoint that takes OTLP over HTTPS.", {
  endpoint: described(
    z
      .url({ protocol: /^https$/, abort: true })
      .regex(/^https:\/\/[^/?#@\s]+([/?#]\S*)?$/, "has a login, which belongs in a Secret of headers, or a space"),
    "URL that takes logs by OTLP over HTTP, with its path, which is mostly /v1/logs.",
    { patternErrorMessage: "an https URL", examples: ["https://otlp.example.com/v1/logs"] },
  ),
  headers: described(
    z.array(header).max(10).default([]),
    "Headers of each request. Their values are in Secrets of the cluster, never in this file.",
  ),
  certificateAuthority: described(
    certificate().optional(),
    "Authority that issued the endpoint's certificate. Default the public ones.",
    { patternErrorMessage: "certificates in PEM", examples: [exampleCertificate] },
  ),
});

const logsSchema = section(
  "Sends logs to one of cloudwatch, azureMonitor and otlp, by the OpenTelemetry collector on every node: containers, the API server's audit log, kubelet and containerd, event logs of Windows.",
  {
    cloudwatch: cloudwatch.optional(),
    azureMonitor: azureMonitor.optional(),
    otlp: otlp.optional(),
    windowsSecurity: switchOff(
      "Whether the channel Security of Windows nodes is sent too: sign-ins, and, where auditing is on, every process. Large.",
    ),
  },
);

const credentialSpecSchema = section("A group Managed Service Account that pods may use.", {
  name: described(
    lowerCaseName(),
    "Name by which pods refer to it: securityContext.windowsOptions.gmsaCredentialSpecName.",
    nameForm,
  ),
  account: described(
    matching(/^[^$\\]*$/, "has a $ or a domain")
      .min(1)
      .max(15),
    "Name of the account in Active Directory, without domain and without $.",
    { patternErrorMessage: "its name alone" },
  ),
  domain: section("The account's domain.", {
    dnsName: described(z.string().min(1), "DNS name of the domain: corp.example.com."),
    netBiosName: described(z.string().min(1).max(15), "NetBIOS name of the domain: CORP."),
    forest: described(z.string().optional(), "DNS name of the forest. Default the domain."),
    sid: described(
      matching(/^S-1-5-21(-\d+){3}$/, "is not the SID of a domain"),
      "Security identifier of the domain.",
      {
        patternErrorMessage: "S-1-5-21 and three numbers with hyphens",
        examples: ["S-1-5-21-2126449477-2524075714-3094792973"],
      },
    ),
    guid: described(z.guid(), "GUID of the domain object."),
  }),
  secret: described(
    z.string().optional(),
    "For nodes that have not joined the domain: the secret with an account that may read the gMSA's password. AWS: ARN of a secret of Secrets Manager; its text is JSON with username, password and domainName. Azure: resource id of a secret of a Key Vault; its text is domain\\user:password.",
  ),
  kmsKey: described(
    matching(
      /^arn:aws[a-z-]*:kms:[a-z0-9-]+:\d{12}:key\/(mrk-[0-9a-f]{32}|[0-9a-f-]{36})$/,
      "is not the ARN of a key",
    ).optional(),
    "Key that encrypts the secret, where that is not the account's aws/secretsmanager.",
    {
      patternErrorMessage: "the ARN of a KMS key",
      examples: ["arn:aws:kms:eu-central-1:123456789012:key/1234abcd-12ab-34cd-56ef-1234567890ab"],
    },
  ),
});

const shareSchema = section("A Windows share that a StorageClass makes volumes in.", {
  name: described(lowerCaseName(), "Name of the StorageClass.", nameForm),
  source: described(
    matching(/^\/\/[^/\\\s]+(\/[^/\\\s]+)+$/, "is not the address of a share"),
    "Address of the share. Nodes look the server's name up, Windows ones by their own DNS: a Service's name is not found there.",
    { patternErrorMessage: "two slashes, the server, a slash, the share", examples: ["//files.corp.example.com/pods"] },
  ),
  secret: described(
    lowerCaseName(),
    "Name of a Secret in kube-system that you make yourself, with username, password and, for an account of Active Directory, domain.",
    nameForm,
  ),
  mountOptions: described(
    z.array(z.string().min(1)).default([]),
    "Options of the mount on Linux, such as dir_mode=0777; Windows reads none.",
  ),
});

export const addonsSchema = section("In-cluster add-ons.", {
  cloudController: switchOn(
    "Cloud controller manager: removes the uninitialized taint, labels zones, makes load balancers. Off only when you run your own, or no node gets ready.",
  ),
  storage: switchOn(
    "Disks of the cloud for pods on both systems: CSI driver, and the StorageClasses `linux` (ext4, the default) and `windows` (NTFS). Windows formats a disk of the other system anew, so a claim of a Windows pod names `windows`.",
  ),
  volumeSnapshots: switchOff(
    "Snapshots of the disks of `storage`: definitions, controller, and the VolumeSnapshotClass `disks`. Switched off, definitions and VolumeSnapshots stay, and nothing deletes those: delete them before.",
  ),
  smb: section("Windows shares as volumes for pods on both systems: SMB CSI driver.", {
    shares: described(
      z.array(shareSchema).default([]),
      "Shares that pods may ask volumes of, each with its StorageClass.",
    ),
  }).optional(),
  guardRails: switchOn(
    "Admission policies: Windows pods get their RuntimeClass, what Windows ignores is warned of, HostProcess pods, the control plane and addresses that a Service chooses are kept to allowed namespaces, and gMSA accounts to where they are checked.",
  ),
  metricsServer: switchOn("Metrics for kubectl top and the horizontal autoscaler."),
  exporters: switchOff(
    "Prometheus exporters for Linux and Windows nodes; other machines also reach the metrics of etcd, controller manager, scheduler and kube-proxy on Linux.",
  ),
  nodeProblemDetector: switchOff(
    "Node conditions: on Linux for failures of the kernel and its file systems, on Windows, 2019 excepted, for the kubelet and containerd.",
  ),
  logs: logsSchema.optional(),
  autoscaler: described(z.boolean().optional(), "Cluster autoscaler. Default on when a pool has autoscale bounds."),
  gmsa: ofOrganisation(
    section("Group Managed Service Accounts: admission webhook and credential specifications.", {
      credentialSpecs: described(
        z.array(credentialSpecSchema).default([]),
        "Accounts that pods may use; a pod's service account needs the right to use each.",
      ),
    }).optional(),
  ),
  samples: described(z.boolean().optional(), "Sample workloads per Windows build. Default on, off in production."),
});
