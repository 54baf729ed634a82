import { readFileSync } from "node:fs";

/** A kind of object in which a pod is described. */
export interface PodHome {
  readonly kind: string;
  /** Path of the pod's spec in it. */
  readonly path: string;
  readonly object: (spec: PodCase["spec"]) => Readonly<Record<string, unknown>>;
}

const labels = { app: "probe" };
const workload = (kind: string): PodHome => ({
  kind,
  path: "spec.template.spec",
  object: (spec) => ({
    apiVersion: "apps/v1",
    kind,
    spec: { selector: { matchLabels: labels }, template: { metadata: { labels }, spec } },
  }),
});

/** As kubectl shortens them; paths are the same in all others that have a template. */
export const podHomes = {
  pod: { kind: "Pod", path: "spec", object: (spec) => ({ apiVersion: "v1", kind: "Pod", spec }) },
  deploy: workload("Deployment"),
  ds: workload("DaemonSet"),
  cj: {
    kind: "CronJob",
    path: "spec.jobTemplate.spec.template.spec",
    object: (spec) => ({
      apiVersion: "batch/v1",
      kind: "CronJob",
      spec: {
        schedule: "0 0 * * *",
        jobTemplate: { spec: { template: { metadata: { labels }, spec: { ...spec, restartPolicy: "Never" } } } },
      },
    }),
  },
} as const satisfies Readonly<Record<string, PodHome>>;
const isHome = (name: string): name is keyof typeof podHomes => name in podHomes;

/** A pod of `pods.txt`, for a cluster with a node of Windows 2019, one of 2022, two of Linux and a control plane. */
export interface PodCase {
  readonly title: string;
  readonly home: PodHome;
  readonly namespace: string;
  readonly spec: Readonly<Record<string, unknown>>;
  readonly place: string;
  /** A part of each warning or of the refusal; `{pod}` is the path of the pod's spec. */
  readonly says: readonly string[];
}

const hostsOpen = {
  "pod-security.kubernetes.io/enforce": "privileged",
  "pod-security.kubernetes.io/warn": "privileged",
};
/** Namespaces of the table with their labels. */
export const tableNamespaces: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  unlabelled: {},
  plain: hostsOpen,
  "os-name-required": { "fenestra.dev/windows-os-name": "required" },
  "host-process-allowed": { "fenestra.dev/host-process": "allowed", ...hostsOpen },
  restricted: { "pod-security.kubernetes.io/enforce": "restricted" },
  "memory-defaulted": { "fenestra.dev/memory-limits": "defaulted" },
  "control-plane-allowed": { "fenestra.dev/control-plane": "allowed" },
  "external-addresses-allowed": { "fenestra.dev/external-addresses": "allowed" },
};

const selector = (nodeSelector: object) => ({ nodeSelector });
export const os = "kubernetes.io/os";
const onWindows = { [os]: "windows" };
const tolerations = (more: object) => ({ tolerations: [{ effect: "NoSchedule", ...more }] });
export const build = "node.kubernetes.io/windows-build";
export const controlPlaneKey = "node-role.kubernetes.io/control-plane";
const affinity = (operator: "In" | "NotIn" | "Exists", key: string, ...values: readonly string[]) => ({
  affinity: {
    nodeAffinity: {
      requiredDuringSchedulingIgnoredDuringExecution: {
        nodeSelectorTerms: [{ matchExpressions: [{ key, operator, values }] }],
      },
    },
  },
});
const windowsOptions = (options: object) => ({ securityContext: { windowsOptions: options } });
const hostProcess = windowsOptions({ hostProcess: true, runAsUserName: "NT AUTHORITY\\SYSTEM" });
const credentials = windowsOptions({ gmsaCredentialSpec: "{}" });
const account = windowsOptions({ gmsaCredentialSpecName: "web" });
const memory = { limits: { memory: "1Gi" } };
const first = (more: object) => ({ initContainers: [{ name: "first", image: "x", resources: memory, ...more }] });
const exec = { exec: { command: ["a"] } };

/** What a pod says, by names of the table. */
const pods: Readonly<Record<string, object>> = {
  win: selector(onWindows),
  beta: selector({ "beta.kubernetes.io/os": "windows" }),
  build2019: selector({ ...onWindows, [build]: "10.0.17763" }),
  build2022os: selector({ ...onWindows, [build]: "10.0.20348" }),
  build2025: selector({ [build]: "10.0.26100" }),
  pool: selector({ "fenestra.dev/pool": "linux" }),
  web: selector({ ...onWindows, team: "web" }),
  notLinux: affinity("NotIn", os, "linux"),
  agentpool: selector({ agentpool: "winage", ...onWindows }),
  control: affinity("Exists", controlPlaneKey),
  linux: selector({ [os]: "linux" }),
  affine: affinity("In", os, "windows"),
  affine2019: affinity("In", build, "10.0.17763"),
  says: { os: { name: "windows" } },
  class: { runtimeClassName: "windows-2019" },
  class2022: { runtimeClassName: "windows-2022" },
  tolerate: tolerations({ key: "os", operator: "Exists" }),
  "tolerate:windows": tolerations({ key: "os", value: "windows" }),
  "tolerate:control": tolerations({ key: controlPlaneKey, operator: "Exists" }),
  all: { tolerations: [{ operator: "Exists" }] },
  evictions: { tolerations: [{ operator: "Exists", effect: "NoExecute" }] },
  inMemory: { volumes: [{ name: "m", emptyDir: { medium: "Memory" } }] },
  mode: { volumes: [{ name: "s", secret: { secretName: "a", defaultMode: 0o400 } }] },
  ndots: { dnsConfig: { options: [{ name: "ndots", value: "1" }] } },
  network: { hostNetwork: true },
  clusterfirst: { dnsPolicy: "ClusterFirstWithHostNet" },
  resolver: { dnsPolicy: "Default" },
  users: { hostUsers: false },
  uid: { securityContext: { runAsUser: 1000 } },
  host: { hostNetwork: true, ...hostProcess },
  ...{ account, credentials, first: first({}) },
  "first:account": first(account),
  "first:credentials": first(credentials),
  "node:n": { nodeName: "n" },
  "node:some": { nodeName: "some" },
  "node:control": { nodeName: "control" },
};

/** What its container says. */
const containers: Readonly<Record<string, object>> = {
  fields: { securityContext: { runAsNonRoot: true, allowPrivilegeEscalation: false } },
  readonly: { securityContext: { readOnlyRootFilesystem: true } },
  hostcontainer: hostProcess,
  inner: credentials,
  probe: { readinessProbe: { httpGet: { port: 80 } } },
  grpc: { livenessProbe: { grpc: { port: 80 } } },
  hook: { lifecycle: { preStop: { httpGet: { port: 80 } } } },
  exec: { startupProbe: exec },
  exec10: { livenessProbe: { ...exec, timeoutSeconds: 10 } },
  port: { ports: [{ containerPort: 9100 }] },
  hostport: { ports: [{ containerPort: 4317, hostPort: 4317 }] },
  propagated: { volumeMounts: [{ name: "m", mountPath: "C:\\m", mountPropagation: "HostToContainer" }] },
};

/** A second container of another build. */
const beside = { name: "other", image: "x:ltsc2019", resources: memory };

const texts: Readonly<Record<string, string>> = {
  "any build": "cannot be told from its image, so any Windows node may get it",
  newest: "any Windows node may get it, of the newest build first",
  "other build": "is for windows-2022, but its RuntimeClass, node selector or affinity chooses nodes of windows-2019",
  "nowhere said": "but nothing says so, and Linux nodes get the pod: set {pod}.nodeSelector",
  "no system": "so Windows nodes may get the pod: set {pod}.nodeSelector to kubernetes.io/os: linux",
};

const named = (parts: Readonly<Record<string, object>>, names: readonly string[]) =>
  Object.assign({}, ...names.map((name) => parts[name] ?? {}));

function rowOf(cells: readonly string[]): PodCase {
  const [title = "", short = "", image = "", said = "", place = "", says = "", namespace = ""] = cells;
  const names = said.split(" ").filter((name) => name !== "");
  const unknown = names.filter((name) => !(name in pods || name in containers || name === "beside"));
  if (unknown.length > 0 || !isHome(short)) throw new RangeError(`${title}: ${short}, ${unknown.join()}`);
  const full = image.replace(/^core/, "mcr/windows/servercore").replace(/^mcr\//, "mcr.microsoft.com/");
  const main = { name: "main", image: full, ...named(containers, names), resources: memory };
  return {
    title,
    home: podHomes[short],
    namespace: namespace || "plain",
    spec: { ...named(pods, names), containers: [main, ...(names.includes("beside") ? [beside] : [])] },
    place,
    says: says.split(" & ").flatMap((text) => (text === "" ? [] : [texts[text] ?? text])),
  };
}

export const podTable = readFileSync(new URL("pods.txt", import.meta.url), "utf8")
  .split("\n")
  .filter((line) => line !== "" && !line.startsWith("#"))
  .flatMap((line) => {
    const [names = "", kind = "", image = "", said = "", ...cells] = line.split("|").map((cell) => cell.trim());
    const ways = said.split("; ");
    return names.split("; ").map((name, index) => rowOf([name, kind, image, ways[index] ?? ways[0] ?? "", ...cells]));
  });

/** Path to which objects of a home are sent. */
export const pathTo = ({ kind, object }: PodHome, namespace: string) => {
  const { apiVersion } = object({});
  const group = apiVersion === "v1" ? "api/v1" : `apis/${apiVersion}`;
  return `/${group}/namespaces/${namespace}/${kind.toLowerCase()}s`;
};

export const objectIn = (home: PodHome, namespace: string, spec: PodCase["spec"], name = "probe") =>
  JSON.stringify({ ...home.object(spec), metadata: { name, namespace } });
