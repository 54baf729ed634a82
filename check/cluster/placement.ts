import type { V1Pod, V1PodSpec } from "@kubernetes/client-node";
import { messageOf } from "../../components/model/messages.ts";
import { CheckFailure, expect, NotYet, until } from "../check.ts";
import { checkPod, ifFound, waitingContainer } from "./clusterApi.ts";
import { nodeFacts, nodesOf } from "./nodes.ts";
import { pauseImage, type VerifyCheck, type VerifyContext } from "./probePods.ts";
import { podProblem } from "./workloads.ts";

const describe = (namespace: string, name: string): string =>
  `kubectl -n ${namespace} describe pod ${name} (while this check runs)`;

interface Placed {
  readonly pod: V1Pod;
  readonly node: string | undefined;
  readonly refusal: string | undefined;
}

async function place({ api, namespace, signal }: VerifyContext, body: V1Pod): Promise<Placed> {
  const name = body.metadata?.name ?? "";
  await api.core.createNamespacedPod({ namespace, body }).catch((error: unknown) => {
    throw new CheckFailure(`the API server refused pod ${name}: ${messageOf(error)}`);
  });
  return await until(
    `the scheduler to decide about pod ${name}`,
    { signal, intervalMs: 200, lookAt: describe(namespace, name) },
    async () => {
      const pod = await api.core.readNamespacedPod({ namespace, name });
      const node = pod.spec?.nodeName;
      const refused = pod.status?.conditions?.find(({ type, status }) => type === "PodScheduled" && status === "False");
      if (node === undefined && refused === undefined) throw new NotYet("it has said nothing");
      return { pod, node, refusal: node === undefined ? `${refused?.reason}: ${refused?.message}` : undefined };
    },
  );
}

async function untilStarted({ api, namespace, signal }: VerifyContext, name: string): Promise<void> {
  await until(`pod ${name} to start`, { signal, intervalMs: 1_000, lookAt: describe(namespace, name) }, async () => {
    const problem = podProblem(await api.core.readNamespacedPod({ namespace, name }));
    if (problem !== undefined) throw new NotYet(problem);
  });
}

/** Makes pods, gives the scheduler's decisions to `judge`, and removes the pods again. */
async function withPlaced(
  context: VerifyContext,
  pods: readonly V1Pod[],
  judge: (placed: readonly Placed[]) => Promise<void>,
): Promise<void> {
  const { api, namespace } = context;
  try {
    await judge(await Promise.all(pods.map((pod) => place(context, pod))));
  } finally {
    const names = pods.map(({ metadata }) => metadata?.name ?? "");
    await Promise.all(names.map((name) => api.core.deleteNamespacedPod({ namespace, name }).catch(() => undefined)));
  }
}

/** Without the taint, the scheduler prefers Windows nodes, which are the emptier ones: chance does not decide. */
const plainPods = ["plain-0", "plain-1", "plain-2", "plain-3"];

/** The taint keeps pods off Windows that do not choose it. A cluster in use may have no room for them. */
export const plainPodsCheck: VerifyCheck = {
  id: "plain-pods",
  title:
    "pods that say nothing about their system never get to a Windows node, nor do CoreDNS and the Linux kube-proxy",
  run: async (context) => {
    const { api, namespace, note } = context;
    const nodes = new Map(nodesOf((await api.core.listNode()).items).map((node) => [node.name, node]));
    const pods = plainPods.map((name) => checkPod(name, { containers: [waitingContainer(pauseImage)] }));
    await withPlaced(context, pods, async (placed) => {
      for (const { pod, node, refusal } of placed) {
        const name = pod.metadata?.name ?? "";
        expect(
          node !== undefined || /untolerated taint|Insufficient|Too many pods/.test(refusal ?? ""),
          `pod ${name} has no node for another reason than taints or room: ${refusal}`,
          describe(namespace, name),
        );
        const os = node === undefined ? "none" : nodes.get(node)?.os;
        expect(os !== "windows", `pod ${name} got to the Windows node ${node}`, `kubectl describe node ${node}`);
      }
      const waiting = placed.filter(({ node }) => node === undefined);
      note(`${placed.length - waiting.length} pods on Linux nodes, ${waiting.length} wait for room on one`);
    });
    const { items } = await api.core.listNamespacedPod({
      namespace: "kube-system",
      labelSelector: "k8s-app in (kube-dns, kube-proxy)",
    });
    for (const { metadata, spec } of items)
      expect(
        nodes.get(spec?.nodeName ?? "")?.os !== "windows",
        `pod kube-system/${metadata?.name} is on the Windows node ${spec?.nodeName}`,
        `kubectl -n kube-system describe pod ${metadata?.name}`,
      );
  },
};

interface WantedClass {
  readonly name: string;
  /** Windows build to which it leads: `10.0.20348`. */
  readonly build: string;
  /** Whether its container must start too. */
  readonly mustStart: boolean;
}

export function runtimeClassCheck({ name, build, mustStart }: WantedClass): VerifyCheck {
  return {
    id: `runtime-class/${name}`,
    title: `a pod with runtimeClassName ${name} and nothing else gets to a node of Windows build ${build}${mustStart ? ", and starts" : ""}`,
    run: async (context) => {
      const { api, namespace, note } = context;
      const pod = `class-${name}`;
      const body = checkPod(pod, {
        os: { name: "windows" },
        runtimeClassName: name,
        containers: [waitingContainer(pauseImage)],
      });
      await withPlaced(context, [body], async ([{ node, refusal } = {}]) => {
        expect(node !== undefined, `the scheduler found no node for it: ${refusal}`, describe(namespace, pod));
        const found = nodeFacts(await api.core.readNode({ name: node }));
        expect(
          found.build === build,
          `it got to node ${node} of build ${found.build ?? "none"}`,
          `kubectl get runtimeclass ${name} -o yaml`,
        );
        if (mustStart) await untilStarted(context, pod);
        note(`on ${node}`);
      });
    },
  };
}

/** Fenestra's own; it may be switched off. */
export const placementPolicy = "fenestra-placement";

/** A Windows pod with an image of this tag, as a dry run admits it. */
async function admittedWindowsPod({ api, namespace }: VerifyContext, imageTag: string): Promise<V1PodSpec | undefined> {
  const image = `mcr.microsoft.com/windows/nanoserver:${imageTag}`;
  const body = checkPod("policy", { os: { name: "windows" }, containers: [waitingContainer(image)] });
  return (await api.core.createNamespacedPod({ namespace, body, dryRun: "All" })).spec;
}

/** The API server chooses the RuntimeClass by the image's tag. */
export function runtimeClassPolicyCheck({
  name,
  imageTag,
}: {
  readonly name: string;
  readonly imageTag: string;
}): VerifyCheck {
  return {
    id: `runtime-class-policy/${name}`,
    title: `a Windows pod with an image of ${imageTag} is given runtimeClassName ${name}, with its node selector and toleration`,
    run: async (context) => {
      const { api } = context;
      const lookAt = `kubectl get mutatingadmissionpolicy,mutatingadmissionpolicybinding ${placementPolicy} -o yaml`;
      const spec = await admittedWindowsPod(context, imageTag);
      const given = spec?.runtimeClassName;
      expect(given === name, `the policy gave ${given ?? "no RuntimeClass"}`, lookAt);
      const runtimeClass = await ifFound(api.node.readRuntimeClass({ name }));
      expect(runtimeClass !== undefined, `there is no RuntimeClass ${name}`, "kubectl get runtimeclasses");
      for (const [key, value] of Object.entries(runtimeClass.scheduling?.nodeSelector ?? {}))
        expect(spec?.nodeSelector?.[key] === value, `its node selector lacks ${key}=${value}`, lookAt);
      for (const wanted of runtimeClass.scheduling?.tolerations ?? []) {
        const times = (spec?.tolerations ?? []).filter(
          ({ key, effect }) => key === wanted.key && effect === wanted.effect,
        );
        expect(times.length === 1, `its toleration of ${wanted.key} is there ${times.length} times`, lookAt);
      }
    },
  };
}
