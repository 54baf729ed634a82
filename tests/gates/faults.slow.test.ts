import { callsOfGates, faults, staysShut } from "./faults.ts";

describe("calls of gates times wrong answers", () => {
  it("none opens, and each wait ends", async () => {
    for (const [gate, call] of await callsOfGates())
      for (const fault of Object.keys(faults)) await staysShut(gate, call, fault);
  }).timeout(300_000);
});
