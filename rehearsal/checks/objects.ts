import type { V1Pod, V1PodSpec } from "@kubernetes/client-node";
import { CheckFailure, expect } from "../../check/check.ts";
import { allWorkloads, podProblem, workloadProblems } from "../../check/cluster/workloads.ts";
import { requestsOf, roomInWords, roomOfNode } from "../../components/model/allocatable.ts";
import type { OwnObject } from "../api/ownObjects.ts";
import { limitsMs } from "../host/command.ts";
import { waitFor } from "../host/processes.ts";
import type { CheckContext, RehearsalCheck } from "./context.ts";

const poolLabel = "fenestra.dev/pool";

export const objectsAccepted: RehearsalCheck = {
  id: "objects",
  title:
    "the API server accepts every object of the program with strict validation, and the program's own policies have nothing to say of them",
  run: async ({ refusedObjects, warnings }) => {
    expect(refusedObjects.length === 0, refusedObjects.join("\n"));
    const ours = warnings.filter((warning) => warning.includes("ValidatingAdmissionPolicy"));
    expect(ours.length === 0, ours.join("\n"));
  },
};

/** What policies have made of a pod, in words. */
export function changesOf(template: Partial<V1PodSpec>, pod: Partial<V1PodSpec>): readonly string[] {
  const own = (template.tolerations ?? []).map(({ key }) => key);
  const count = ({ containers = [] }: Partial<V1PodSpec>) => containers.flatMap(({ env = [] }) => env).length;
  const [affinity, before] = [pod, template].map((each) => JSON.stringify(each.affinity ?? "").includes(poolLabel));
  return [
    ...(pod.runtimeClassName === template.runtimeClassName ? [] : [`runtimeClassName ${pod.runtimeClassName}`]),
    ...(pod.tolerations ?? []).flatMap(({ key = "" }) =>
      own.includes(key) || key.startsWith("node.kubernetes.io/") ? [] : [`toleration of ${key}`],
    ),
    ...Object.keys(pod.nodeSelector ?? {}).flatMap((key) =>
      key in (template.nodeSelector ?? {}) ? [] : [`nodeSelector ${key}`],
    ),
  ]
    .map((change) => `fenestra-placement: ${change}`)
    .concat(affinity && !before ? ["fenestra-placement: affinity to machines of pools"] : [])
    .concat(count(pod) > count(template) ? ["fenestra-workload-identity: variables"] : []);
}

const titleOf = ({ kind, metadata: { name, namespace = "default" } }: OwnObject): string =>
  `${kind} ${namespace}/${name}`;

/** Applies objects, one after the other. A namespace that nobody makes is made, without a label. */
async function applyAll(objects: readonly OwnObject[], { kubectl }: CheckContext) {
  const said = new Map<OwnObject, { readonly code: number; readonly lines: readonly string[] }>();
  for (const object of objects) {
    const { namespace } = object.metadata;
    if (namespace !== undefined) await kubectl(["create", "namespace", namespace]);
    const command = ["apply", "--server-side", "--force-conflicts", "--field-manager=rehearsal", "--filename=-"];
    const { code, stderr } = await kubectl(command, JSON.stringify(object));
    said.set(object, { code, lines: stderr.split("\n").filter((line) => line !== "") });
  }
  return { said, end: performance.now() + limitsMs.change };
}

/** A user's own objects, the same before an update and after it. */
export function ownObjectChecks(objects: readonly OwnObject[]) {
  const seen = new Map<string, readonly (string | undefined)[]>();
  return (when: "" | " after the update" = ""): readonly RehearsalCheck[] => {
    let applying: ReturnType<typeof applyAll> | undefined;
    return objects.map((object, index) => ({
      id: `objects${when}: ${index + 1}`,
      title: `${titleOf(object)} is taken, and its pods run${when}`,
      limitMs: limitsMs.steps,
      run: async (context) => {
        applying ??= applyAll(objects, context);
        const { said, end } = await applying;
        const { code, lines } = said.get(object) ?? { code: 1, lines: ["it was not applied"] };
        for (const line of lines.filter((each) => each.startsWith("Warning: "))) context.note(line);
        expect(code === 0, lines.filter((line) => !line.startsWith("Warning: ")).join(" "));
        const pods = await podsOf(context, object, end);
        if (pods.length === 0) return;
        await tellPlaces(context, object, pods);
        const [before, now] = [seen.get(titleOf(object)), pods.map(({ metadata }) => metadata?.uid)];
        if (before !== undefined)
          context.note(`${now.filter((uid) => !before.includes(uid)).length} pods are new ones`);
        seen.set(titleOf(object), now);
      },
    }));
  };
}

/** Notes where pods are, and what policies have made of them. */
async function tellPlaces({ api, note }: CheckContext, object: OwnObject, pods: readonly V1Pod[]): Promise<void> {
  const nodes = new Map((await api.core.listNode()).items.map(({ metadata }) => [metadata?.name, metadata?.labels]));
  const pool = ({ spec }: V1Pod) => nodes.get(spec?.nodeName)?.[poolLabel] ?? "no pool";
  note(`placed: ${[...Map.groupBy(pods, pool)].map(([name, members]) => `${members.length} on ${name}`).join(", ")}`);
  const template = object.spec?.template?.spec ?? object.spec ?? {};
  for (const change of new Set(pods.flatMap(({ spec = {} }) => changesOf(template, spec)))) note(change);
}

/** The pods of an object, once they run. */
async function podsOf({ api }: CheckContext, object: OwnObject, end: number): Promise<readonly V1Pod[]> {
  const { kind, metadata, spec } = object;
  const { name, namespace = "default" } = metadata;
  const labels = Object.entries(kind === "Job" ? { "job-name": name } : (spec?.template?.metadata?.labels ?? {}));
  if (kind !== "Pod" && (spec?.template === undefined || labels.length === 0)) return [];
  const look = async (): Promise<readonly V1Pod[]> => {
    const all = await allWorkloads(api);
    const pods = all.pods.filter(
      ({ metadata: of }) =>
        of?.namespace === namespace &&
        (kind === "Pod" ? of.name === name : labels.every(([key, value]) => of.labels?.[key] === value)),
    );
    const problems = [
      ...workloadProblems(all).flatMap(({ what, reason = "" }) =>
        what.startsWith(`${titleOf(object)} `) ? [`${what}: ${reason}`] : [],
      ),
      ...pods
        .filter(({ status }) => status?.phase !== "Succeeded")
        .flatMap((pod) => {
          const why = podProblem(pod);
          if (why === undefined) return [];
          const wants = requestsOf(pod.spec ?? { containers: [] });
          const rooms = Map.groupBy(all.nodes, ({ metadata: of }) => of?.labels?.[poolLabel] ?? "the control plane");
          const small = [...rooms].filter(([, nodes]) =>
            nodes.map((node) => roomOfNode(node)).every(({ cpu, memory }) => wants.cpu > cpu || wants.memory > memory),
          );
          return [
            `${why}${small.length === 0 ? "" : `; ${roomInWords(wants)} are too large for ${small.map(([pool]) => pool).join(", ")}`}`,
          ];
        }),
      ...(pods.length === 0 ? ["there are no pods"] : []),
    ];
    if (problems.length > 0) throw new Error([...new Set(problems)].join("; "));
    return pods;
  };
  try {
    return await waitFor(`the pods of ${titleOf(object)}`, Math.max(1_000, end - performance.now()), look);
  } catch (error) {
    const { items } = await api.core.listNamespacedEvent({ namespace, fieldSelector: "reason=FailedCreate" });
    const own = items.flatMap(({ involvedObject: { name: of }, message }) =>
      of?.startsWith(name) ? `${of} ${message}` : [],
    );
    throw new CheckFailure([error instanceof Error ? error.message : "", ...own.slice(0, 1)].join("; "));
  }
}
