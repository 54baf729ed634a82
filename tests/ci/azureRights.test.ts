import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { ciRoles, preflightActions, rolesOf } from "../../examples/ci/azureRoles.ts";
import { rolesAllow } from "../../plan/fakes/azureAccess.ts";
import { builtInRoles } from "../../plan/fakes/azureRoles.ts";
import { rightsAsked } from "../check/account/world.ts";

describe("the rights of the workflows on Azure", () => {
  const missing = (purpose: "preview" | "deploy", more: readonly string[]) => {
    const roles = rolesOf(purpose, { pods: undefined, network: undefined });
    const rights = roles.flatMap(({ role, on }) => (on === "subscription" ? (builtInRoles[ciRoles[role]] ?? []) : []));
    const held = [...rights, { actions: more }].map((each) => ({ scope: "", rights: each }));
    const asked = [...rightsAsked("azure")].filter((right) => right !== "token");
    return asked.filter((action) => !rolesAllow(held, { action, plane: "control", resource: "/" }));
  };

  it("let preview and update ask all that preflight asks", () => {
    assert.deepEqual(missing("preview", preflightActions), []);
    assert.deepEqual(missing("deploy", []), []);
    assert.deepEqual(missing("preview", []), preflightActions);
  });

  it("are not the preview's that preflight judges", () => {
    const workflow = readFileSync(new URL("../../.github/workflows/deploy.yml", import.meta.url), "utf8");
    assert.match(workflow, /preflight .*--deployer "\$AZURE_DEPLOYER_ID"/);
  });
});
