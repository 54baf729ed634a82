import assert from "node:assert/strict";
import type { SimulatedMachine } from "../../plan/fakes/machines.ts";
import { region, start } from "./awsCaller.ts";

describe("the simulated Auto Scaling", () => {
  /** A machine of a group that the program made. */
  const worker: SimulatedMachine = {
    cloud: "aws",
    id: "i-worker",
    name: "linux[0]",
    urn: "urn:linux",
    region,
    zone: `${region}a`,
    privateIp: "10.0.0.5",
    size: "m7i.large",
    image: "ami-1",
    userData: Buffer.alloc(0),
    startCommand: undefined,
    role: "worker",
    tags: {},
    volumes: [],
    group: { name: "dev-linux", min: 1, desired: 1, max: 1, launchHooks: ["join"], terminateHooks: ["drain"] },
  };
  const notWaiting = [400, "No active Lifecycle Action found with instance ID i-worker"];

  function waiting() {
    const world = start();
    const { lifecycle } = world.cloud;
    lifecycle.launch(worker);
    const ask = async (change: Readonly<Record<string, string>> = {}, by = "i-worker") => {
      const form = {
        Action: "CompleteLifecycleAction",
        AutoScalingGroupName: "dev-linux",
        LifecycleHookName: "join",
        InstanceId: "i-worker",
        LifecycleActionResult: "CONTINUE",
        ...change,
      };
      const body = new URLSearchParams(form).toString();
      const answer = await world.send(by, { service: "autoscaling", body });
      const message = /<Message>(.*)<\/Message>/.exec(String(answer.body))?.[1];
      return message === undefined ? answer.status : [answer.status, message];
    };
    return { ...world, lifecycle, ask };
  }

  it("takes the end of a launch once, and from then on has the machine in service", async () => {
    const { ask, lifecycle } = waiting();
    assert.equal(await ask({ Action: "RecordLifecycleActionHeartbeat" }), 200);
    assert.deepEqual([...lifecycle.launched], []);
    assert.equal(await ask(), 200);
    assert.deepEqual([...lifecycle.launched], ["i-worker"]);
    assert.deepEqual(await ask(), notWaiting);
    assert.deepEqual(await ask({ Action: "RecordLifecycleActionHeartbeat" }), notWaiting);
  });

  it("knows no action of another hook or instance, or of the end of a machine that may stay", async () => {
    const { ask, lifecycle } = waiting();
    assert.deepEqual(await ask({ LifecycleHookName: "launch" }), notWaiting);
    assert.deepEqual(await ask({ LifecycleHookName: "drain" }), notWaiting);
    assert.deepEqual(await ask({ InstanceId: "i-cp" }), [400, "No active Lifecycle Action found with instance ID i-cp"]);
    assert.deepEqual(await ask({ LifecycleActionResult: "DONE" }), [400, "LifecycleActionResult DONE is invalid"]);
    assert.equal(await ask({ LifecycleActionResult: "ABANDON" }), 200);
    assert.deepEqual([...lifecycle.launched], []);
  });

  it("lets a machine go whose end was announced when its hook is completed, and not before", async () => {
    const { ask, lifecycle } = waiting();
    await ask();
    lifecycle.terminate(worker);
    assert.deepEqual(await ask(), notWaiting);
    assert.equal(lifecycle.waits(worker), true);
    assert.equal(await ask({ LifecycleHookName: "drain" }), 200);
    assert.equal(lifecycle.waits(worker), false);
  });

  it("refuses another group, another role and another action", async () => {
    const { ask, lifecycle } = waiting();
    assert.equal(await ask({ AutoScalingGroupName: "other" }), 403);
    assert.equal(await ask({}, "i-cp"), 403);
    assert.equal(await ask({ Action: "DeleteAutoScalingGroup" }), 400);
    assert.deepEqual([...lifecycle.launched], []);
  });
});

describe("the simulated EC2", () => {
  const describeInstances = async (by: string, ...filters: readonly (readonly [name: string, value: string])[]) => {
    const form = new URLSearchParams({ Action: "DescribeInstances", Version: "2016-11-15" });
    for (const [index, [name, value]] of filters.entries()) {
      form.set(`Filter.${index + 1}.Name`, name);
      form.set(`Filter.${index + 1}.Value.1`, value);
    }
    const found: string[] = [];
    for (;;) {
      const answer = await start().send(by, { service: "ec2", body: form.toString() });
      const text = String(answer.body);
      found.push(...(text.match(/(?<=<instanceId>)i-[a-z]+|The filter '[^']+' is invalid/g) ?? []));
      const next = /<nextToken>(.*)<\/nextToken>/.exec(text)?.[1];
      if (next === undefined) return [answer.status, ...found];
      form.set("NextToken", next);
    }
  };

  it("finds the machines for which every filter holds, with wildcards", async () => {
    assert.deepEqual(await describeInstances("i-cp"), [200, "i-cp", "i-nokey", "i-worker"]);
    assert.deepEqual(await describeInstances("i-cp", ["instance-id", "i-worker"], ["instance-state-name", "running"]), [200, "i-worker"]);
    const groups = "tag:aws:autoscaling:groupName";
    assert.deepEqual(await describeInstances("i-cp", [groups, "dev-w*"], ["tag:kubernetes.io/cluster/dev", "owned"]), [200, "i-worker"]);
    assert.deepEqual(await describeInstances("i-cp", [groups, "dev-w"]), [200]);
    assert.deepEqual(await describeInstances("i-cp", ["tag:kubernetes.io/cluster/other", "owned"]), [200]);
  });

  it("refuses a filter that it does not know, and who may not look", async () => {
    assert.deepEqual(await describeInstances("i-cp", ["instance", "i-worker"]), [400, "The filter 'instance' is invalid"]);
    assert.deepEqual(await describeInstances("i-worker"), [403]);
  });
});
