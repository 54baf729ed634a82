import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { admissionConfiguration } from "../../components/machine/linux/apiServer.ts";
import type { ClusterSpec } from "../../components/model/clusterSpec.ts";
import { type ApiServer, applied, namespaceOf, policiesInForce, startApiServer, until } from "../support/apiServer.ts";
import { exampleSpec } from "../support/stacks.ts";
import { type PodHome, podHomes } from "./podTable.ts";
import { planOf } from "./switches.ts";

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

interface Outcome {
  readonly place: string;
  /** What its author was told. */
  readonly told: readonly string[];
  readonly pods: readonly Pod[];
}

interface Toleration {
  readonly key?: string;
}

interface Pod {
  readonly metadata: { readonly labels?: Readonly<Record<string, string>> };
  readonly spec: {
    readonly nodeName?: string;
    readonly nodeSelector?: Readonly<Record<string, string>>;
    readonly tolerations?: readonly Toleration[];
    readonly affinity?: object;
    readonly runtimeClassName?: string;
  };
  readonly status?: { readonly conditions?: readonly { readonly type: string; readonly status: string }[] };
}

const windowsTaint = { key: "os", value: "windows", effect: "NoSchedule" };
const node = (name: string, system: string, labels: Readonly<Record<string, string>>, taints: readonly object[]) => ({
  apiVersion: "v1",
  kind: "Node",
  metadata: {
    name,
    labels: {
      "kubernetes.io/os": system,
      "beta.kubernetes.io/os": system,
      "kubernetes.io/arch": "amd64",
      "kubernetes.io/hostname": name,
      ...labels,
    },
  },
  spec: { taints },
});
const poolKey = "fenestra.dev/pool";
const build = "node.kubernetes.io/windows-build";
const nodes = [
  node("control", "linux", { "node-role.kubernetes.io/control-plane": "" }, [
    { key: "node-role.kubernetes.io/control-plane", effect: "NoSchedule" },
  ]),
  node("linux-1", "linux", { [poolKey]: "linux" }, []),
  node("linux-2", "linux", { [poolKey]: "linux" }, []),
  node("2019", "windows", { [poolKey]: "win2019", [build]: "10.0.17763" }, [windowsTaint]),
  node("2022", "windows", { [poolKey]: "win2022", [build]: "10.0.20348" }, [windowsTaint]),
];
const claimed = { namespace: "corpus", name: "data" };
const volume = { accessModes: ["ReadWriteMany"], storageClassName: "" };
const around = [
  namespaceOf("corpus"),
  namespaceOf("hosts", { "fenestra.dev/host-process": "allowed", "pod-security.kubernetes.io/enforce": "privileged" }),
  {
    apiVersion: "v1",
    kind: "PersistentVolume",
    metadata: { name: "data" },
    spec: { ...volume, capacity: { storage: "1Gi" }, hostPath: { path: "/data" }, claimRef: claimed },
  },
  {
    apiVersion: "v1",
    kind: "PersistentVolumeClaim",
    metadata: claimed,
    spec: { ...volume, resources: { requests: { storage: "1Gi" } } },
  },
];
const example = exampleSpec("aws-dev");
const spec: ClusterSpec = { ...example, addons: { ...example.addons, exporters: true } };

/** An API server, controllers and a scheduler. */
export class CorpusCluster {
  readonly api: ApiServer;

  private constructor(api: ApiServer) {
    this.api = api;
  }

  static async start(suite: Mocha.Context): Promise<CorpusCluster> {
    const folder = mkdtempSync(path.join(tmpdir(), "fenestra-corpus-"));
    const admission = path.join(folder, "admission.yaml");
    writeFileSync(admission, admissionConfiguration(spec));
    const api = await startApiServer(suite, {
      schedules: true,
      flags: [`--admission-control-config-file=${admission}`],
    });
    rmSync(folder, { recursive: true });
    const cluster = new CorpusCluster(api);
    await applied(api, [...nodes, ...around], "--force-conflicts");
    for (const { metadata, spec: own } of nodes) {
      // Admission has added the taint of a node that is not ready; there is no controller that would remove it.
      const patch = JSON.stringify({ spec: { $patch: "replace", taints: own.taints } });
      await api.kubectl(["patch", "node", metadata.name, "-p", patch]);
      await cluster.#allocate(metadata.name, { cpu: "64", memory: "256Gi" });
    }
    await cluster.#guard();
    return cluster;
  }

  async #allocate(node: string, room: object): Promise<void> {
    const allocatable = { ...room, pods: "250" };
    const conditions = [{ type: "Ready", status: "True", reason: "Test", message: "" }];
    const patch = JSON.stringify({ status: { capacity: allocatable, allocatable, conditions } });
    const { code, stderr } = await this.api.kubectl(["patch", "node", node, "--subresource=status", "-p", patch]);
    assert.equal(code, 0, stderr);
  }

  /** Makes the guard rails, and waits until they count. */
  async #guard(): Promise<void> {
    const wanted = planOf(spec).filter(({ name }) => ["runtime-classes", "guard-rails", "pod-warnings"].includes(name));
    const manifests = wanted.flatMap((addOn) => addOn.manifests);
    await applied(this.api, manifests, "--force-conflicts");
    await policiesInForce(this.api);
  }

  #send(shape: Shape, name: string) {
    const { kind } = shape;
    const object = podHomes[kind].object(shape.spec);
    const text = JSON.stringify(object).replaceAll('"app":"probe"', `"app":"${name}"`);
    const group = object.apiVersion === "v1" ? "api/v1" : `apis/${object.apiVersion}`;
    const path = `/${group}/namespaces/${shape.namespace}/${kind.toLowerCase()}s`;
    const metadata = { name, labels: { app: name } };
    return this.api.send("POST", path, JSON.stringify({ ...JSON.parse(text), metadata }));
  }

  /** Makes every shape, waits until all are placed or refused, and removes them. */
  async run(prefix: string, shapes = corpus): Promise<readonly Outcome[]> {
    const names = shapes.map((_, index) => `${prefix}-${index}`);
    const answers = await Promise.all(shapes.map((shape, index) => this.#send(shape, names[index] ?? "")));
    let outcomes: readonly (Outcome | undefined)[] = [];
    await until(
      "every shape to be decided",
      async () => {
        const pods: readonly Pod[] = JSON.parse(
          (await this.api.kubectl(["get", "pods", "-A", "-o", "json"])).stdout,
        ).items;
        const sets = JSON.parse((await this.api.kubectl(["get", "daemonsets", "-A", "-o", "json"])).stdout).items;
        outcomes = shapes.map((shape, index): Outcome | undefined => {
          const { taken, body, warnings } = answers[index] ?? assert.fail();
          if (!taken) return { place: "refused", told: [JSON.parse(body).message], pods: [] };
          const own = pods.filter(({ metadata }) => metadata.labels?.app === names[index]);
          const told = warnings.filter((warning) => warning.includes("ValidatingAdmissionPolicy"));
          const set = sets.find(({ metadata }: { metadata: { name: string } }) => metadata.name === names[index]);
          const wanted =
            shape.kind === "DaemonSet" ? set?.status.observedGeneration && set.status.desiredNumberScheduled : 1;
          if (own.length !== wanted) return undefined;
          return own.every(isDecided) ? { place: placeOf(shape, own), told, pods: own } : undefined;
        });
        return outcomes.every((outcome) => outcome !== undefined);
      },
      () => shapes.flatMap(({ address }, index) => (outcomes[index] === undefined ? [address] : [])).join("\n"),
    );
    const kinds = "deployments,daemonsets,statefulsets,jobs,pods";
    const own = `app in (${names.join(",")})`;
    const atOnce = ["--cascade=background", "--wait=false", "--force", "--grace-period=0"];
    await this.api.kubectl(["delete", kinds, "-A", "-l", own, ...atOnce]);
    return outcomes.flatMap((outcome) => outcome ?? []);
  }
}

const isDecided = ({ spec, status }: Pod): boolean =>
  spec.nodeName !== undefined ||
  status?.conditions?.some(({ type, status: value }) => type === "PodScheduled" && value === "False") === true;

function placeOf({ kind }: Shape, pods: readonly Pod[]): string {
  const places = new Set(pods.map(({ spec }) => spec.nodeName?.replace(/-\d$/, "") ?? "waits"));
  return kind === "DaemonSet" && pods.length === 0 ? "nowhere" : [...places].toSorted().join(" ");
}

/** What differs from the table. */
export function differences(outcomes: readonly Outcome[]): readonly string[] {
  return corpus.flatMap((shape, index) => {
    const { place, told, pods } = outcomes[index] ?? assert.fail();
    const { place: wanted, says } = shape;
    const fits = place === wanted || (wanted === "windows" && /^20(19|22)$/.test(place));
    return [
      ...(fits ? [] : [`is ${place}, wanted ${wanted}`]),
      ...(says === undefined
        ? told
        : told.some((each) => each.includes(says))
          ? []
          : [`does not say: ${says}`, ...told]),
      ...pods.flatMap((pod) => overwritten(shape, pod)),
    ].map((problem) => `${shape.address}: ${problem}`);
  });
}

/** What a pod lost of its template; on Linux, also what it got. */
function overwritten({ spec, kind }: Shape, { spec: pod }: Pod): readonly string[] {
  const template: Pod["spec"] = spec;
  const linux = /^(linux|control)/.test(pod.nodeName ?? "");
  const own = (tolerations: readonly Toleration[] = []) =>
    tolerations
      .filter(({ key }) => !key?.startsWith("node.kubernetes.io/"))
      .map((each) => JSON.stringify(Object.entries(each).toSorted()));
  const [before, after] = [own(template.tolerations), own(pod.tolerations)];
  const selector = Object.entries(template.nodeSelector ?? {});
  return [
    ...selector.filter(([key, value]) => pod.nodeSelector?.[key] !== value).map(([key]) => `lost the selector ${key}`),
    ...before.filter((each) => !after.includes(each)).map((each) => `lost the toleration ${each}`),
    ...(template.runtimeClassName === undefined || template.runtimeClassName === pod.runtimeClassName
      ? []
      : ["lost its class"]),
    ...(linux &&
    (after.length !== before.length ||
      Object.keys(pod.nodeSelector ?? {}).length !== selector.length ||
      pod.runtimeClassName !== undefined)
      ? ["was changed on Linux"]
      : []),
    ...(linux &&
    kind !== "DaemonSet" &&
    !template.tolerations?.some(({ key }) => key === undefined) &&
    JSON.stringify(pod.affinity) !== JSON.stringify(template.affinity)
      ? ["got an affinity on Linux"]
      : []),
  ];
}
