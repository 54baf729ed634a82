import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import type { V1Pod, V1Toleration } from "@kubernetes/client-node";
import { admissionConfiguration } from "../../components/machine/linux/apiServer.ts";
import { type ApiServer, applied, namespaceOf, startApiServer, until } from "../support/apiServer.ts";
import { exampleSpec } from "../support/stacks.ts";
import {
  build,
  controlPlaneKey,
  objectIn,
  os,
  type PodCase,
  type PodHome,
  pathTo,
  podHomes,
  tableNamespaces,
} from "./pods.ts";

interface Outcome {
  readonly place: string;
  /** What its author was told. */
  readonly told: readonly string[];
  readonly pods: readonly Pod[];
}

type Pod = Required<Pick<V1Pod, "metadata" | "spec">> & Pick<V1Pod, "status">;

const windowsTaint = { key: "os", value: "windows", effect: "NoSchedule" };
const node = (name: string, system: string, more: Readonly<Record<string, string>>, taints: readonly object[]) => ({
  apiVersion: "v1",
  kind: "Node",
  metadata: {
    name,
    labels: {
      [os]: system,
      "beta.kubernetes.io/os": system,
      "kubernetes.io/arch": "amd64",
      "kubernetes.io/hostname": name,
      ...more,
    },
  },
  spec: { taints },
});
const poolKey = "fenestra.dev/pool";
const nodes = [
  node("control", "linux", { [controlPlaneKey]: "" }, [{ key: controlPlaneKey, effect: "NoSchedule" }]),
  node("linux-1", "linux", { [poolKey]: "linux" }, []),
  node("linux-2", "linux", { [poolKey]: "linux" }, []),
  node("2019", "windows", { [poolKey]: "win2019", [build]: "10.0.17763" }, [windowsTaint]),
  node("2022", "windows", { [poolKey]: "win2022", [build]: "10.0.20348" }, [windowsTaint]),
];
/** An API server with the admission of the control plane, controllers, a scheduler and nodes without kubelets. */
export async function startCluster(suite: Mocha.Context) {
  const folder = mkdtempSync(path.join(tmpdir(), "fenestra-pods-"));
  const admission = path.join(folder, "admission.yaml");
  writeFileSync(admission, admissionConfiguration(exampleSpec("aws-dev")));
  const api = await startApiServer(suite, { schedules: true, flags: [`--admission-control-config-file=${admission}`] });
  rmSync(folder, { recursive: true });
  const namespaces = Object.entries(tableNamespaces).map(([name, labels]) => namespaceOf(name, labels));
  await applied(api, [...nodes, ...namespaces], "--force-conflicts");
  const allocatable = { cpu: "64", memory: "256Gi", "ephemeral-storage": "4Ti", pods: "250" };
  const conditions = [{ type: "Ready", status: "True", reason: "Test", message: "" }];
  const status = JSON.stringify({ status: { capacity: allocatable, allocatable, conditions } });
  for (const { metadata, spec } of nodes) {
    // Admission has added the taint of a node that is not ready; there is no controller that would remove it.
    const patch = JSON.stringify({ spec: { $patch: "replace", taints: spec.taints } });
    await api.kubectl(["patch", "node", metadata.name, "-p", patch]);
    const { code, stderr } = await api.kubectl(["patch", "node", metadata.name, "--subresource=status", "-p", status]);
    assert.equal(code, 0, stderr);
  }
  return api;
}

/** What policies say, without the API server's own warnings. */
export const ofPolicies = (warnings: readonly string[]) =>
  warnings.filter((warning) => warning.includes("ValidatingAdmissionPolicy"));

/** Makes every pod, waits until all are placed or refused, and removes them. */
export async function placed(api: ApiServer, cases: readonly PodCase[]): Promise<readonly Outcome[]> {
  const names = cases.map((_, index) => `pod-${index}`);
  const send = ({ home, namespace, spec }: PodCase, name: string) => {
    const text = JSON.stringify(home.object(spec)).replaceAll('"app":"probe"', `"app":"${name}"`);
    const metadata = { name, labels: { app: name } };
    return api.send("POST", pathTo(home, namespace), JSON.stringify({ ...JSON.parse(text), metadata }));
  };
  const answers = await Promise.all(cases.map((each, index) => send(each, names[index] ?? "")));
  let outcomes: readonly (Outcome | undefined)[] = [];
  await until(
    "every pod to be decided",
    async () => {
      const list = async (kind: string) =>
        JSON.parse((await api.kubectl(["get", kind, "-A", "-o", "json"])).stdout).items;
      const made: readonly Pod[] = await list("pods");
      const sets = await list("daemonsets");
      outcomes = cases.map(({ home }, index): Outcome | undefined => {
        const { taken, body, warnings } = answers[index] ?? assert.fail();
        if (!taken) return { place: "refused", told: [JSON.parse(body).message], pods: [] };
        const own = made.filter(({ metadata }) => metadata.labels?.app === names[index]);
        const set = sets.find(({ metadata }: { metadata: { name: string } }) => metadata.name === names[index]);
        const wanted =
          home.kind === "DaemonSet" ? set?.status.observedGeneration && set.status.desiredNumberScheduled : 1;
        if (own.length !== wanted || !own.every(isDecided)) return undefined;
        return { place: placeOf(own), told: ofPolicies(warnings), pods: own };
      });
      return outcomes.every((outcome) => outcome !== undefined);
    },
    () => cases.flatMap(({ title }, index) => (outcomes[index] === undefined ? [title] : [])).join("\n"),
  );
  const own = `app in (${names.join(",")})`;
  const atOnce = ["--cascade=background", "--wait=false", "--force", "--grace-period=0"];
  await api.kubectl(["delete", "deployments,daemonsets,pods", "-A", "-l", own, ...atOnce]);
  return outcomes.flatMap((outcome) => outcome ?? []);
}

const isDecided = ({ spec, status }: Pod) =>
  spec.nodeName !== undefined ||
  status?.conditions?.some(({ type, status: value }) => type === "PodScheduled" && value === "False") === true;

const placeOf = (all: readonly Pod[]) =>
  [...new Set(all.map(({ spec }) => spec.nodeName?.replace(/-\d$/, "") ?? "waits"))].toSorted().join(" ") || "nowhere";

/** What differs from the table. */
export function differences(cases: readonly PodCase[], outcomes: readonly Outcome[]): readonly string[] {
  return cases.flatMap((each, index) => {
    const { place, told, pods: made } = outcomes[index] ?? assert.fail();
    const { home, place: wanted } = each;
    const says = each.says.map((text) => text.replaceAll("{pod}", home.path));
    const fits = wanted.split("/").some((one) => place === one || (one === "windows" && /^20(19|22)$/.test(place)));
    const found = made[0]?.spec.runtimeClassName;
    const isRight =
      home.kind !== "Pod" || !/^20/.test(place) || found === (/^20/.test(wanted) ? `windows-${place}` : undefined);
    return [
      ...(fits ? [] : [`is ${place}, wanted ${wanted}`]),
      ...(isRight ? [] : [`has the class ${found}`]),
      ...says.filter((text) => !told.some((one) => one.includes(text))).map((text) => `does not say: ${text}`),
      ...(place === "refused" || told.length === says.length ? [] : ["says:", ...told]),
      ...made.flatMap((pod) => overwritten(each, pod)),
    ].map((problem) => `${each.title}: ${problem}`);
  });
}

/** What a pod lost of its template; on Linux, also what it got. */
function overwritten({ spec, home }: PodCase, { spec: pod }: Pod) {
  const template: Partial<Pod["spec"]> = spec;
  const linux = /^(linux|control)/.test(pod.nodeName ?? "");
  const own = (all: readonly V1Toleration[] = []) =>
    all
      .filter(({ key }) => !key?.startsWith("node.kubernetes.io/"))
      .map((each) => JSON.stringify(Object.entries(each).toSorted()));
  const [before, after] = [own(template.tolerations), own(pod.tolerations)];
  const chosen = Object.entries(template.nodeSelector ?? {});
  return [
    ...chosen.filter(([key, value]) => pod.nodeSelector?.[key] !== value).map(([key]) => `lost the selector ${key}`),
    ...before.filter((each) => !after.includes(each)).map((each) => `lost the toleration ${each}`),
    ...(template.runtimeClassName === undefined || template.runtimeClassName === pod.runtimeClassName
      ? []
      : ["lost its class"]),
    ...(linux &&
    (after.length !== before.length ||
      Object.keys(pod.nodeSelector ?? {}).length !== chosen.length ||
      pod.runtimeClassName !== undefined)
      ? ["was changed on Linux"]
      : []),
    ...(linux &&
    home.kind !== "DaemonSet" &&
    !template.tolerations?.some(({ key }) => key === undefined || key === controlPlaneKey) &&
    JSON.stringify(pod.affinity) !== JSON.stringify(template.affinity)
      ? ["got an affinity on Linux"]
      : []),
  ];
}

/** Creates a pod on trial. */
export const tried = (api: ApiServer, namespace: string, spec: PodCase["spec"], home: PodHome = podHomes.pod) =>
  api.send("POST", `${pathTo(home, namespace)}?dryRun=All`, objectIn(home, namespace, spec));
