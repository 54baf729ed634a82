import type { ClusterSpec } from "../../model/clusterSpec.ts";
import { type LogCollector, type LogSettings, logGroupName } from "../../model/logs.ts";
import { tokenFacts } from "../../model/workloadIdentity.ts";

/** Variable with the value of a header. */
export function headerVariable(index: number): string {
  return `HEADER_${index}`;
}

/** The value of a variable. */
export function variable(name: string): string {
  return `\${env:${name}}`;
}

/** A text of the stack file as the collector's configuration takes it: a dollar sign begins a variable there. */
function literal(text: string): string {
  return text.replaceAll("$", "$$$$");
}

interface Destination {
  /** How requests are signed; none with headers alone. */
  readonly extension?: { readonly name: string; readonly settings: object };
  readonly exporter: object;
  /** Bytes of a request. */
  readonly batch: { readonly min_size: number; readonly max_size: number };
  /** What the destination needs done to a record, by the processors' names. */
  readonly processors?: Readonly<Record<string, object>>;
}

const isOld = 'where log.time_unix_nano > 0 and Now() - log.time > Duration("20h")';

/**
 * CloudWatch refuses a request with records more than 24 hours apart, which is for good (Amazon CloudWatch User Guide, "OTLP endpoints",
 * limits of logs). The first requests of a node have what has lain there for days, together with what is new.
 */
const present = {
  error_mode: "ignore",
  log_statements: [
    `set(log.attributes["log.time.original"], FormatTime(log.time, "%Y-%m-%dT%H:%M:%S.%LZ")) ${isOld}`,
    `set(log.time, Now()) ${isOld}`,
  ],
};

/** What Azure Monitor takes is a megabyte (Azure Monitor service limits, "Logs ingestion API"). */
const largeBatch = { min_size: 200_000, max_size: 900_000 };

/** CloudWatch takes a megabyte in most regions, and counts the attributes of a resource for each of its records. */
const smallBatch = { min_size: 50_000, max_size: 150_000 };

/** Where the logs go. Every destination takes OTLP; they differ in how a request is signed. */
export function destination(spec: Pick<ClusterSpec, "name" | "region">, collector: LogCollector, settings: LogSettings): Destination {
  const { cloudwatch, azureMonitor, otlp } = settings;
  if (cloudwatch !== undefined) {
    const domain = spec.region.startsWith("cn-") ? "amazonaws.com.cn" : "amazonaws.com";
    return {
      // Takes the role that the variables name (github.com/aws/aws-sdk-go-v2: config).
      extension: { name: "sigv4auth", settings: { region: spec.region, service: "logs" } },
      exporter: {
        logs_endpoint: `https://logs.${spec.region}.${domain}/v1/logs`,
        headers: { "x-aws-log-group": logGroupName(spec.name), "x-aws-log-stream": collector },
        auth: { authenticator: "sigv4auth" },
      },
      batch: smallBatch,
      processors: { transform: present },
    };
  }
  if (azureMonitor !== undefined)
    return {
      extension: {
        name: "azureauth",
        settings: {
          workload_identity: {
            client_id: variable("AZURE_CLIENT_ID"),
            tenant_id: variable("AZURE_TENANT_ID"),
            federated_token_file: variable(tokenFacts.azure.fileVariable),
          },
          scopes: ["https://monitor.azure.com/.default"],
        },
      },
      exporter: { logs_endpoint: literal(azureMonitor.endpoint), auth: { authenticator: "azureauth" } },
      batch: largeBatch,
    };
  if (otlp === undefined) throw new RangeError("addons.logs names no destination");
  const { endpoint, headers, certificateAuthority } = otlp;
  return {
    exporter: {
      logs_endpoint: literal(endpoint),
      ...(headers.length === 0
        ? {}
        : { headers: Object.fromEntries(headers.map(({ name }, index) => [name, variable(headerVariable(index))])) }),
      ...(certificateAuthority === undefined ? {} : { tls: { ca_pem: certificateAuthority } }),
    },
    batch: largeBatch,
  };
}
