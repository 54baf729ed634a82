import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, get } from "node:http";
import { decodeUserData } from "../../plan/decode/userData.ts";
import { placeOf, simulatedCloud } from "../../plan/fakes/cloud.ts";
import { plainRequest, type RecordedResource, type ResourceRequest } from "../../plan/program/recorded.ts";
import { nextUpdate } from "../../plan/providers/nextUpdate.ts";
import { movesOf, type Versions } from "../../rehearsal/checks/updateWatch.ts";
import { simulateCloud } from "../../rehearsal/clouds/clouds.ts";
import { staysShut } from "../../rehearsal/cluster/hooks.ts";
import { runStack, specOf } from "../support/mocks.ts";
import { stackConfig } from "../support/stacks.ts";
import { listening } from "../support/temporary.ts";

describe("a gate under the eyes of a check", () => {
  const server = createServer((_, response) => response.end());
  let port = 0;
  before(async () => {
    port = await listening(server);
  });
  after(() => server.close());

  const ask = async (path: string): Promise<void> => {
    const [answer] = await once(get({ host: "127.0.0.1", port, path, agent: false }), "response");
    answer.resume();
  };

  it("stays shut when it was answered so often, others' requests aside", async () => {
    const opening = Promise.withResolvers<void>();
    const shut = staysShut(opening.promise, /^\/looks$/, 2);
    for (const path of ["/looks", "/other", "/other"]) await ask(path);
    assert.equal(
      await Promise.race([shut, new Promise((resolve) => setTimeout(resolve, 1_500, "not yet"))]),
      "not yet",
    );
    await ask("/looks");
    assert.equal(await shut, true);
  });

  it("is open as soon as it opens, and its failure is the check's", async () => {
    assert.equal(await staysShut(Promise.resolve(), /./, 1), false);
    await assert.rejects(staysShut(Promise.reject(new Error("no API")), /./, 1), /no API/);
  });
});

describe("a further update of a stack", function () {
  this.timeout(120_000);

  it("tells a machine that was replaced twice from both before it, also where its resource keeps its id", () => {
    const simulate = simulatedCloud(placeOf(stackConfig("azure-dev")), "fake");
    const machine = (customData: string): ResourceRequest => {
      const inputs = { resourceGroupName: "g", location: "l", vmName: "m", osProfile: { customData } };
      const request = plainRequest({ urn: "urn:m", type: "azure-native:compute:VirtualMachine", name: "m", inputs });
      return { ...request, options: { ...request.options, replaceOnChanges: ["osProfile.customData"] } };
    };
    const state = new Map<string, RecordedResource>();
    const made = ["a", "b", "a"].map((customData) => {
      const request = machine(customData);
      const answer = nextUpdate(simulate, state)(request);
      state.set(request.urn, { ...request, ...answer });
      return answer;
    });
    assert.equal(new Set(made.map(({ id }) => id)).size, 1);
    assert.equal(new Set(made.map(({ outputs }) => outputs.vmId)).size, 3);
  });

  it("keeps on AWS what it replaces until it has ended, and what it retains for longer", async () => {
    const { program } = await runStack("aws-dev");
    const rest = (replaced: RegExp) => program.resources.filter(({ type }) => !replaced.test(type));
    const read = (resources: readonly RecordedResource[]) => {
      const cloud = simulateCloud(program, specOf("aws-dev"));
      const machine = cloud.machines.find(({ role, group }) => role !== undefined && group?.name.includes("linux"));
      assert.ok(machine);
      cloud.update({ ...program, resources });
      const look = () => decodeUserData(machine.userData, cloud.objects(machine)).entry;
      assert.match(look(), /bootstrap/);
      cloud.endUpdate();
      return look;
    };
    assert.throws(read(rest(/^aws:iam\/role/)), /is not in the bucket/);
    // A group starts machines from its old template after the update.
    assert.match(read(rest(/^aws:s3\/bucketObjectv2:/))(), /bootstrap/);
  });

  it("gives AWS's parameters their new values, and takes those of a removed pool", async () => {
    const { program } = await runStack("aws-dev");
    const cloud = simulateCloud(program, specOf("aws-dev"));
    const [join, ca] = ["/join/linux", "/kubernetes-ca"].map(
      (end) => cloud.secretNames().find((name) => name.endsWith(end)) ?? assert.fail(end),
    );
    const [member] = cloud.machines;
    assert.ok(member !== undefined && ca !== undefined);
    const resources = program.resources
      .filter(({ inputs }) => inputs.name !== join)
      .map((each) => (each.inputs.name === ca ? { ...each, inputs: { ...each.inputs, value: "another" } } : each));
    cloud.update({ ...program, resources });
    assert.ok((await cloud.readSecret(member, ca)) === "another");
    const there = () => cloud.secretNames().includes(join ?? "");
    assert.ok(there());
    cloud.endUpdate();
    assert.ok(!there());
  });
});

describe("the order of an update", () => {
  const look = (controlPlane: string, controller: string, workers: string): Versions => ({
    controlPlane: [...controlPlane].filter((minor) => minor !== "-"),
    programs: { agent: "1", controller },
    workers: [...workers],
  });
  const good = [
    look("666", "6", "66"),
    look("-66", "6", "66"),
    look("776", "6", "66"),
    look("77-", "6", "66"),
    look("777", "7", "66"),
    look("777", "7", "67"),
  ];

  it("has the API servers first, then programs that moved, then kubelets", () => {
    assert.deepEqual(movesOf(good, "7"), { order: ["API servers", "controller", "kubelets"], early: [] });
  });

  it("is wrong where one of them comes sooner", () => {
    const at = (index: number, sooner: Versions) => movesOf(good.with(index, sooner), "7").early;
    assert.deepEqual(at(1, look("-66", "7", "66")), ["controller before API servers"]);
    assert.deepEqual(at(2, look("776", "7", "66")), ["controller before API servers"]);
    // The last old one is gone.
    assert.deepEqual(at(3, look("77-", "7", "66")), []);
    assert.deepEqual(at(3, look("777", "6", "67")), ["kubelets before controller"]);
  });
});
