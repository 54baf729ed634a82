import { expect, expectEqual } from "../../checks/check.ts";
import type { NodeTemplate } from "../clouds/cloud.ts";
import type { RehearsalCheck } from "./context.ts";

/** The promises for scaling from zero are what nodes of the pool really register. */
export function autoscalerCheck(templates: readonly NodeTemplate[]): RehearsalCheck {
  return {
    id: "scale from zero",
    title: "labels and taints that the autoscaler is promised equal those that a node of the pool registers",
    run: async ({ registered, note }) => {
      const seen: string[] = [];
      for (const { pool, labels, taints } of templates) {
        const node = [...registered.values()].find((candidate) => candidate.pool === pool);
        // A pool of none has no node to compare with.
        if (node === undefined) continue;
        seen.push(pool);
        for (const [key, value] of Object.entries(labels)) expectEqual(node.labels[key], value, `label ${key} of a node of ${pool}`);
        const lasting = node.taints.filter(
          ({ key }) => key !== "node.cloudprovider.kubernetes.io/uninitialized" && !key.startsWith("node.kubernetes.io/"),
        );
        expectEqual(
          Object.fromEntries(lasting.map(({ key, value, effect }) => [key, `${value ?? ""}:${effect}`])),
          taints,
          `taints of a node of ${pool}`,
        );
      }
      expect(templates.length === 0 || seen.length > 0, "no autoscaled pool has a node");
      note(seen.length === 0 ? "no pool of this stack is autoscaled" : `compared: ${seen.join(", ")}`);
    },
  };
}
