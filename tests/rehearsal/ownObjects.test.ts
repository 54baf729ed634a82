import assert from "node:assert/strict";
import { objectsIn } from "../../rehearsal/api/ownObjects.ts";
import { changesOf } from "../../rehearsal/checks/objects.ts";

describe("objects of the user's own in a rehearsal", () => {
  it("are read from what a chart renders, empty documents and lists included", () => {
    const pod = "{ apiVersion: v1, kind: Pod, metadata: { name: p } }";
    const text = `# Source: web\n---\n---\napiVersion: v1\nkind: List\nitems: [${pod}]\n---\n${pod}\n`;
    assert.deepEqual(
      objectsIn("x", text).map(({ metadata }) => metadata.name),
      ["p", "p"],
    );
  });

  for (const [text, place] of [
    ["a: [", 1],
    ["---\napiVersion: v1\nkind: Pod\n", 1],
    ["apiVersion: v1\nkind: Pod\nmetadata: { name: a }\n---\nreplicas: 1\n", 2],
  ] as const)
    it(`are refused with their place: ${JSON.stringify(text)}`, () =>
      assert.throws(() => objectsIn("x", text), { message: new RegExp(`^x, document ${place}: `) }));

  it("show what policies have changed, and nothing that every pod gets", () => {
    const tolerations = [{ key: "node.kubernetes.io/not-ready" }, { key: "os" }];
    const nodeSelector = { "kubernetes.io/os": "windows" };
    assert.deepEqual(changesOf({ nodeSelector }, { tolerations, nodeSelector, runtimeClassName: "windows-2022" }), [
      "fenestra-placement: runtimeClassName windows-2022",
      "fenestra-placement: toleration of os",
    ]);
    assert.deepEqual(changesOf({}, { tolerations: tolerations.slice(0, 1) }), []);
  });
});
