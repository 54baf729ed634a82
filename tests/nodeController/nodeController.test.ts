import { findOnPath } from "../../rehearsal/host/command.ts";
import { skipIf } from "../support/skip.ts";
import { pythonTests } from "./python.ts";

describe("the node controller", () => {
  it("decides, reads the clouds and judges machines as its own tests say", async function () {
    const python = await findOnPath("python3", process.env.PATH ?? "");
    skipIf(this, python === undefined ? "python3 is not installed" : undefined);
    // The slow tier has the whole controller's, which take seconds.
    await pythonTests(["test_clouds", "test_judge", "test_requests"]);
  });
});
