import assert from "node:assert/strict";
import { callsOfGates, faults, staysShut } from "./faults.ts";

describe("calls of gates times wrong answers, a sample", () => {
  it("every gate is passed with a well cluster, and asks what it is known to ask", async () => {
    const pairs = await callsOfGates();
    assert.equal(pairs.length, 14, JSON.stringify(pairs));
  });

  it("none opens, and each wait ends", async () => {
    const pairs = await callsOfGates();
    const names = Object.keys(faults);
    // Each fault once, each call at least once.
    const sample = names.map((fault, index) => [...(pairs[index % pairs.length] ?? assert.fail()), fault] as const);
    for (const [gate, call, fault] of sample) await staysShut(gate, call, fault);
  }).timeout(30_000);
});
