import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

/** Azure retires all versions of the Key Vault control plane before this one on 2027-02-27 (docs/adr/0007-azure-api-versions.md). */
const firstToStay = "2026-02-01";
/** A month before. */
const deadline = "2027-01-27";

/** Version of Azure's API that the installed package uses for a kind. */
function apiVersion(kind: string): string {
  const file = fileURLToPath(import.meta.resolve(`@pulumi/azure-native/${kind}.js`)).replace(/\.js$/, ".d.ts");
  return /Uses Azure REST API version (\d{4}-\d{2}-\d{2})/.exec(readFileSync(file, "utf8"))?.[1] ?? assert.fail(kind);
}

/** Versions that will be gone, once the deadline has passed. ISO dates compare as text. */
const overdue = (versions: readonly string[], today: string): readonly string[] =>
  today < deadline ? [] : versions.filter((version) => version < firstToStay);

describe("versions of Azure's API", () => {
  it("are raised before Azure retires them", () => {
    const versions = ["keyvault/vault", "keyvault/secret", "keyvault/key"].map(apiVersion);
    assert.deepEqual(overdue(versions, new Date().toISOString().slice(0, 10)), []);
  });

  it("would be told when it is time", () => assert.deepEqual(overdue(["2024-11-01", "2026-02-01"], "2027-01-27"), ["2024-11-01"]));
});
