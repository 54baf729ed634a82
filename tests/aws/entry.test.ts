import assert from "node:assert/strict";
import * as pulumi from "@pulumi/pulumi";
import * as runtime from "@pulumi/pulumi/runtime/index.js";
import { ConfigError } from "../../components/model/problem.ts";
import fenestra from "../../index.ts";
import { stackConfig } from "../support/stacks.ts";

describe("the entry of the program", () => {
  it("shows a mistake in the stack file without the trace of the program, and keeps it as the cause", async () => {
    runtime.setAllConfig({ ...stackConfig("aws-dev"), "fenestra:region": "nowhere" });
    await assert.rejects(fenestra(), (error: unknown) => {
      assert.ok(pulumi.RunError.isInstance(error));
      assert.match(error.message, /^config\.fenestra:region: .*\n {4}found: {3}"nowhere"$/m);
      assert.ok(error.cause instanceof ConfigError);
      return true;
    });
  });
});
