import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { callsOfGates, faults, staysShut } from "./faults.ts";

describe("calls of gates times wrong answers, a sample", () => {
  it("every gate is passed with a well cluster, and all that the gates' files name is asked", async () => {
    const folder = new URL("../../components/gates/", import.meta.url);
    const names = readdirSync(folder).filter((name) => name.endsWith(".ts"));
    const files = names.map((name) => readFileSync(new URL(name, folder), "utf8"));
    const named = files.flatMap((file) =>
      [...file.matchAll(/["`](\/(?:readyz|apis?\/)[^"`?\s]*)["`?]/g)].map(([, path]) => path),
    );
    const forms = [...new Set(named)].map(
      (path = "") => new RegExp(`^${path.replaceAll(/\$\{\w+\}/g, "[^/]+")}(\\?.*)?$`),
    );
    const unasked = (pairs: Awaited<ReturnType<typeof callsOfGates>>) =>
      forms.filter((form) => !pairs.some(([, , path]) => form.test(path)));
    const pairs = await callsOfGates();
    assert.ok(forms.length >= 8, String(forms));
    assert.deepEqual(unasked(pairs), []);
    // A call left out is seen.
    for (const form of forms) assert.ok(unasked(pairs.filter(([, , path]) => !form.test(path))).includes(form));
  });

  it("none opens, and each wait ends", async () => {
    const pairs = await callsOfGates();
    const names = Object.keys(faults);
    // Each fault once, each call at least once.
    for (const [index, fault] of names.entries()) {
      const [gate, call] = pairs[index % pairs.length] ?? assert.fail();
      await staysShut(gate, call, fault);
    }
  }).timeout(30_000);
});
