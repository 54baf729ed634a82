/** A pod that someone may create, and what the API server must answer on a cluster with Windows 2019 and 2022 nodes. */
export interface PodCase {
  readonly title: string;
  readonly namespace: string;
  readonly spec: Readonly<Record<string, unknown>>;
  /** RuntimeClass that the pod gets; `refused` when it is not let in. */
  readonly answer: "refused" | "none" | "windows-2019" | "windows-2022";
  /** A text of each warning or reason of the answer; `{pod}` is the path of the pod's spec. */
  readonly says: readonly string[];
}

/** A kind of object in which a pod is described. */
export interface PodHome {
  readonly kind:
    | "Pod"
    | "Deployment"
    | "DaemonSet"
    | "StatefulSet"
    | "ReplicaSet"
    | "ReplicationController"
    | "Job"
    | "CronJob";
  /** Path of the pod's spec in it. */
  readonly path: string;
  readonly object: (spec: PodCase["spec"]) => Readonly<Record<string, unknown>>;
}

const labels = { app: "probe" };
const selector = { matchLabels: labels };
const templated = (
  kind: PodHome["kind"],
  apiVersion: string,
  more: Readonly<Record<string, unknown>>,
  restartPolicy: "Always" | "Never" = "Always",
): PodHome => ({
  kind,
  path: "spec.template.spec",
  object: (spec) => ({
    apiVersion,
    kind,
    spec: { ...more, template: { metadata: { labels }, spec: { ...spec, restartPolicy } } },
  }),
});

export const podHomes: Readonly<Record<PodHome["kind"], PodHome>> = {
  Pod: { kind: "Pod", path: "spec", object: (spec) => ({ apiVersion: "v1", kind: "Pod", spec }) },
  Deployment: templated("Deployment", "apps/v1", { selector }),
  DaemonSet: templated("DaemonSet", "apps/v1", { selector }),
  StatefulSet: templated("StatefulSet", "apps/v1", { selector, serviceName: "probe" }),
  ReplicaSet: templated("ReplicaSet", "apps/v1", { selector }),
  ReplicationController: templated("ReplicationController", "v1", { selector: labels }),
  Job: templated("Job", "batch/v1", {}, "Never"),
  CronJob: {
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
};

/** Namespaces of the table with their labels. */
export const tableNamespaces: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  plain: {},
  "os-name-required": { "fenestra.dev/windows-os-name": "required" },
  "host-process-allowed": { "fenestra.dev/host-process": "allowed" },
  restricted: { "pod-security.kubernetes.io/enforce": "restricted" },
  "memory-defaulted": { "fenestra.dev/memory-limits": "defaulted" },
  "control-plane-allowed": { "fenestra.dev/control-plane": "allowed" },
  "external-addresses-allowed": { "fenestra.dev/external-addresses": "allowed" },
};

const windows = { os: { name: "windows" } };
const buildLabel = "node.kubernetes.io/windows-build";
const build2019 = { [buildLabel]: "10.0.17763" };
/** A required affinity for one of these values of a label. */
const wanting = (key: string, values: readonly string[]) => ({
  affinity: {
    nodeAffinity: {
      requiredDuringSchedulingIgnoredDuringExecution: {
        nodeSelectorTerms: [{ matchExpressions: [{ key, operator: "In", values }] }],
      },
    },
  },
});
const limits = { resources: { limits: { memory: "1Gi" } } };
const one = (image: string, more: Readonly<Record<string, unknown>> = {}) => [
  { name: "main", image, ...limits, ...more },
];
const pod = (image: string, more: PodCase["spec"] = {}) => ({ ...more, containers: one(image) });
const plain = pod("nginx");
const servercore = "mcr.microsoft.com/windows/servercore:ltsc2022";
const hostProcess = { ...windows, hostNetwork: true, nodeSelector: { "kubernetes.io/os": "windows" } };
const hostProcessOptions = { windowsOptions: { hostProcess: true, runAsUserName: "NT AUTHORITY\\SYSTEM" } };

const account = (options: Readonly<Record<string, string>>) => ({ securityContext: { windowsOptions: options } });
const noAccount = "set {pod}.securityContext.windowsOptions.gmsaCredentialSpecName";
const restricted = { securityContext: { runAsNonRoot: true } };
const unknownBuild = "any Windows node may get it, of the newest build first";
const onLinux = { nodeSelector: { "kubernetes.io/os": "linux" } };
const onWindows = { nodeSelector: { "kubernetes.io/os": "windows" } };
const noPlace = "but nothing says so, and Linux nodes get the pod: set {pod}.nodeSelector";
const otherBuild = "is for windows-2022, but its RuntimeClass, node selector or affinity chooses nodes of windows-2019";
const noOsName = "set {pod}.os.name: windows";
const row = (
  title: string,
  spec: Readonly<Record<string, unknown>>,
  answer: PodCase["answer"],
  says: readonly string[] = [],
  namespace = "plain",
): PodCase => ({ title, namespace, spec, answer, says });

/** A pod for Windows 2022 with more, and what is said of it. */
const limit = (title: string, more: object, says: readonly string[], container = {}): PodCase =>
  row(title, { ...windows, containers: one(servercore, container), ...more }, "windows-2022", says);
const web = { httpGet: { port: 80 } };
const claim = { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } };
const exists = { operator: "Exists", effect: "NoSchedule" };
const all = { tolerations: [{ operator: "Exists" }] };
const hosts = { ...hostProcess, securityContext: hostProcessOptions };
const optedIn = (title: string, spec: PodCase["spec"]): PodCase =>
  row(`${title}, opted in`, spec, "refused", [noOsName], "os-name-required");

const noSystem = "so Windows nodes may get the pod: set {pod}.nodeSelector to kubernetes.io/os: linux";
const disk = (amount: string) => ({ resources: { limits: { memory: "1Gi", "ephemeral-storage": amount } } });
const exec = { exec: { command: ["a"] } };
const tolerating = (key: string) => ({ tolerations: [{ ...exists, key }], ...plain });

/** The table; what people publish is in corpus.txt. */
export const podTable: readonly PodCase[] = [
  row("a Linux pod", plain, "none"),
  row("an image of 2022", pod(servercore, windows), "windows-2022"),
  row(
    "a class that is set stays",
    { ...windows, runtimeClassName: "windows-2019", containers: one("x") },
    "windows-2019",
  ),
  row("an image without a build", pod("agnhost:2.62", windows), "none", [unknownBuild]),
  row(
    "images of two builds",
    { ...windows, containers: [...one(servercore), { ...one("x:ltsc2019")[0], name: "other" }] },
    "refused",
    ["are for windows-2019, windows-2022, and no node runs them together"],
  ),
  row("a build that it selects", { ...windows, nodeSelector: build2019, containers: one("x") }, "windows-2019"),
  row(
    "a build that its affinity wants",
    { ...windows, ...wanting(buildLabel, ["10.0.17763"]), containers: one("x") },
    "windows-2019",
  ),
  row("an image of another build than its class", pod(servercore, { runtimeClassName: "windows-2019" }), "refused", [
    otherBuild,
  ]),
  row(
    "a build without nodes that it selects itself",
    { ...windows, nodeSelector: { [buildLabel]: "10.0.26100" }, containers: one(servercore) },
    "none",
  ),
  row(
    "the older label",
    { nodeSelector: { "beta.kubernetes.io/os": "windows" }, containers: one(servercore) },
    "windows-2022",
  ),
  row("a build without nodes", pod("mcr.microsoft.com/windows/servercore:ltsc2025", windows), "none", [
    "use an image for one of",
  ]),
  row("a port like a build is no tag", pod("registry:1809/x:v1", windows), "none", [unknownBuild]),
  limit(
    "what the host and mounts do not have",
    {
      hostNetwork: true,
      dnsPolicy: "ClusterFirstWithHostNet",
      volumes: [{ name: "m", emptyDir: { medium: "Memory" } }],
    },
    ["promise: dnsPolicy, hostNetwork, emptyDir.medium, mountPropagation."],
    { volumeMounts: [{ name: "m", mountPath: "C:\\m", mountPropagation: "HostToContainer" }] },
  ),
  row(
    "what only Linux has",
    {
      ...onWindows,
      securityContext: { runAsUser: 1000 },
      hostUsers: false,
      containers: one(servercore, { securityContext: { readOnlyRootFilesystem: true } }),
    },
    "windows-2022",
    ["promise: hostUsers, readOnlyRootFilesystem, runAsUser."],
  ),
  row(
    "a class that AKS has",
    { ...onWindows, runtimeClassName: "runhcs-wcow-hypervisor", containers: one(servercore) },
    "refused",
    ["runhcs-wcow-hypervisor"],
  ),
  limit("an account that nobody fills in", account({ gmsaCredentialSpecName: "web" }), [
    "fills in no gmsaCredentialSpecName",
  ]),
  limit("a host port", {}, ["makes no host ports"], { ports: [{ containerPort: 80, hostPort: 8080 }] }),
  limit("a port", {}, [], { ports: [{ containerPort: 80 }] }),
  limit("the node's resolver", { dnsPolicy: "Default" }, ["set {pod}.dnsPolicy to None"]),
  ...[{ readinessProbe: web }, { livenessProbe: { grpc: { port: 80 } } }, { lifecycle: { preStop: web } }].map((more) =>
    row(
      `${Object.keys(more)[0]} over the network on 2019`,
      { ...windows, containers: one("x:ltsc2019", more) },
      "windows-2019",
      ["HTTP hooks fail there: use exec with timeoutSeconds: 10 or more"],
    ),
  ),
  limit("an HTTP probe on 2022", {}, [], { readinessProbe: web }),
  limit("exec without a time", {}, ["set timeoutSeconds"], { startupProbe: exec }),
  limit("exec with one", {}, [], { livenessProbe: { ...exec, timeoutSeconds: 10 } }),
  limit(
    "what files and names do not have",
    {
      volumes: [{ name: "s", secret: { secretName: "a", defaultMode: 0o400 } }],
      dnsConfig: { options: [{ name: "ndots", value: "1" }] },
    },
    ["promise: dnsConfig.options, defaultMode."],
  ),
  ...[undefined, "linux", "windows"].map((storageClassName) =>
    limit(
      `a claim of its own of class ${storageClassName}`,
      { volumes: [{ name: "v", ephemeral: { volumeClaimTemplate: { spec: { ...claim, storageClassName } } } }] },
      storageClassName === "windows" ? [] : ["set storageClassName: windows"],
    ),
  ),
  row("a Windows image without a place", pod("microsoft/iis"), "none", [noPlace]),
  row("a Windows selector, restricted", pod(servercore, onWindows), "refused", ["PodSecurity"], "restricted"),
  row(
    "Windows that says so, restricted",
    pod(servercore, { ...windows, ...restricted }),
    "windows-2022",
    [],
    "restricted",
  ),
  optedIn("a Windows image", pod(servercore)),
  optedIn("a Windows class", pod("x", { runtimeClassName: "windows-2022" })),
  optedIn("a Windows selector", pod("x", onWindows)),
  row("a Linux pod, opted in", plain, "none", [], "os-name-required"),
  row("HostProcess", pod("x", hosts), "refused", ["fenestra.dev/host-process: allowed"]),
  row(
    "HostProcess in one container",
    { ...hostProcess, containers: one("x", { securityContext: hostProcessOptions }) },
    "refused",
    ["fenestra.dev/host-process: allowed"],
  ),
  row("HostProcess where it is allowed", pod(servercore, hosts), "none", [], "host-process-allowed"),
  row("HostProcess of the system", pod("x", hosts), "none", [], "kube-system"),
  row(
    "a gMSA account of the pod and of a container",
    {
      ...windows,
      ...account({ gmsaCredentialSpec: "{}" }),
      containers: one(servercore, account({ gmsaCredentialSpec: "{}" })),
      initContainers: [{ ...one(servercore)[0], name: "first" }],
    },
    "windows-2022",
  ),
  ...[{ gmsaCredentialSpec: "{}" }, { gmsaCredentialSpecName: "web" }].map((options) =>
    row(
      `${Object.keys(options)[0]} of an init container`,
      { ...windows, containers: one("x"), initContainers: [{ ...one("x", account(options))[0], name: "first" }] },
      "refused",
      [noAccount],
    ),
  ),
  row("tolerating the control plane", tolerating("node-role.kubernetes.io/control-plane"), "none"),
  row("tolerating everything", { ...all, ...plain }, "none"),
  ...["control-plane-allowed", "kube-system"].map((namespace) =>
    row("tolerating everything, Windows too", { ...all, ...plain }, "none", [noSystem], namespace),
  ),
  row("tolerating everything with a system", { ...all, ...onLinux, ...plain }, "none", [], "kube-system"),
  row("tolerating evictions only", { tolerations: [{ operator: "Exists", effect: "NoExecute" }], ...plain }, "none"),
  row("tolerating everything, on Windows alone", pod(servercore, { ...onWindows, ...all }), "windows-2022"),
  row("tolerating everything and naming its node", { nodeName: "n", ...all, ...plain }, "none"),
  row(
    "tolerating Windows",
    { tolerations: [{ key: "os", operator: "Equal", value: "windows", effect: "NoSchedule" }], ...plain },
    "none",
    [noSystem],
  ),
  row("tolerating any system", tolerating("os"), "none", [noSystem]),
  row(
    "tolerating any system, of a pool",
    { nodeSelector: { "fenestra.dev/pool": "linux" }, ...tolerating("os") },
    "none",
  ),
  limit("more of the disk than any node has", {}, ["more than any node has"], disk("100Gi")),
  limit("as much of it as a container has", {}, [], disk("20Gi")),
  row("more of it on Linux", { containers: one("nginx", disk("1Ti")) }, "none", ["more than any node has (9"]),
  row("naming a worker", { nodeName: "some-node", ...plain }, "none"),
  row("naming a machine of the control plane", { nodeName: "control", ...plain }, "refused", [
    "{pod}.nodeName is a machine of the control plane",
    "--namespace kube-system",
  ]),
  row("naming one in the system", { nodeName: "control", ...plain }, "none", [], "kube-system"),
];

const placed = {
  ...windows,
  nodeSelector: { "kubernetes.io/os": "windows" },
  tolerations: [{ key: "os", operator: "Exists" }],
};

/** Pods of DaemonSets: their templates must say themselves where they run. */
export const daemonSetTable: readonly PodCase[] = [
  row(
    "an image of one build on certain nodes",
    { ...placed, nodeSelector: { ...onWindows.nodeSelector, team: "web" }, containers: one(servercore) },
    "none",
  ),
  row("a Linux pod", plain, "none"),
  row("tolerating everything", { ...all, ...plain }, "none"),
  row("tolerating everything, Windows too", { ...all, ...plain }, "none", [noSystem], "kube-system"),
  row("without a selector", { ...placed, nodeSelector: {}, containers: one("x") }, "none"),
  row(
    "with an affinity",
    { ...placed, nodeSelector: {}, ...wanting("kubernetes.io/os", ["windows"]), containers: one("x") },
    "none",
  ),
  row(
    "a class on its build",
    {
      ...placed,
      runtimeClassName: "windows-2022",
      nodeSelector: { ...placed.nodeSelector, [buildLabel]: "10.0.20348" },
      containers: one(servercore),
    },
    "windows-2022",
  ),
];
