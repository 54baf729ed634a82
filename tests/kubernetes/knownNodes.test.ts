import assert from "node:assert/strict";
import { fitsControlPlane, knownNodes, knownValues } from "../../components/kubernetes/guardRails/nodes.ts";
import { exampleSpec } from "../support/stacks.ts";

describe("what the policies know of nodes", () => {
  it("is each pool's labels but the architecture, and a machine of the control plane, which has no pool", () => {
    const known = knownNodes(exampleSpec("aws-dev"));
    const pools = (nodes: readonly Readonly<Record<string, string>>[]) =>
      nodes.map((node) => node["fenestra.dev/pool"]);
    assert.deepEqual(
      [pools(known.linux), pools(known.windows)],
      [
        [undefined, "linux"],
        ["win2019", "win2022"],
      ],
    );
    assert.deepEqual(knownValues(known)["node.kubernetes.io/windows-build"], ["10.0.17763", "10.0.20348"]);
    assert.ok(!("kubernetes.io/arch" in knownValues(known)));
    assert.doesNotMatch(fitsControlPlane("p"), /win2019/);
  });
});
