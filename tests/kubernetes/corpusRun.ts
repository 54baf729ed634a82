import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { admissionConfiguration } from "../../components/machine/linux/apiServer.ts";
import type { ClusterSpec } from "../../components/model/clusterSpec.ts";
import { type ApiServer, startApiServer, until } from "../support/apiServer.ts";
import { policiesInForce } from "../support/policies.ts";
import { exampleSpec } from "../support/stacks.ts";
import { applied, namespaceOf } from "./applied.ts";
import { corpus, type Shape } from "./corpus.ts";
import { podHomes } from "./podTable.ts";
import { planOf } from "./switches.ts";

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
