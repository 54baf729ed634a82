import type { V1Pod } from "@kubernetes/client-node";
import { waitFor } from "../host/processes.ts";
import { type Check, type CheckContext, type ExpectedPool, expect, expectEqual } from "./check.ts";

const namespace = "default";
const image = "registry.example.test/app:1.0";

function pod(name: string, spec: Partial<V1Pod["spec"]>): V1Pod {
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, labels: { rehearsal: "check" } },
    spec: { containers: [{ name: "app", image }], ...spec },
  };
}

/** Creates pods, waits until each runs, and gives the labels of their nodes. They are removed again. */
async function landing(
  { api }: CheckContext,
  pods: readonly V1Pod[],
): Promise<readonly { node: string; labels: Readonly<Record<string, string>> }[]> {
  const names = pods.map(({ metadata }) => metadata?.name ?? "");
  try {
    await Promise.all(pods.map((body) => api.core.createNamespacedPod({ namespace, body })));
    return await Promise.all(
      names.map(async (name) => {
        const running = await waitFor(
          `pod ${name} to run`,
          async () => {
            const { status, spec } = await api.core.readNamespacedPod({ namespace, name });
            return status?.phase === "Running" ? spec?.nodeName : undefined;
          },
          { timeoutMs: 30_000 },
        );
        const node = await api.core.readNode({ name: running });
        return { node: running, labels: node.metadata?.labels ?? {} };
      }),
    );
  } finally {
    await Promise.all(
      names.map((name) =>
        api.core.deleteNamespacedPod({ namespace, name, gracePeriodSeconds: 0 }).catch(() => undefined),
      ),
    );
  }
}

/** Pods without any selector land on Linux nodes. */
export const linuxPods: Check = {
  id: "linux pods",
  title: "a pod that says nothing about its system never gets to a Windows node, nor does CoreDNS or kube-proxy",
  run: async (context) => {
    const pods = Array.from({ length: 12 }, (_, index) => pod(`plain-${index}`, {}));
    for (const { node, labels } of await landing(context, pods))
      expectEqual(labels["kubernetes.io/os"], "linux", `system of ${node}`);
    const system = (
      await context.api.core.listNamespacedPod({
        namespace: "kube-system",
        labelSelector: "k8s-app in (kube-dns, kube-proxy)",
      })
    ).items;
    expect(system.length > 0, "there are no pods of CoreDNS and kube-proxy");
    for (const { metadata, spec } of system) {
      if (spec?.nodeName === undefined) continue;
      const node = await context.api.core.readNode({ name: spec.nodeName });
      expectEqual(node.metadata?.labels?.["kubernetes.io/os"], "linux", `system of the node of ${metadata?.name}`);
    }
    const names = system.map(({ metadata }) => metadata?.name ?? "");
    expect(
      names.some((name) => name.startsWith("coredns")),
      "there is no pod of CoreDNS",
    );
    expect(
      names.some((name) => name.startsWith("kube-proxy")),
      "there is no pod of kube-proxy",
    );
  },
};

/** A pod that names a RuntimeClass lands on its build. */
export function runtimeClassCheck(runtimeClassName: string, build: string): Check {
  return {
    id: `runtime class ${runtimeClassName}`,
    title: `a pod with runtimeClassName ${runtimeClassName} lands on Windows ${build}`,
    run: async (context) => {
      const pods = Array.from({ length: 4 }, (_, index) =>
        pod(`${runtimeClassName}-${index}`, { runtimeClassName, os: { name: "windows" } }),
      );
      for (const { node, labels } of await landing(context, pods))
        expectEqual(labels["node.kubernetes.io/windows-build"], build, `build of ${node}`);
    },
  };
}

/** A Windows pod whose build cannot be told waits. */
export const ambiguousPod: Check = {
  id: "ambiguous windows pod",
  title: "a Windows pod whose build cannot be told stays Pending, and the scheduler says why",
  run: async ({ api, note }) => {
    const body = pod("ambiguous", { os: { name: "windows" }, nodeSelector: { "kubernetes.io/os": "windows" } });
    try {
      await api.core.createNamespacedPod({ namespace, body });
      const condition = await waitFor(
        "the scheduler to give its reason",
        async () => {
          const { status } = await api.core.readNamespacedPod({ namespace, name: "ambiguous" });
          return status?.conditions?.find(({ type, status: value }) => type === "PodScheduled" && value === "False");
        },
        { timeoutMs: 20_000 },
      );
      expectEqual(condition.reason, "Unschedulable", "reason");
      expect(
        /untolerated taint/.test(condition.message ?? ""),
        `the scheduler's message does not speak of taints: ${condition.message}`,
      );
      note(`scheduler: ${condition.message}`);
      const { spec, status } = await api.core.readNamespacedPod({ namespace, name: "ambiguous" });
      expectEqual([spec?.nodeName, status?.phase], [undefined, "Pending"], "node and phase");
    } finally {
      await api.core
        .deleteNamespacedPod({ namespace, name: "ambiguous", gracePeriodSeconds: 0 })
        .catch(() => undefined);
    }
  },
};

/** Fields that Windows refuses, each with the place where the API server names it. */
const refusedFields: readonly { readonly field: string; readonly spec: Partial<V1Pod["spec"]> }[] = [
  { field: "spec.securityContext.fsGroup", spec: { securityContext: { fsGroup: 1000 } } },
  { field: "spec.securityContext.seLinuxOptions", spec: { securityContext: { seLinuxOptions: { level: "s0" } } } },
  {
    field: "spec.securityContext.sysctls",
    spec: { securityContext: { sysctls: [{ name: "kernel.shm_rmid_forced", value: "0" }] } },
  },
  { field: "spec.hostPID", spec: { hostPID: true } },
  {
    field: "spec.containers[0].securityContext.privileged",
    spec: { containers: [{ name: "app", image, securityContext: { privileged: true } }] },
  },
  {
    field: "spec.containers[0].securityContext.readOnlyRootFilesystem",
    spec: { containers: [{ name: "app", image, securityContext: { readOnlyRootFilesystem: true } }] },
  },
];

/** The API server refuses fields that Windows cannot honour. */
export const refusedByServer: Check = {
  id: "refused fields",
  title: "the API server refuses fields that Windows cannot honour, each by name",
  run: async ({ api }) => {
    for (const { field, spec } of refusedFields) {
      const body = pod("refused", { os: { name: "windows" }, ...spec });
      const refusal = await api.core.createNamespacedPod({ namespace, body }).then(
        () => undefined,
        (error: unknown) => (error instanceof Error ? error.message : String(error)),
      );
      if (refusal === undefined)
        await api.core.deleteNamespacedPod({ namespace, name: "refused", gracePeriodSeconds: 0 });
      expect(refusal !== undefined, `a Windows pod with ${field} was accepted`);
      expect(
        refusal.includes(field) && refusal.includes("cannot be set for a windows pod"),
        `the refusal of ${field} reads: ${refusal}`,
      );
    }
  },
};

/** Every object of the program is accepted. */
export const objectsAccepted: Check = {
  id: "objects",
  title:
    "the API server accepts every object of the program with strict validation, and the program's own policies have nothing to say of them",
  run: async ({ refusedObjects, warnings }) => {
    expect(refusedObjects.length === 0, refusedObjects.join("\n"));
    const ours = warnings.filter((warning) => warning.includes("ValidatingAdmissionPolicy"));
    expect(ours.length === 0, ours.join("\n"));
  },
};

/** The samples of each build run on it. */
export function sampleCheck(pool: ExpectedPool & { readonly runtimeClass: string; readonly build: string }): Check {
  return {
    id: `samples ${pool.runtimeClass}`,
    title: `the samples for ${pool.runtimeClass} run on Windows ${pool.build}`,
    run: async ({ api }) => {
      const pods = (
        await api.core.listPodForAllNamespaces({ labelSelector: "app.kubernetes.io/part-of=fenestra-samples" })
      ).items.filter(({ spec }) => spec?.runtimeClassName === pool.runtimeClass);
      expect(pods.length >= 2, `there are ${pods.length} pods of samples`);
      for (const { metadata, spec, status } of pods) {
        const ends = metadata?.ownerReferences?.some(({ kind }) => kind === "Job") === true;
        expect(
          status?.phase === "Running" || (ends && status?.phase === "Succeeded"),
          `phase of ${metadata?.name}: ${status?.phase}`,
        );
        const node = await api.core.readNode({ name: spec?.nodeName ?? "" });
        expectEqual(
          node.metadata?.labels?.["node.kubernetes.io/windows-build"],
          pool.build,
          `build of the node of ${metadata?.name}`,
        );
      }
    },
  };
}
