import assert from "node:assert/strict";
import { loadConfig } from "../../components/config/load.ts";
import { clusterSpec } from "../../components/model/clusterSpec.ts";
import { decodeUserData } from "../../plan/decode/userData.ts";
import { awsObjects } from "../../plan/fakes/awsAccess.ts";
import { collectMachines } from "../../plan/fakes/collect.ts";
import { mirrorList } from "../../plan/report/mirrorList.ts";
import type { DecodedMachine } from "../../rehearsal/cluster/bringUp.ts";
import { runStack } from "../support/mocks.ts";
import { planOf } from "../support/planOf.ts";
import { stackConfig } from "../support/stacks.ts";

const stack = "aws-restricted";
const config = stackConfig(stack);
const spec = clusterSpec(loadConfig(config));
const { program } = await runStack(stack);
const machines: readonly DecodedMachine[] = collectMachines(program).map((machine) => ({
  machine,
  payload: decodeUserData(machine.userData, awsObjects(program, machine.role)),
}));
const list = mirrorList(await planOf(stack, config), spec);

/** What keeps containerd of a machine from asking the mirror of a registry (containerd: docs/hosts.md). */
function registryProblem(
  { machine, payload }: DecodedMachine,
  registry: string,
  mirrors: Readonly<Record<string, string>>,
): readonly string[] {
  const wanted = mirrors[registry] ?? mirrors._default;
  if (wanted === undefined) return [`fenestra:mirror.registries has no mirror of ${registry}`];
  const separator = payload.system === "windows" ? "\\" : "/";
  const config = payload.files.find(({ path }) => path.endsWith(`containerd${separator}config.toml`));
  const folder = /^config_path = '(.+)'$/m.exec(config?.content ?? "")?.[1];
  const named = mirrors[registry] === undefined ? "_default" : registry;
  // Windows allows no colon in a folder's name.
  const own = payload.system === "windows" ? named.replace(/:(\d+)$/, "_$1_") : named;
  const path = [folder, own, "hosts.toml"].join(separator);
  // With a login it is made from a template.
  const template = `\\templates${path.replace(/^[A-Z]:/, "")}`.replaceAll("\\", separator);
  const hosts = payload.files.find((file) => file.path === path || file.path.endsWith(template))?.content;
  if (hosts === undefined) return [`${machine.name} has no ${path}`];
  const first = /^\[host\."([^"]+)"\]\ncapabilities = \[(.*)\]/m.exec(hosts);
  return first?.[1] === wanted.replace(/\/+$/, "") && /"pull"/.test(first[2] ?? "") && /"resolve"/.test(first[2] ?? "")
    ? []
    : [`${machine.name}: ${path} does not ask ${wanted} first`];
}

describe("the stack that reaches only a mirror", function () {
  this.timeout(60_000);
  const problems = (of: readonly DecodedMachine[], registry: string, mirrors = spec.mirror.registries) =>
    of.flatMap((machine) => registryProblem(machine, registry, mirrors));
  /** The machines with other text in the files whose path ends so. */
  const edited = (end: string, from: string | RegExp, to: string) =>
    machines.map(({ machine, payload }) => ({
      machine,
      payload: {
        ...payload,
        files: payload.files.map((file) =>
          file.path.endsWith(end) ? { ...file, content: file.content.replace(from, to) } : file,
        ),
      },
    }));

  it("has a place on the mirror for each file, and a mirror of each image", () => {
    assert.ok(list.files.length > 10);
    assert.deepEqual(
      [...list.files.map(({ url }) => url), ...list.images.map(({ reference }) => reference)].filter(
        (_, index) => [...list.files, ...list.images].at(index)?.mirror === null,
      ),
      [],
    );
  });

  it("has containerd ask the mirror on machines of both systems", () => {
    assert.deepEqual(new Set(machines.map(({ payload }) => payload.system)), new Set(["linux", "windows"]));
    for (const registry of Object.keys(spec.mirror.registries)) assert.deepEqual(problems(machines, registry), []);
  });

  it("is wrong when the file names another host, or does not let it resolve tags", () => {
    for (const broken of [
      edited("hosts.toml", "mirror.example.com", "mirror.example.org"),
      edited("hosts.toml", '"pull", "resolve"', '"pull"'),
    ]) {
      const found = problems(broken, "quay.io");
      assert.equal(found.length, machines.length);
      for (const text of found)
        assert.match(text, /hosts\.toml does not ask https:\/\/mirror\.example\.com\/v2\/quay\.io first$/);
    }
  });
});
