import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { ciRoles, rolesOf } from "../../examples/ci/azureRoles.ts";
import type { Purpose } from "../../examples/ci/environments.ts";
import { rolesAllow } from "../../plan/fakes/azureAccess.ts";
import { builtInRoles } from "../../plan/fakes/azureRoles.ts";
import type { RecordedResource } from "../../plan/program/recorded.ts";
import { runStack } from "../support/mocks.ts";

/**
 * A pattern of URNs as the engine reads it (pulumi/pulumi v3.259.0, pkg/resource/deploy/deployment.go, `getMatcher`).
 */
const urns = (glob: string): RegExp =>
  new RegExp(
    `^${glob.replace(/[.+?^${}()|[\]\\]/g, "\\$&").replace(/\*+/g, (stars) => (stars === "*" ? "[^:]*" : ".*"))}$`,
  );

/** What a file has Pulumi leave out. */
const excluded = (file: string): readonly string[] =>
  [...readFileSync(new URL(`../../${file}`, import.meta.url), "utf8").matchAll(/--exclude '([^']+)'/g)].map(
    ([, glob = ""]) => glob,
  );

/**
 * What azure-native asks of the resource manager to read a resource: mostly the resource itself, for a blob its
 * account's key (pulumi/pulumi-azure-native, provider/pkg/resources/customresources/custom_storage_azidentity.go,
 * `newBlobClient`).
 */
const readAction = ({ type }: RecordedResource): string =>
  type === "azure-native:storage:Blob" ? "Microsoft.Storage/storageAccounts/listKeys/action" : `${type}/read`;

function mayRead(purpose: Purpose, resource: RecordedResource): boolean {
  const held = rolesOf(purpose, { pods: undefined, network: undefined }).flatMap(({ role, on }) => {
    const rights = builtInRoles[ciRoles[role]];
    return on === "subscription" && rights !== undefined ? [{ scope: "", rights }] : [];
  });
  return rolesAllow(held, { action: readAction(resource), plane: "control", resource: resource.id ?? "" });
}

describe("what is read before a preview", () => {
  it("leaves out on Azure exactly what its identity may not read", async () => {
    const { program } = await runStack("azure-dev", {
      access: { serviceAccountKeys: ["rsa-1"], workloadIdentity: {} },
    });
    const made = program.resources.filter(({ type }) => type.startsWith("azure-native:"));
    const [glob = ""] = excluded("examples/ci/update.sh");
    const names = (all: readonly RecordedResource[]) => all.map(({ name }) => name);
    const unread = made.filter((each) => !mayRead("preview", each));
    assert.ok(unread.length > 0);
    assert.deepEqual(names(program.resources.filter(({ urn }) => urns(glob).test(urn))), names(unread));
    assert.deepEqual(names(made.filter((each) => !mayRead("deploy", each))), []);
  });
});

describe("a refresh while the API is away", () => {
  it("leaves out the objects of Kubernetes and nothing else, wherever it is written", async () => {
    const [, glob = ""] = excluded("examples/ci/update.sh");
    for (const file of ["components/gates/peersGate.ts", "docs/operations/updates.md"])
      assert.deepEqual([...new Set(excluded(file))], [glob], file);
    const { program } = await runStack("azure-dev");
    const objects = program.resources.filter(({ type }) => type.startsWith("kubernetes:"));
    assert.ok(objects.length > 50);
    assert.deepEqual(
      program.resources.filter(({ urn }) => urns(glob).test(urn)),
      objects,
    );
  });
});
