import { readFileSync } from "node:fs";
import type { PodHome } from "./podTable.ts";

/**
 * A shape of `corpus.txt`, for a cluster with a node of Windows 2019, one of 2022, two of Linux and a control plane.
 */
export interface Shape {
  readonly address: string;
  readonly kind: PodHome["kind"];
  readonly namespace: string;
  readonly spec: Readonly<Record<string, unknown>>;
  readonly place: string;
  /** A part of what its author is told, if anything. */
  readonly says: string | undefined;
}

const selector = (nodeSelector: object) => ({ nodeSelector });
const os = "kubernetes.io/os";
const onWindows = { [os]: "windows" };
const tolerations = (more: object) => ({ tolerations: [{ effect: "NoSchedule", ...more }] });
const build2022 = { "node.kubernetes.io/windows-build": "10.0.20348" };
const controlPlaneKey = "node-role.kubernetes.io/control-plane";
const affinity = (operator: "In" | "NotIn" | "Exists", key: string, ...values: readonly string[]) => ({
  affinity: {
    nodeAffinity: {
      requiredDuringSchedulingIgnoredDuringExecution: {
        nodeSelectorTerms: [{ matchExpressions: [{ key, operator, values }] }],
      },
    },
  },
});

/** What a pod says, by names of the table. */
const pods: Readonly<Record<string, object>> = {
  win: selector(onWindows),
  amd64: selector({ ...onWindows, "kubernetes.io/arch": "amd64" }),
  beta: selector({ "beta.kubernetes.io/os": "windows" }),
  build2019: selector({ ...onWindows, "node.kubernetes.io/windows-build": "10.0.17763" }),
  build2022os: selector({ ...onWindows, ...build2022 }),
  pool2022: selector({ "fenestra.dev/pool": "win2022" }),
  notLinux: affinity("NotIn", os, "linux"),
  agentpool: selector({ agentpool: "winage", ...onWindows }),
  premerge: selector({ "premerge-platform": "windows-2022" }),
  control: affinity("Exists", controlPlaneKey),
  linux: selector({ [os]: "linux" }),
  affineLinux: affinity("In", os, "linux"),
  affine: affinity("In", os, "windows"),
  both: affinity("In", os, "linux", "windows"),
  says: { os: { name: "windows" } },
  class: { runtimeClassName: "windows-2019" },
  tolerate: tolerations({ key: "os", operator: "Exists" }),
  "tolerate:windows": tolerations({ key: "os", value: "windows" }),
  "tolerate:Windows": tolerations({ key: "os", value: "Windows" }),
  "tolerate:OS": tolerations({ key: "OS", value: "Windows" }),
  "tolerate:other": tolerations({ key: "node.kubernetes.io/os", operator: "Exists" }),
  "tolerate:control": tolerations({ key: controlPlaneKey, operator: "Exists" }),
  "tolerate-all": tolerations({ operator: "Exists" }),
  all: { tolerations: [{ operator: "Exists" }] },
  claim: { volumes: [{ name: "data", persistentVolumeClaim: { claimName: "data" } }] },
  folder: { volumes: [{ name: "foo", hostPath: { path: "C:\\etc\\foo" } }] },
  network: { hostNetwork: true },
  pid: { hostPID: true },
  host: {
    hostNetwork: true,
    securityContext: { windowsOptions: { hostProcess: true, runAsUserName: "NT AUTHORITY\\SYSTEM" } },
  },
  user: {
    securityContext: { runAsNonRoot: true, windowsOptions: { hostProcess: false, runAsUserName: "ContainerUser" } },
  },
};

/** What its container says. */
const containers: Readonly<Record<string, object>> = {
  fields: { securityContext: { runAsNonRoot: true, allowPrivilegeEscalation: false } },
  probe: { readinessProbe: { httpGet: { port: 80 } } },
  port: { ports: [{ containerPort: 9100 }] },
  hostport: { ports: [{ containerPort: 4317, hostPort: 4317 }] },
};

/** Limits of its container, so its requests too: `1/800M`. */
const size = /^([\d.]+m?)\/(\d+[MG]i?)$/;

const texts: Readonly<Record<string, string>> = {
  memory: "set resources.limits.memory on every container",
  "any build": "cannot be told from its image, so any Windows node may get it",
};

const kinds: Readonly<Record<string, PodHome["kind"]>> = {
  pod: "Pod",
  deploy: "Deployment",
  ds: "DaemonSet",
  sts: "StatefulSet",
  job: "Job",
};

const named = (parts: Readonly<Record<string, object>>, names: readonly string[]): object =>
  Object.assign({}, ...names.map((name) => parts[name] ?? {}));

function shape(base: string, line: string): Shape {
  const [what = "", short = "", image = "", said = "", place = "", says = "", namespace = ""] = line
    .split("|")
    .map((cell) => cell.trim());
  const names = said.split(" ").filter((name) => name !== "");
  const unknown = names.filter((name) => !(name in pods || name in containers || size.test(name)));
  const kind = kinds[short];
  if (unknown.length > 0 || kind === undefined) throw new RangeError(`${what}: ${short}, ${unknown.join()}`);
  const [limits] = names.flatMap((name) => {
    const [, cpu, memory] = size.exec(name) ?? [];
    return cpu === undefined ? [] : [{ resources: { limits: { cpu, memory } } }];
  });
  const full = image.replace(/^core/, "mcr/windows/servercore").replace(/^mcr\//, "mcr.microsoft.com/");
  return {
    address: `${base}/${what}`,
    kind,
    namespace: namespace === "" ? "corpus" : namespace,
    spec: {
      ...named(pods, names),
      containers: [{ name: "main", image: full, ...named(containers, names), ...limits }],
    },
    place,
    says: says === "" ? undefined : (texts[says] ?? says),
  };
}

function read(): readonly Shape[] {
  let base = "";
  return readFileSync(new URL("corpus.txt", import.meta.url), "utf8")
    .split("\n")
    .filter((line) => line !== "" && !line.startsWith("#"))
    .flatMap((line) => {
      const [names = "", ...cells] = line.split("|");
      if (!line.startsWith("@")) return names.split(";").map((name) => shape(base, [name, ...cells].join("|")));
      base = line.slice(2);
      return [];
    });
}

export const corpus = read();
