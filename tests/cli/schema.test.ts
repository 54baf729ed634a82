import assert from "node:assert/strict";
import { commands } from "../../cli/main.ts";
import { printed } from "../../cli/printed.ts";
import { organisationSettings } from "../../components/config/jsonSchema.ts";
import { findingRules } from "../../plan/report/findings.ts";
import { fenestra } from "../support/fenestra.ts";

/** Commands that make or change something, and what they say is how far they are. */
const makers = ["init", "update", "rehearse", "up", "down", "image", "schema", "completion"];

describe("fenestra schema", () => {
  it("prints every setting and every finding to read", async () => {
    const [settings, listed] = await Promise.all(
      ["--markdown", "--findings"].map((option) => fenestra("schema", option)),
    );
    const missing = organisationSettings.filter((setting) => !settings?.out.includes(`\n- \`${setting}\` (`));
    assert.deepEqual(missing, []);
    const ids = [...(listed?.out ?? "").matchAll(/^- `([a-z-]+)` \((?:note|warning|error)\b/gm)].map(([, id]) => id);
    assert.deepEqual(ids, [...Object.keys(findingRules), "acknowledged-nothing"].sort());
  });

  it("has a schema of each command that lists something, which prints it with --json", async () => {
    const lists: string[] = [];
    for (const [name, [, load]] of Object.entries(commands))
      if ((await load()).command.declaration.options.some(({ long }) => long === "--json")) lists.push(name);
    assert.deepEqual([...lists, ...makers].sort(), Object.keys(commands).sort());
    const named = Object.keys(printed).map((name) => name.split("-")[0]);
    assert.deepEqual([...new Set(named)].sort(), lists.sort());
    for (const name of ["stack", ...Object.keys(printed)]) {
      const { $schema, type }: Record<string, unknown> = JSON.parse((await fenestra("schema", name)).out);
      assert.match(`${$schema} ${type}`, /2020-12\/schema (object|array)$/, name);
    }
  });
});
