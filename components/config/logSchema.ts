import { z } from "zod";
import { certificate, exampleCertificate, lowerCaseName, nameForm } from "./forms.ts";

/** What CloudWatch keeps logs for, in days (CloudWatch Logs API, PutRetentionPolicy). */
const retentionDays = [1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 545, 731, 1096, 1827, 2192, 2557, 2922, 3288, 3653] as const;

const cloudwatch = z
  .strictObject({
    retentionDays: z
      .literal(retentionDays)
      .default(90)
      .meta({ description: "Days that CloudWatch keeps the logs, of the periods that it knows." }),
  })
  .meta({
    description:
      "AWS: a log group of CloudWatch named /fenestra/ and the cluster's name, which the program creates. Needs access.workloadIdentity.",
  });

const azureMonitor = z
  .strictObject({
    endpoint: z
      .url({ protocol: /^https$/ })
      .regex(/\/datacollectionrules\/[^/]+\/streams\/[^/]+\/otlp\/v1\/logs$/i, "is not a rule's URL for OTLP logs")
      .meta({
        patternErrorMessage: "the https URL for OTLP logs of a data collection rule, up to /otlp/v1/logs",
        examples: [
          "https://logs-1234.westeurope-1.ingest.monitor.azure.com/datacollectionRules/dcr-0123/streams/Microsoft-OTLP-Logs/otlp/v1/logs",
        ],
        description: "URL of the rule's stream for OTLP logs, as the portal shows it at the data collection rule.",
      }),
    dataCollectionRule: z
      .string()
      .regex(
        /^\/subscriptions\/[0-9a-f-]{36}\/resourceGroups\/[^/]+\/providers\/Microsoft\.Insights\/dataCollectionRules\/[^/]+$/i,
        "is not the resource id of a data collection rule",
      )
      .meta({
        patternErrorMessage: "/subscriptions/…/resourceGroups/…/providers/Microsoft.Insights/dataCollectionRules/…",
        examples: [
          "/subscriptions/00000000-0000-4000-8000-000000000000/resourceGroups/logs/providers/Microsoft.Insights/dataCollectionRules/cluster-logs",
        ],
        description: "Resource id of that rule: the collectors' identity gets the right to write to it, and no other.",
      }),
  })
  .meta({
    description:
      "Azure: a data collection rule of Azure Monitor with an OTLP data source, which you create. Needs access.workloadIdentity.",
  });

const header = z.strictObject({
  name: z
    .string()
    .regex(/^[A-Za-z][A-Za-z0-9-]*$/, "is not the name of a header")
    .meta({
      patternErrorMessage: "letters, digits and hyphens, a letter first",
      examples: ["Authorization"],
      description: "Name of the header.",
    }),
  secret: lowerCaseName().meta({
    ...nameForm,
    examples: ["log-token"],
    description: "Name of a Secret in fenestra-monitoring that you make yourself; collectors start once it exists.",
  }),
  key: z
    .string()
    .regex(/^[A-Za-z0-9._-]+$/, "is not a key of a Secret")
    .default("value")
    .meta({
      patternErrorMessage: "letters, digits, dots, hyphens and underscores",
      description: "Key of the Secret whose value is the header's value.",
    }),
});

const otlp = z
  .strictObject({
    endpoint: z
      .url({ protocol: /^https$/ })
      .meta({
        patternErrorMessage: "an https URL",
        examples: ["https://otlp.example.com/v1/logs"],
        description: "URL that takes logs by OTLP over HTTP, with its path, which is mostly /v1/logs.",
      }),
    headers: z
      .array(header)
      .max(10)
      .default([])
      .meta({ description: "Headers of each request. Their values are in Secrets of the cluster, never in this file." }),
    certificateAuthority: certificate()
      .optional()
      .meta({
        patternErrorMessage: "certificates in PEM",
        examples: [exampleCertificate],
        description: "Authority that issued the endpoint's certificate. Default the public ones.",
      }),
  })
  .meta({ description: "Any endpoint that takes OTLP over HTTPS." });

export const logsSchema = z
  .strictObject({
    cloudwatch: cloudwatch.optional(),
    azureMonitor: azureMonitor.optional(),
    otlp: otlp.optional(),
    windowsSecurity: z
      .boolean()
      .default(false)
      .meta({
        description:
          "Whether the channel Security of Windows nodes is sent too: sign-ins, and, where auditing is on, every process. Large.",
      }),
  })
  .meta({
    description:
      "Sends logs to one of cloudwatch, azureMonitor and otlp, by the OpenTelemetry collector on every node: containers, the API server's audit log, kubelet and containerd, event logs of Windows.",
  });
