import assert from "node:assert/strict";
import { untilRoleIsKnown } from "../../components/azure/roles.ts";

const unknown = 'Status=400 Code="RoleDefinitionDoesNotExist" Message="The specified role definition does not exist."';

/** Whether the hook tries again, and how often it waited. */
async function answer(...errors: readonly string[]): Promise<readonly [again: boolean, pauses: number]> {
  let pauses = 0;
  const hook = untilRoleIsKnown("role", async () => void pauses++);
  const again = await hook.callback({
    urn: "",
    id: "",
    name: "",
    type: "",
    failedOperation: "create",
    errors: [...errors],
  });
  return [again, pauses];
}

describe("an assignment whose role was made a moment ago", () => {
  it("is tried again after a pause while the role is not known, for five minutes", async () => {
    assert.deepEqual(await answer(unknown), [true, 1]);
    assert.deepEqual(await answer(...Array.from({ length: 19 }, () => unknown)), [true, 1]);
    assert.deepEqual(await answer(...Array.from({ length: 20 }, () => unknown)), [false, 0]);
  });

  it("fails at once for any other reason", async () => {
    assert.deepEqual(await answer('Code="AuthorizationFailed"'), [false, 0]);
    assert.deepEqual(await answer('Code="AuthorizationFailed"', unknown), [false, 0], "the newest error counts");
    assert.deepEqual(await answer(), [false, 0]);
  });
});
