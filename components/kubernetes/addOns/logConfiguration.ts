import { stringify } from "yaml";
import { controlPlaneUnits } from "../../machine/linux/controlPlane.ts";
import { controlPlanePaths } from "../../machine/linux/kubeadm.ts";
import { workerUnits } from "../../machine/linux/worker.ts";
import { windowsPaths } from "../../machine/windows/paths.ts";
import { tokenFacts } from "../../model/cloudFacts/identities.ts";
import type { ClusterSpec } from "../../model/clusterSpec.ts";
import { type LogCollector, type LogSettings, logGroupName, logsAccount } from "../../model/nodeSettings.ts";

export function headerVariable(index: number): string {
  return `HEADER_${index}`;
}

function variable(name: string): string {
  return `\${env:${name}}`;
}

/** A text of the stack file for the collector's configuration, in which a dollar sign begins a variable. */
function literal(text: string): string {
  return text.replaceAll("$", "$$$$");
}

interface Destination {
  /** What signs requests; none with headers alone. */
  readonly extension?: { readonly name: string; readonly settings: object };
  readonly exporter: object;
  readonly batch: { readonly min_size: number; readonly max_size: number };
  /** What a record needs for the destination, by the processors' names. */
  readonly processors?: Readonly<Record<string, object>>;
}

const isOld = 'where log.time_unix_nano > 0 and Now() - log.time > Duration("20h")';

/**
 * CloudWatch refuses for good a request with records more than 24 hours apart (Amazon CloudWatch User Guide, "OTLP
 * endpoints", limits of logs). A node's first requests have what has lain there for days beside what is new.
 */
const present = {
  error_mode: "ignore",
  log_statements: [
    `set(log.attributes["log.time.original"], FormatTime(log.time, "%Y-%m-%dT%H:%M:%S.%LZ")) ${isOld}`,
    `set(log.time, Now()) ${isOld}`,
  ],
};

/** Azure Monitor takes a megabyte (Azure Monitor service limits, "Logs ingestion API"). */
const largeBatch = { min_size: 200_000, max_size: 900_000 };

/** CloudWatch takes a megabyte in most regions, and counts a resource's attributes for each of its records. */
const smallBatch = { min_size: 50_000, max_size: 150_000 };

/** Where the logs go, always by OTLP. */
function destination(spec: ClusterSpec, collector: LogCollector, settings: LogSettings): Destination {
  const { cloudwatch, azureMonitor, otlp } = settings;
  if (cloudwatch !== undefined) {
    return {
      // The variables name its role (github.com/aws/aws-sdk-go-v2: config).
      extension: { name: "sigv4auth", settings: { region: spec.region, service: "logs" } },
      exporter: {
        logs_endpoint: `https://logs.${spec.region}.amazonaws.com/v1/logs`,
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
            federated_token_file: variable(tokenFacts[spec.cloud].fileVariable),
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
      ...(headers.length > 0 && {
        headers: Object.fromEntries(headers.map(({ name }, index) => [name, variable(headerVariable(index))])),
      }),
      ...(certificateAuthority !== undefined && { tls: { ca_pem: certificateAuthority } }),
    },
    batch: largeBatch,
  };
}

/** Name of the workloads, whose own logs are not read: a logged failure would be the next thing to send. */
export const collectorName = "log-collector";

/** Where the Linux collectors find the node's programs and, below it, its journal. */
export const journalRoot = "/host";
export const journalFolder = "/var/log/journal";

/** Folders of positions and of what is not sent yet. */
export const stateFolders = { linux: "/var/lib/otelcol", windows: "C:\\var\\lib\\fenestra\\log-collector" } as const;

/**
 * Mebibytes of heap above which a collector reads nothing new, and of its container. On Windows the latter is the
 * commit of a job object, together with the PowerShell that waits for the collector and the cmd.exe that started it
 * (hcsshim: internal/jobobject/limits.go, SetMemoryLimit; internal/jobcontainers/jobcontainer.go, CreateProcess).
 */
export const collectorMebibytes = { heap: 400, container: { linux: 512, windows: 768 } } as const;

/**
 * Channels of Windows; the last two are the runtime's, on containers and Hyper-V, and the agent's for gMSA. One that a
 * node does not have is passed over.
 */
const channels = [
  "System",
  "Application",
  "Microsoft-Windows-Hyper-V-Compute-Operational",
  "Microsoft-Windows-Containers-CCG/Admin",
] as const;

/**
 * Reads on where the pod before it stopped. Without an end of `retry_on_failure` what cannot be sent waits in its file.
 */
const reading = {
  storage: "file_storage",
  start_at: "beginning",
  retry_on_failure: { enabled: true, max_elapsed_time: "0s" },
} as const;

/**
 * The rest of a batch with a record longer than the batch may be is dropped (exporterhelper: queuebatch/logs_batch.go).
 */
const longest = { max_log_size: "100KiB" } as const;

function files(
  kind: string,
  include: readonly string[],
  operators: readonly object[],
  exclude: readonly string[] = [],
) {
  return {
    include,
    ...(exclude.length > 0 && { exclude }),
    include_file_path: true,
    ...longest,
    ...reading,
    attributes: { "fenestra.log": kind },
    operators,
  };
}

/**
 * Logs of containers, and what the kubelet has rotated and not yet compressed (kubernetes: pkg/kubelet/logs,
 * `rotateLatestLog`): a file is known by its first bytes, whatever its name. No format is set, since containerd's wants
 * UTC, and a Windows node writes the time of its zone.
 */
function containers(folder: string, separator: string) {
  const of = (pattern: string) => [folder, ...pattern.split("/")].join(separator);
  const found = files(
    "container",
    [of("*/*/*.log"), of("*/*/*.log.????????-??????")],
    [{ type: "container", ...longest }],
    [of(`${logsAccount.namespace}_${collectorName}-*/*/*`)],
  );
  // A long line comes in parts, and a part may end with a space.
  return { ...found, preserve_trailing_whitespaces: true };
}

/** The API server's audit log: one JSON object a line. */
const audit = files(
  "audit",
  [`${controlPlanePaths.auditLogs}/*.log`],
  [
    {
      type: "json_parser",
      parse_to: "body",
      timestamp: {
        parse_from: "body.stageTimestamp",
        layout_type: "gotime",
        layout: "2006-01-02T15:04:05.999999Z07:00",
      },
    },
  ],
);

/** Severities of syslog, as the collector's own parser maps them (pkg/stanza: operator/parser/syslog). */
const severities = { fatal: 0, error3: 1, error2: 2, error: 3, warn: 4, info2: 5, info: 6, debug: 7 };

/**
 * The journal of what makes a machine a node, by the node's own journalctl, since the image has none. Units have whole
 * names: a pattern is compared only with the units that the journal has when journalctl starts (systemd:
 * src/journal/journalctl-filter.c).
 */
function journal(units: readonly string[]) {
  return {
    root_path: journalRoot,
    journalctl_path: "/usr/bin/journalctl",
    directory: journalFolder,
    units,
    // Otherwise a message of more than 4 KiB is empty, and one with a control character a list of numbers
    // (journalctl(1), --output=json).
    all: true,
    convert_message_bytes: true,
    ...reading,
    attributes: { "fenestra.log": "journal" },
    operators: [
      { type: "move", from: "body._SYSTEMD_UNIT", to: 'attributes["systemd.unit"]', if: "body._SYSTEMD_UNIT != nil" },
      {
        type: "severity_parser",
        parse_from: "body.PRIORITY",
        preset: "none",
        mapping: severities,
        overwrite_text: true,
        if: "body.PRIORITY != nil",
      },
      { type: "move", from: "body.MESSAGE", to: "body", if: "body.MESSAGE != nil" },
    ],
  };
}

function receivers(
  spec: ClusterSpec,
  collector: LogCollector,
  settings: LogSettings,
): Readonly<Record<string, object>> {
  if (collector === "windows")
    return {
      "file_log/containers": containers("C:\\var\\log\\pods", "\\"),
      "file_log/node": files("node", [`${windowsPaths.logs}\\*.log`], []),
      ...Object.fromEntries(
        [...channels, ...(settings.windowsSecurity ? ["Security"] : [])].map((name) => [
          `windowseventlog/${name
            .toLowerCase()
            .replace(/^microsoft-windows-/, "")
            .replaceAll("/", "-")}`,
          { channel: name, ignore_channel_errors: true, ...reading, attributes: { "fenestra.log": "event" } },
        ]),
      ),
    };
  return {
    "file_log/containers": containers("/var/log/pods", "/"),
    ...(collector === "control-plane" && { "file_log/audit": audit }),
    journald: journal(collector === "control-plane" ? controlPlaneUnits(spec) : workerUnits(spec)),
  };
}

/** The pod of a container's record, and its owner. */
const podAttributes = {
  filter: { node_from_env_var: "NODE_NAME" },
  extract: {
    metadata: ["k8s.node.name", "k8s.deployment.name", "k8s.daemonset.name", "k8s.statefulset.name", "k8s.job.name"],
    // From the name, so that no right to read ReplicaSets is needed.
    deployment_name_from_replicaset: true,
    labels: [{ tag_name: "app.kubernetes.io/name", key: "app.kubernetes.io/name", from: "pod" }],
  },
  pod_association: [{ sources: [{ from: "resource_attribute", name: "k8s.pod.uid" }] }],
};

/** Configuration of the collector of some nodes, as YAML. */
export function logConfiguration(spec: ClusterSpec, collector: LogCollector, settings: LogSettings): string {
  const os = collector === "windows" ? "windows" : "linux";
  const { extension, exporter, batch, processors = {} } = destination(spec, collector, settings);
  const read = receivers(spec, collector, settings);
  const resource = {
    "k8s.cluster.name": spec.name,
    "k8s.node.name": variable("NODE_NAME"),
    "cloud.provider": spec.cloud,
    "cloud.region": spec.region,
    "os.type": os,
  };
  return stringify(
    {
      extensions: {
        // Nothing is synced to the disk (bbolt, NoSync), so that a power failure may leave a file beyond reading, which
        // is made anew.
        file_storage: { directory: stateFolders[os], create_directory: true, recreate: true },
        ...(extension !== undefined && { [extension.name]: extension.settings }),
      },
      receivers: read,
      processors: {
        memory_limiter: { check_interval: "1s", limit_mib: collectorMebibytes.heap, spike_limit_mib: 80 },
        k8s_attributes: { auth_type: os === "windows" ? "kubeConfig" : "serviceAccount", ...podAttributes },
        resource: { attributes: Object.entries(resource).map(([key, value]) => ({ key, value, action: "upsert" })) },
        ...processors,
      },
      exporters: {
        otlp_http: {
          ...exporter,
          timeout: "30s",
          retry_on_failure: { enabled: true, max_elapsed_time: "0s" },
          sending_queue: {
            storage: "file_storage",
            sizer: "bytes",
            queue_size: 256 * 1024 * 1024,
            block_on_overflow: true,
            batch: { flush_timeout: "5s", ...batch },
          },
        },
      },
      service: {
        extensions: ["file_storage", ...(extension === undefined ? [] : [extension.name])],
        // No metrics of its own, which would open a port.
        telemetry: { metrics: { level: "none" } },
        pipelines: pipelines(Object.keys(read), ["resource", ...Object.keys(processors)]),
      },
    },
    { lineWidth: 0 },
  );
}

/** Records of containers know their pod, others none. */
function pipelines(receivers: readonly string[], last: readonly string[]) {
  const ofContainers = "file_log/containers";
  const others = receivers.filter((name) => name !== ofContainers);
  const exporters = ["otlp_http"];
  return {
    "logs/containers": {
      receivers: [ofContainers],
      processors: ["memory_limiter", "k8s_attributes", ...last],
      exporters,
    },
    "logs/node": { receivers: others, processors: ["memory_limiter", ...last], exporters },
  };
}
