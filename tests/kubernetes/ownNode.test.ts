import assert from "node:assert/strict";
import { nodeWriters } from "../../components/kubernetes/guardRails/ownNode.ts";
import { nodeSideWrites } from "./hostileCalls.ts";
import { combinations, manifestsOf } from "./switches.ts";

/**
 * What accounts on workers may write beside events; each line is a decision. The policy `fenestra-own-node` has a row
 * for each that writes Nodes.
 */
const decided: Readonly<Record<string, readonly string[]>> = {
  "fenestra-monitoring:node-problem-detector": ["patch nodes/status"],
  "fenestra-monitoring:node-problem-detector-windows": ["patch nodes/status"],
  "fenestra-samples:gmsa-user": ["use windows.k8s.io/gmsacredentialspecs"],
  "kube-flannel:kube-flannel": ["patch nodes/status"],
  "kube-flannel:kube-flannel-windows": ["patch nodes/status"],
  "kube-system:cloud-node-manager": ["patch nodes/status", "patch|update nodes"],
  "kube-system:cloud-node-manager-windows": ["patch nodes/status", "patch|update nodes"],
};

describe("identities on workers", () => {
  const found = new Map<string, Set<string>>();
  for (const { spec } of combinations)
    for (const [account, writes] of nodeSideWrites(manifestsOf(spec)))
      found.set(
        account,
        new Set([
          ...(found.get(account) ?? []),
          ...writes.filter((write) => !/ (events.k8s.io\/)?events$/.test(write)),
        ]),
      );

  it("may write what is decided, and nothing else", () => {
    const writing = [...found]
      .filter(([, writes]) => writes.size > 0)
      .map(([account, writes]) => [account, [...writes].toSorted()]);
    assert.ok(found.size > 15, `only ${found.size}`);
    assert.deepEqual(Object.fromEntries(writing), decided);
  });

  it("that may write Nodes are those of the policy", () => {
    assert.deepEqual(
      [...found]
        .filter(([, writes]) => [...writes].some((write) => / (nodes(\/.*)?|\*)$/.test(write)))
        .map(([account]) => account)
        .toSorted(),
      Object.keys(nodeWriters).toSorted(),
    );
  });
});
