import assert from "node:assert/strict";
import { loadConfig } from "../../components/config/load.ts";
import { clusterSpec } from "../../components/model/clusterSpec.ts";
import { decodeUserData } from "../../plan/decode/userData.ts";
import { awsObjects } from "../../plan/fakes/awsAccess.ts";
import { collectMachines } from "../../plan/fakes/collect.ts";
import { mirrorList } from "../../plan/report/mirrorList.ts";
import { registryProblem } from "../../rehearsal/checks/mirrorImages.ts";
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

  it("fails the check when a registry has no mirror, or a machine no file for it", () => {
    const none = problems(machines, "docker.io");
    assert.deepEqual(new Set(none), new Set(["fenestra:mirror.registries has no mirror of docker.io"]));
    const missing = problems(machines, "docker.io", { "docker.io": "https://mirror.example.com" });
    assert.equal(missing.length, machines.length);
    for (const text of missing) assert.match(text, / has no \S+certs\.d[\\/]docker\.io[\\/]hosts\.toml$/);
    const elsewhere = problems(edited("config.toml", /^config_path = '/m, "$&/elsewhere"), "quay.io");
    assert.equal(elsewhere.length, machines.length);
  });

  it("fails the check when the file names another host, or does not let it resolve tags", () => {
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
