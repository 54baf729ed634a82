import assert from "node:assert/strict";
import { elsewhere, manual, places } from "../../rehearsal/checks/manual.ts";
import { documents } from "../docs/documents.ts";

describe("commands of the manual", () => {
  it("say who runs them, where the rehearsal's cluster does not, and those of clouds and of Pulumi are not run there", () => {
    const steps = manual();
    const blocks = documents()
      .filter(({ file }) => file.startsWith("docs/operations/"))
      .flatMap((document) => document.blocks);
    assert.ok(steps.length >= blocks.filter(({ language }) => language === "sh").length && steps.length > 60);
    for (const { at, mark, text } of steps) {
      assert.ok(["", ...places, ...Object.keys(elsewhere)].includes(mark), `${at}: ${mark}`);
      assert.equal(/\b(pulumi|aws|az|fenestra pin) /.test(text), mark === "account", `${at}: ${text}`);
    }
    // Commands are in blocks that say so, whatever their language would be.
    for (const { language, text } of blocks) assert.ok(language !== "" || !/^(aws|az|kubectl|pulumi) /.test(text), text);
  });
});
