// Sees what nothing faster does: each wrong answer to each call of a gate; a fast test has a share.
import { callsOfGates, staysShut } from "./faults.ts";
import { eachFault, faults } from "./serving.ts";

describe("calls of gates times wrong answers", () => {
  it("none opens, and each wait ends", async () =>
    await eachFault(await callsOfGates(), Object.keys(faults), staysShut)).timeout(300_000);
});
