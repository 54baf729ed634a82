import { z } from "zod";
import { certificate, described, exampleCertificate, lowerCaseName, matching, nameForm, section, switchOff } from "./forms.ts";

/** What CloudWatch keeps logs for, in days (CloudWatch Logs API, PutRetentionPolicy). */
const retentionDays = [1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 545, 731, 1096, 1827, 2192, 2557, 2922, 3288, 3653] as const;

const cloudwatch = section(
  "AWS: a log group of CloudWatch named /fenestra/ and the cluster's name, which the program creates. Needs access.workloadIdentity.",
  { retentionDays: described(z.literal(retentionDays).default(90), "Days that CloudWatch keeps the logs, of the periods that it knows.") },
);

const azureMonitor = section(
  "Azure: a data collection rule of Azure Monitor with an OTLP data source, which you create. Needs access.workloadIdentity.",
  {
    endpoint: described(
      z
        .url({ protocol: /^https$/ })
        .regex(/\/datacollectionrules\/[^/]+\/streams\/[^/]+\/otlp\/v1\/logs$/i, "is not a rule's URL for OTLP logs"),
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
  secret: described(lowerCaseName(), "Name of a Secret in fenestra-monitoring that you make yourself; collectors start once it exists.", {
    ...nameForm,
    examples: ["log-token"],
  }),
  key: described(
    matching(/^[A-Za-z0-9._-]+$/, "is not a key of a Secret").default("value"),
    "Key of the Secret whose value is the header's value.",
    { patternErrorMessage: "letters, digits, dots, hyphens and underscores" },
  ),
});

const otlp = section("Any endpoint that takes OTLP over HTTPS.", {
  endpoint: described(z.url({ protocol: /^https$/ }), "URL that takes logs by OTLP over HTTP, with its path, which is mostly /v1/logs.", {
    patternErrorMessage: "an https URL",
    examples: ["https://otlp.example.com/v1/logs"],
  }),
  headers: described(
    z.array(header).max(10).default([]),
    "Headers of each request. Their values are in Secrets of the cluster, never in this file.",
  ),
  certificateAuthority: described(certificate().optional(), "Authority that issued the endpoint's certificate. Default the public ones.", {
    patternErrorMessage: "certificates in PEM",
    examples: [exampleCertificate],
  }),
});

export const logsSchema = section(
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
