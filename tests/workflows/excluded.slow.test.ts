import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { runStack } from "../support/mocks.ts";

/** A pattern of URNs as the engine reads it (pulumi/pulumi v3.259.0, pkg/resource/deploy/deployment.go, `getMatcher`). */
const urns = (glob: string): RegExp =>
  new RegExp(
    `^${glob.replace(/[.+?^${}()|[\]\\]/g, "\\$&").replace(/\*+/g, (stars) => (stars === "*" ? "[^:]*" : ".*"))}$`,
  );

/** What a file has Pulumi leave out. */
const excluded = (file: string): readonly string[] =>
  [...readFileSync(new URL(`../../${file}`, import.meta.url), "utf8").matchAll(/--exclude '([^']+)'/g)].map(
    ([, glob = ""]) => glob,
  );

describe("what is read before a preview", () => {
  it("leaves out blobs, which rights.slow.test.ts does too, and while the API is away its objects, everywhere alike", async () => {
    const { program } = await runStack("azure-dev", {
      access: { serviceAccountKeys: ["rsa-1"], workloadIdentity: {} },
    });
    const [blobs = "", objects = ""] = excluded("examples/ci/update.sh");
    for (const file of ["components/gates/peersGate.ts", "docs/operations/updates.md"])
      assert.deepEqual([...new Set(excluded(file))], [objects], file);
    for (const [glob, type] of [
      [blobs, /^azure-native:storage:Blob$/],
      [objects, /^kubernetes:/],
    ] as const) {
      const wanted = program.resources.filter((each) => type.test(each.type));
      assert.ok(wanted.length > 0);
      assert.deepEqual(
        program.resources.filter(({ urn }) => urns(glob).test(urn)),
        wanted,
      );
    }
  });
});
