import type { V1Pod, V1PodSpec } from "@kubernetes/client-node";
import { CheckFailure, expect } from "../../checks/check.ts";
import { NotYet, until } from "../../checks/poll.ts";
import { messageOf } from "../../components/gates/messageOf.ts";
import { ifFound, statusOf } from "../api.ts";
import type { VerifyCheck, VerifyContext } from "../check.ts";
import { pauseImage, verifyPod } from "../manifests.ts";
import { nodeFacts } from "../nodes.ts";
import { podProblem } from "../workloads.ts";

const container = {
  name: "app",
  image: pauseImage,
  resources: { requests: { cpu: "10m" }, limits: { memory: "64Mi" } },
};
const describe = (namespace: string, name: string): string =>
  `kubectl -n ${namespace} describe pod ${name} (while verify runs)`;

/** What the scheduler decided about a pod. */
interface Placed {
  readonly pod: V1Pod;
  readonly node: string | undefined;
  /** The scheduler's words when it found no node. */
  readonly refusal: string | undefined;
}

/** Makes a pod and waits for the scheduler's decision. */
async function place({ api, namespace, signal }: VerifyContext, body: V1Pod): Promise<Placed> {
  const name = body.metadata?.name ?? "";
  await api.core.createNamespacedPod({ namespace, body }).catch((error: unknown) => {
    throw new CheckFailure(`the API server refused pod ${name}: ${messageOf(error)}`);
  });
  return await until(
    `the scheduler to decide about pod ${name}`,
    async () => {
      const pod = await api.core.readNamespacedPod({ namespace, name });
      const node = pod.spec?.nodeName;
      const refused = pod.status?.conditions?.find(({ type, status }) => type === "PodScheduled" && status === "False");
      if (node === undefined && refused === undefined) throw new NotYet("it has said nothing");
      return { pod, node, refusal: node === undefined ? `${refused?.reason}: ${refused?.message}` : undefined };
    },
    { signal, intervalMs: 200, lookAt: describe(namespace, name) },
  );
}

/** How many plain pods are made: more than there are nodes in a small cluster, so that chance does not decide. */
const plainPods = 8;

/** The taint keeps pods away that say nothing of their system. */
export const plainPodsCheck: VerifyCheck = {
  id: "plain-pods",
  title: "pods that say nothing of their system never get to a Windows node, nor do CoreDNS and the Linux kube-proxy",
  run: async (context) => {
    const { api, namespace, note } = context;
    const nodes = new Map((await api.core.listNode()).items.map(nodeFacts).map((node) => [node.name, node]));
    const names = Array.from({ length: plainPods }, (_, index) => `plain-${index}`);
    const placed = await Promise.all(names.map((name) => place(context, verifyPod(name, { containers: [container] }))));
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
    const system = await api.core.listNamespacedPod({
      namespace: "kube-system",
      labelSelector: "k8s-app in (kube-dns, kube-proxy)",
    });
    for (const { metadata, spec } of system.items) {
      expect(
        nodes.get(spec?.nodeName ?? "")?.os !== "windows",
        `pod kube-system/${metadata?.name} is on the Windows node ${spec?.nodeName}`,
        `kubectl -n kube-system describe pod ${metadata?.name}`,
      );
    }
  },
};

/**
 * A RuntimeClass brings a pod to its build.
 *
 * @param starts whether its container must start too: what no other check has seen of a class, isolation by Hyper-V
 */
export function runtimeClassCheck(name: string, build: string, starts: boolean): VerifyCheck {
  return {
    id: `runtime-class/${name}`,
    title: `a pod with runtimeClassName ${name} and nothing else gets to a node of Windows build ${build}${starts ? ", and starts" : ""}`,
    run: async (context) => {
      const { api, namespace, note, signal } = context;
      const pod = verifyPod(`class-${name}`, {
        os: { name: "windows" },
        runtimeClassName: name,
        containers: [container],
      });
      const { node, refusal } = await place(context, pod);
      expect(
        node !== undefined,
        `the scheduler found no node for it: ${refusal}`,
        describe(namespace, `class-${name}`),
      );
      const found = nodeFacts(await api.core.readNode({ name: node }));
      expect(
        found.build === build,
        `it got to node ${node} of build ${found.build ?? "none"}`,
        `kubectl get runtimeclass ${name} -o yaml`,
      );
      note(`on ${node}`);
      if (!starts) return;
      await until(
        `pod class-${name} to start`,
        async () => {
          const problem = podProblem(await api.core.readNamespacedPod({ namespace, name: `class-${name}` }));
          if (problem !== undefined) throw new NotYet(problem);
        },
        { signal, intervalMs: 2_000, lookAt: describe(namespace, `class-${name}`) },
      );
    },
  };
}

/** Name of the policy that chooses the RuntimeClass; it is Fenestra's own and may be switched off. */
export const runtimeClassPolicy = "fenestra-windows-runtime-class";

/** The API server chooses the RuntimeClass by the image's tag. */
export function runtimeClassPolicyCheck(release: { readonly name: string; readonly imageTag: string }): VerifyCheck {
  return {
    id: `runtime-class-policy/${release.name}`,
    title: `a Windows pod with an image of ${release.imageTag} is given runtimeClassName ${release.name}, with its node selector and toleration`,
    run: async ({ api, namespace }) => {
      const body = verifyPod("policy", {
        os: { name: "windows" },
        containers: [{ ...container, image: `mcr.microsoft.com/windows/nanoserver:${release.imageTag}` }],
      });
      const { spec } = await api.core.createNamespacedPod({ namespace, body, dryRun: "All" });
      const lookAt = `kubectl get mutatingadmissionpolicy,mutatingadmissionpolicybinding ${runtimeClassPolicy} -o yaml`;
      expect(
        spec?.runtimeClassName === release.name,
        `it was given ${spec?.runtimeClassName ?? "no RuntimeClass"}`,
        lookAt,
      );
      const runtimeClass = await ifFound(api.node.readRuntimeClass({ name: release.name }));
      expect(runtimeClass !== undefined, `there is no RuntimeClass ${release.name}`, "kubectl get runtimeclasses");
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

type SecurityContext = NonNullable<V1PodSpec["containers"][number]["securityContext"]>;
const inPod = (securityContext: V1PodSpec["securityContext"]): Partial<V1PodSpec> =>
  securityContext === undefined ? {} : { securityContext };
const inContainer = (securityContext: SecurityContext): Partial<V1PodSpec> => ({
  containers: [{ ...container, securityContext }],
});

/** What the API server refuses on a Windows pod (kubernetes.io: "Windows containers in Kubernetes", field compatibility). */
export const refusedFields: readonly (readonly [field: string, spec: Partial<V1PodSpec>])[] = [
  ["spec.hostPID", { hostPID: true }],
  ["spec.hostIPC", { hostIPC: true }],
  ["spec.shareProcessNamespace", { shareProcessNamespace: true }],
  ["spec.securityContext.seLinuxOptions", inPod({ seLinuxOptions: { level: "s0" } })],
  ["spec.securityContext.seccompProfile", inPod({ seccompProfile: { type: "RuntimeDefault" } })],
  ["spec.securityContext.fsGroup", inPod({ fsGroup: 1000 })],
  ["spec.securityContext.fsGroupChangePolicy", inPod({ fsGroupChangePolicy: "Always" })],
  ["spec.securityContext.sysctls", inPod({ sysctls: [{ name: "kernel.shm_rmid_forced", value: "0" }] })],
  ["spec.securityContext.runAsUser", inPod({ runAsUser: 1000 })],
  ["spec.securityContext.runAsGroup", inPod({ runAsGroup: 1000 })],
  ["spec.securityContext.supplementalGroups", inPod({ supplementalGroups: [1000] })],
  ["spec.containers[0].securityContext.seLinuxOptions", inContainer({ seLinuxOptions: { level: "s0" } })],
  ["spec.containers[0].securityContext.seccompProfile", inContainer({ seccompProfile: { type: "RuntimeDefault" } })],
  ["spec.containers[0].securityContext.runAsUser", inContainer({ runAsUser: 1000 })],
  ["spec.containers[0].securityContext.runAsGroup", inContainer({ runAsGroup: 1000 })],
  ["spec.containers[0].securityContext.capabilities", inContainer({ capabilities: { drop: ["ALL"] } })],
  ["spec.containers[0].securityContext.readOnlyRootFilesystem", inContainer({ readOnlyRootFilesystem: true })],
  ["spec.containers[0].securityContext.privileged", inContainer({ privileged: true })],
  ["spec.containers[0].securityContext.allowPrivilegeEscalation", inContainer({ allowPrivilegeEscalation: false })],
  ["spec.containers[0].securityContext.procMount", inContainer({ procMount: "Default" })],
];

/** Fields that Windows cannot honour are refused by name; nothing is made, each is asked as a dry run. */
export const refusedFieldsCheck: VerifyCheck = {
  id: "refused-fields",
  title: "the API server refuses on a Windows pod what Windows cannot honour, each field by its name",
  run: async ({ api, namespace, note }) => {
    const asked = async (spec: Partial<V1PodSpec>): Promise<string | undefined> => {
      const body = verifyPod("refused", { os: { name: "windows" }, containers: [container], ...spec });
      return await api.core.createNamespacedPod({ namespace, body, dryRun: "All" }).then(
        () => undefined,
        (error: unknown) => {
          if (statusOf(error) !== 422) throw error;
          return messageOf(error);
        },
      );
    };
    // Without any of the fields it must be taken, or the refusals would have another cause.
    const plain = await asked({});
    expect(plain === undefined, `a Windows pod without any of these fields was refused: ${plain}`);
    for (const [field, spec] of refusedFields) {
      const refusal = await asked(spec);
      expect(
        refusal !== undefined,
        `a Windows pod with ${field} was accepted`,
        "kubectl version (spec.os is stable since 1.25)",
      );
      expect(
        refusal.includes(`${field}: Forbidden: cannot be set for a windows pod`),
        `the refusal of ${field} reads: ${refusal}`,
      );
    }
    note(`${refusedFields.length} fields`);
  },
};
