import assert from "node:assert/strict";
import { stackNames } from "../../components/config/stackFile.ts";
import { replacementRow } from "../../plan/replacement/table.ts";
import { runConfig } from "../support/mocks.ts";
import { stackConfig, testStacks } from "../support/stacks.ts";

/**
 * Types by which machines and pods have their rights. A role of Azure's own stays: its name is unique in a tenant, and
 * what replaces it is another network, which the guard refuses.
 */
const rights = /^(aws:iam\/|azure-native:authorization:RoleAssignment)/;

describe("the table of replacements", function () {
  this.timeout(300_000);

  for (const stack of stackNames(testStacks))
    it(`has a row for each type of ${stack}, and no right leaves before what has it`, async () => {
      const { program } = await runConfig(stack, stackConfig(stack), "known-outputs");
      const made = program.resources.filter(({ custom, read }) => custom && read === undefined);
      const unknown = new Set(made.map(({ type }) => type).filter((type) => replacementRow(type) === undefined));
      assert.deepEqual([...unknown], []);
      for (const { type, name, inputs, options } of made.filter((each) => rights.test(each.type)))
        assert.ok(!(options.deleteBeforeReplace ?? replacementRow(type)?.deletesFirst?.(inputs)), name);
    });
});
