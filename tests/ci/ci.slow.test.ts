import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { roles } from "../../components/azure/roles.ts";
import type { Cloud } from "../../components/config/schema.ts";
import { readStackFile } from "../../components/config/stackFile.ts";
import { mapOf, textOf } from "../../components/gates/resources.ts";
import { deploySeconds } from "../../examples/ci/aws.ts";
import { documentationAccounts, simulatedCloud } from "../../plan/fakes/cloud.ts";
import type { OutputMode } from "../../plan/program/engine.ts";
import type { RecordedProgram } from "../../plan/program/recorded.ts";
import { runProgram } from "../../plan/program/runProgram.ts";
import { documents } from "../docs/documents.ts";
import { guardTable } from "../program/guardTable.ts";
import { matchSnapshot } from "../support/snapshot.ts";
import { texts } from "../workflows/read.ts";

const setup = new URL("../../examples/ci/", import.meta.url);

const exampleOf = (cloud: Cloud) => ({
  ...readStackFile(cloud, setup),
  "fenestra-ci:stackDir": "stacks",
  "fenestra-ci:stacks": JSON.stringify([`${cloud}-dev`, `${cloud}-prod`]),
  "fenestra-ci:repository": "octo-org/clusters",
  "fenestra-ci:repositoryIds": `{"owner":"12","repository":"345"}`,
});

function run(cloud: Cloud, mode: OutputMode = "known-outputs", over: Readonly<Record<string, string>> = {}) {
  const place = { region: cloud === "aws" ? "eu-central-1" : "westeurope", accountId: documentationAccounts[cloud] };
  return runProgram({
    entry: fileURLToPath(new URL("index.ts", setup)),
    project: "fenestra-ci",
    stack: cloud,
    config: { ...exampleOf(cloud), ...over },
    mode,
    simulate: simulatedCloud(place, "fake"),
  });
}

/** Lines of both stacks as one. */
function ofEachStack(text: string): string {
  const lines = [...Map.groupBy(text.split("\n"), (line) => line.replaceAll(/-(dev|prod)\b/g, "-STACK"))];
  return lines.map(([line, [first = "", second]]) => (second === undefined ? first : line)).join("\n");
}

const programs = { aws: await run("aws"), azure: await run("azure") };

describe("the setup for the workflows", function () {
  this.timeout(60_000);
  for (const cloud of ["aws", "azure"] as const)
    it(`guards on ${cloud} as the table says, and makes the same in a first preview`, async () => {
      const preview = await run(cloud, "unknown-outputs");
      const shape = ({ resources }: RecordedProgram) => resources.map(({ type, name }) => `${type} ${name}`).sort();
      assert.deepEqual(shape(preview), shape(programs[cloud]));
      const text = guardTable({ "": programs[cloud] }).replaceAll(/fenestrastate\w+/g, "NAME");
      matchSnapshot(path.join(import.meta.dirname, `guards.${cloud}.txt`), ofEachStack(text));
    });

  it("names on Azure, as the manual does, the version of each state's key", () => {
    const variables = Object.values(mapOf(mapOf(programs.azure.outputs).environments)).map(mapOf);
    const version = /^azurekeyvault:\/\/[^/]+\/keys\/[^/]+\/[0-9a-f]{32}$/;
    for (const { PULUMI_SECRETS_PROVIDER } of variables) assert.match(textOf(PULUMI_SECRETS_PROVIDER) ?? "", version);
    assert.ok(variables.length > 0);
    for (const { text } of documents()) assert.doesNotMatch(text, /azurekeyvault:\/\/[^\s"`]*\/keys\/[^/\s"`]+["`\s]/);
  });

  it("tells every variable that workflows or the making of a stack read, and no other", () => {
    const making = readFileSync(new URL("../../docs/ci.md", import.meta.url), "utf8");
    const read = new Set(
      // The environments of a first contact are a maintainer's own.
      [...Object.entries(texts), ["", making]].flatMap(([name, text = ""]) =>
        name === "contact.yml" ? [] : [...text.matchAll(/(?:vars|\[\$stack\])\.(\w+)/g)].map(([, name]) => name),
      ),
    );
    // What the repository itself turns on.
    for (const name of ["DEPLOY", "PREFLIGHT"]) assert.ok(read.delete(name), name);
    const told = (["aws", "azure"] as const).flatMap((cloud) =>
      Object.values(mapOf(mapOf(programs[cloud].outputs).environments)).flatMap((variables) =>
        Object.keys(mapOf(variables)),
      ),
    );
    assert.deepEqual([...read].sort(), [...new Set(told)].sort());
    assert.match(texts["deploy.yml"] ?? "", new RegExp(`role-duration-seconds: ${deploySeconds}$`, "m"));
  });

  it("lets on Azure give the roles of a cluster alone", () => {
    const given = programs.azure.resources.filter(({ type }) => type === "azure-native:authorization:RoleAssignment");
    const [administrator] = given.filter(({ name }) => name.includes("roleBasedAccessControl"));
    const condition = textOf(administrator?.inputs.condition) ?? "";
    for (const id of Object.values(roles)) assert.equal(condition.split(id).length, 3, "in both halves");
    assert.equal(administrator?.inputs.conditionVersion, "2.0");
    // Owner, Contributor, User Access Administrator, Role Based Access Control Administrator.
    for (const id of ["8e3af657", "b24988ac", "18d7d88d", "f58310d9"]) assert.ok(!condition.includes(id), id);
  });
});
