import { expect, expectEqual } from "../../checks/check.ts";
import type { ExpectedPool, RehearsalCheck } from "./context.ts";

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
