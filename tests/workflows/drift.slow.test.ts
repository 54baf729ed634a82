import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { ciRoles, rolesOf } from "../../ci/azureRoles.ts";
import type { Purpose } from "../../ci/environments.ts";
import { rolesAllow } from "../../plan/fakes/azureAccess.ts";
import { builtInRoles } from "../../plan/fakes/azureRoles.ts";
import type { RecordedResource } from "../../plan/program/recorded.ts";
import { runStack } from "../support/mocks.ts";
import { needJq, scriptOf, texts } from "./read.ts";

/**
 * A pattern of URNs as the engine reads it (pulumi/pulumi v3.259.0, pkg/resource/deploy/deployment.go, `getMatcher`).
 */
const urns = (glob: string): RegExp =>
  new RegExp(
    `^${glob.replace(/[.+?^${}()|[\]\\]/g, "\\$&").replace(/\*+/g, (stars) => (stars === "*" ? "[^:]*" : ".*"))}$`,
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

describe("the nightly comparison", () => {
  it("leaves out on Azure exactly what its identity may not read", async () => {
    const { program } = await runStack("azure-dev", {
      access: { serviceAccountKeys: ["rsa-1"], workloadIdentity: {} },
    });
    const made = program.resources.filter(({ type }) => type.startsWith("azure-native:"));
    const [, glob = ""] = / --exclude '([^']+)'/.exec(scriptOf("drift.yml drift", "Compare")) ?? [];
    const names = (all: readonly RecordedResource[]) => all.map(({ name }) => name);
    const unread = made.filter((each) => !mayRead("drift", each));
    assert.ok(unread.length > 0);
    assert.deepEqual(names(program.resources.filter(({ urn }) => urns(glob).test(urn))), names(unread));
    assert.deepEqual(names(made.filter((each) => !mayRead("deploy", each))), []);
  });
});

function azurePipelineScript(): string {
  const text = readFileSync(new URL("../../examples/pipelines/azure-pipelines.yml", import.meta.url), "utf8");
  const [, indent = "", script = ""] = /^( +)inlineScript: \|\n((?:\1 .*\n)+)/m.exec(text) ?? [];
  return script.replaceAll(new RegExp(`^${indent}  `, "gm"), "");
}

/** Runs a script with a program in Pulumi's place. Returns its commands but `login`, and a failure. */
function runWithPulumi(
  script: string,
  { resources, fails }: { readonly resources: unknown; readonly fails: string },
): readonly string[] {
  const folder = mkdtempSync(path.join(tmpdir(), "fenestra-refresh-"));
  try {
    const state = JSON.stringify({ version: 3, deployment: { manifest: {}, resources } });
    const pulumi = `#!/bin/sh\necho "$1" >> "${folder}/calls"\n[ "$1" != ${fails} ] || exit 1\n[ "$1" != stack ] || echo '${state}'\n`;
    writeFileSync(path.join(folder, "pulumi"), pulumi, { mode: 0o755 });
    writeFileSync(path.join(folder, "az"), "#!/bin/sh\n", { mode: 0o755 });
    const env = {
      PATH: `${folder}:${process.env.PATH ?? ""}`,
      STACK: "s",
      BACKEND: "b",
      PROGRAM: ".",
      RUNNER_TEMP: folder,
    };
    // GitHub runs bash with `-e`, Azure DevOps without.
    const options = { env, cwd: path.join(import.meta.dirname, "../../") };
    const { status } = spawnSync("bash", [...(script.includes("az account") ? [] : ["-e"]), "-c", script], options);
    const calls = readFileSync(path.join(folder, "calls"), "utf8").trim().split("\n");
    return [...calls.filter((call) => call !== "login"), ...(status === 0 ? [] : [`exit ${status}`])];
  } finally {
    rmSync(folder, { recursive: true });
  }
}

describe("a refresh by the pipelines", () => {
  before(function () {
    needJq(this);
  });
  for (const [where, script] of [
    ["GitHub", scriptOf("deploy.yml up", "Read what the cloud has")],
    ["GitHub, nightly", scriptOf("drift.yml drift", "Compare")],
    ["Azure DevOps", azurePipelineScript()],
  ] as const)
    it(`is made of what an update has left, and its failure ends the job: ${where}`, () => {
      const calls = (resources: unknown, fails = "nothing") => runWithPulumi(script, { resources, fails });
      const made = [{ urn: "urn:pulumi:s::p::pulumi:pulumi:Stack::p-s" }];
      const rest = where === "Azure DevOps" ? ["up"] : [];
      assert.deepEqual(calls(undefined), ["stack", ...rest]);
      assert.deepEqual(calls(made), ["stack", "refresh", ...rest]);
      assert.deepEqual(calls(made, "refresh"), ["stack", "refresh", "exit 1"]);
      assert.deepEqual(calls(made, "stack"), ["stack", "exit 1"]);
    });
});

describe("a refresh while the API is away", () => {
  it("leaves out the objects of Kubernetes and nothing else, wherever it is written", async () => {
    const page = (file: string) => readFileSync(new URL(`../../${file}`, import.meta.url), "utf8");
    const files = [
      "examples/pipelines/azure-pipelines.yml",
      "components/gates/peersGate.ts",
      "docs/operations/updates.md",
    ].map(page);
    const globs = [texts["deploy.yml"] ?? "", ...files].map((text) =>
      [...text.matchAll(/--exclude '([^']+)'/g)].map(([, glob = ""]) => glob),
    );
    const [[glob = ""] = []] = globs;
    const distinct = globs.map((all) => [...new Set(all)]);
    const wanted = globs.map(() => [glob]);
    assert.deepEqual(distinct, wanted);
    const { program } = await runStack("azure-dev");
    const objects = program.resources.filter(({ type }) => type.startsWith("kubernetes:"));
    assert.ok(objects.length > 50);
    const excluded = program.resources.filter(({ urn }) => urns(glob).test(urn));
    assert.deepEqual(excluded, objects);
  });
});
