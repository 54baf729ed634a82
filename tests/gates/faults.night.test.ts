import { callsOfGates, faults, staysShut } from "./faults.ts";

describe("calls of gates times wrong answers", () => {
  it("none opens, and each wait ends", async () => {
    for (const [gate, call] of await callsOfGates())
      for (const fault of Object.keys(faults)) {
        // A member that is away itself is made whatever a whole answer says of the others.
        const saysOthersAreSick = gate === "made" && call.includes("/pods/") && fault === "another node";
        if (!saysOthersAreSick) await staysShut(gate, call, fault);
      }
  }).timeout(300_000);
});
