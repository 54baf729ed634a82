import { expect, expectEqual } from "../../checks/check.ts";
import { checkPod, waitingContainer } from "../../checks/cluster/pods.ts";
import { limitsMs } from "../host/limits.ts";
import { waitFor } from "../host/processes.ts";
import type { ExpectedPool, RehearsalCheck } from "./context.ts";

/**
 * A Windows pod whose build cannot be told.
 *
 * @param places whether the cluster has the policy that lets any Windows node have it; without it the taint keeps it waiting
 */
export function ambiguousPod(places: boolean): RehearsalCheck {
  return {
    id: "ambiguous windows pod",
    title: `a Windows pod whose build cannot be told ${places ? "gets a Windows node" : "stays Pending, and the scheduler says why"}`,
    run: async ({ api, namespace, waitingImage, note }) => {
      const name = "ambiguous";
      const body = checkPod(name, { nodeSelector: { "kubernetes.io/os": "windows" }, containers: [waitingContainer(waitingImage)] });
      try {
        await api.core.createNamespacedPod({ namespace, body });
        const decided = await waitFor(
          "the scheduler to decide",
          async () => {
            const { spec, status } = await api.core.readNamespacedPod({ namespace, name });
            const condition = status?.conditions?.find(({ type }) => type === "PodScheduled");
            return condition === undefined ? undefined : { node: spec?.nodeName, condition };
          },
          { timeoutMs: limitsMs.answer },
        );
        const { node, condition } = decided;
        note(node ?? `scheduler: ${condition.message}`);
        expectEqual(node !== undefined, places, `whether it has a node (${condition.message})`);
        if (node === undefined) {
          expectEqual(condition.reason, "Unschedulable", "reason");
          expect(
            /untolerated taint/.test(condition.message ?? ""),
            `the scheduler's message does not speak of taints: ${condition.message}`,
          );
        } else {
          const { metadata } = await api.core.readNode({ name: node });
          expectEqual(metadata?.labels?.["kubernetes.io/os"], "windows", `system of its node ${node}`);
        }
      } finally {
        await api.core.deleteNamespacedPod({ namespace, name, gracePeriodSeconds: 0 }).catch(() => undefined);
      }
    },
  };
}

/** Every object of the program is accepted. */
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

/** The samples of each build run on it. */
export function sampleCheck(pool: ExpectedPool & { readonly runtimeClass: string; readonly build: string }): RehearsalCheck {
  return {
    id: `samples ${pool.runtimeClass}`,
    title: `the samples for ${pool.runtimeClass} run on Windows ${pool.build}`,
    run: async ({ api }) => {
      const pods = (await api.core.listPodForAllNamespaces({ labelSelector: "app.kubernetes.io/part-of=fenestra-samples" })).items.filter(
        ({ spec }) => spec?.runtimeClassName === pool.runtimeClass,
      );
      expect(pods.length >= 2, `there are ${pods.length} pods of samples`);
      for (const { metadata, spec, status } of pods) {
        const ends = metadata?.ownerReferences?.some(({ kind }) => kind === "Job") === true;
        expect(status?.phase === "Running" || (ends && status?.phase === "Succeeded"), `phase of ${metadata?.name}: ${status?.phase}`);
        const node = await api.core.readNode({ name: spec?.nodeName ?? "" });
        expectEqual(node.metadata?.labels?.["node.kubernetes.io/windows-build"], pool.build, `build of the node of ${metadata?.name}`);
      }
    },
  };
}
