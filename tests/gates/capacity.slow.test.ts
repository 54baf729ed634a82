import assert from "node:assert/strict";
import { parse } from "yaml";
import { ControlPlaneMachine } from "../../components/aws/controlPlaneMachine.ts";
import { ControlPlane } from "../../components/gates/controlPlane.ts";
import { settingsOfMember } from "../../components/model/clusterSpec.ts";
import { placeOf, simulatedCloud } from "../../plan/fakes/cloud.ts";
import type { RecordedResource } from "../../plan/program/recorded.ts";
import { mapOf, textOf } from "../../plan/program/values.ts";
import { ServedCloud } from "../../plan/providers/cloud.ts";
import { fateOf, nextUpdate } from "../../plan/providers/nextUpdate.ts";
import { specOf, withMocks } from "../support/mocks.ts";
import { stackConfig } from "../support/stacks.ts";
import { well } from "./faults.ts";
import { runHook } from "./hook.ts";
import { serving } from "./serving.ts";

const zones = ["a", "b", "c"];
const fake = simulatedCloud(placeOf(stackConfig("aws-prod")), "fake");

/** A control plane in updates as the engine carries them out, on an EC2 that may have too little. */
function newStack() {
  const [state, asked] = [new Map<string, RecordedResource>(), new Map<string, RecordedResource>()];
  const [soldOut, running] = [new Set<string>(), new Map<string, { readonly size: string; readonly id: string }>()];
  let made = 0;
  const cloud = new ServedCloud(({ urn }) => {
    const { id = "", outputs } = asked.get(urn.replace(/#.*/, "")) ?? assert.fail(urn);
    return { id, outputs };
  });
  cloud.deployer = (operation, { type, id = "", inputs }, { resources }) => {
    if (type !== "aws:ec2/instance:Instance") return;
    const find = (key: string, of: string) => resources.find((each) => each.id === mapOf(inputs[key])[of])?.inputs;
    const size = textOf(find("launchTemplate", "id")?.instanceType) ?? "";
    const zone = textOf(find("primaryNetworkInterface", "networkInterfaceId")?.subnetId) ?? "";
    running.delete(zone);
    if (operation !== "create") return;
    if (soldOut.has(`${size} ${zone}`)) throw new Error(`InsufficientInstanceCapacity: no ${size} in ${zone}`);
    running.set(zone, { size, id });
  };
  const update = async (controlPlane: object): Promise<void> => {
    const spec = specOf("aws-prod", { controlPlane });
    const { members } = spec.controlPlane;
    const nodes = () =>
      members.flatMap(({ index, address }) => {
        const machine = running.get(zones[index] ?? "");
        return machine === undefined ? [] : [{ etcdName: machine.id, address }];
      });
    const before = new Map(state);
    await serving(
      (path, sent) => well(path, sent, nodes()),
      async (api) => {
        const scripts = { bucketName: "b", bucketArn: "b", object: { key: "k", sha256: "0", content: "", paths: [] } };
        const strings = { groupId: "g", profileArn: "p", secretsKeyArn: "k", snapshotBucket: "s" };
        const rest = { ...strings, scripts, endpoint: { host: "h" }, tokens: undefined, after: [] };
        const build = () =>
          new ControlPlane("control-plane", {
            ...{ spec, api, subnetIds: zones, reachable: [], mayStart: undefined },
            patience: { everySeconds: 0.001, limitSeconds: 2 },
            makeMachine: (name, own, opts) =>
              new ControlPlaneMachine(name, { ...rest, ...own, spec: settingsOfMember(spec, own.member) }, opts),
          });
        const simulate = nextUpdate((request) => {
          made += 1;
          return fake({ ...request, urn: `${request.urn}#${made}` });
        }, before);
        const recorded = await withMocks(build, { simulate });
        const resources = recorded.program.resources.filter(({ custom }) => custom);
        for (const each of resources) asked.set(each.urn, each);
        for (const resource of resources) {
          const { urn, type, id = "", inputs, options } = resource;
          const old = before.get(urn);
          const fate = old === undefined ? "added" : fateOf(urn, before, asked);
          if (fate === "stays") continue;
          if (type === "pulumi:index:Stash") {
            const hooks = options.hooks[old === undefined ? "beforeCreate" : "beforeUpdate"] ?? [];
            for (const hook of hooks) await runHook(recorded, hook, { oldInputs: old?.inputs });
          } else if (old !== undefined && fate === "changed")
            cloud.update(resource, id, { inputs, oldInputs: old.inputs, oldOutputs: old.outputs, ignoreChanges: [] });
          else {
            if (old !== undefined) cloud.delete(old, old.id ?? "", old.inputs);
            state.delete(urn);
            cloud.create(resource, inputs);
          }
          state.set(urn, resource);
        }
      },
    );
  };
  return { soldOut, update, sizes: () => zones.map((zone) => running.get(zone)?.size) };
}

describe("a zone without a machine of the control plane's size", function () {
  this.timeout(60_000);
  const image = (digit: number) => ({ replicas: 3, image: `ami-0fedcba98765432${digit}0` });
  const lacking = /^Error: InsufficientInstanceCapacity: no m7i.large in b/;
  const [usual, other] = ["m7i.large", "m6i.large"];
  /** What a refusal says to write below fenestra:controlPlane. */
  const advice = async (update: Promise<void>): Promise<object> => {
    const message = await update.then(() => assert.fail("the gate opened"), String);
    const [, said = ""] = /quorum: .* with `(sizes: \{.*?\})` below fenestra:controlPlane/.exec(message) ?? [];
    return parse(said);
  };

  it("stops an update after the old machine went, and the refusal's own words lead out of it", async () => {
    const { soldOut, update, sizes } = newStack();
    await update(image(1));
    soldOut.add("m7i.large b");
    for (const _ of [1, 2]) await assert.rejects(update(image(2)), lacking);
    // Neither another size for all nor the way back passes by the machine that is left.
    assert.deepEqual(await advice(update({ ...image(2), size: "m7i.xlarge" })), { sizes: { "cp-1": "m6i.xlarge" } });
    const said = await advice(update(image(1)));
    assert.deepEqual(sizes(), [usual, undefined, usual]);
    await update({ ...image(2), ...said });
    assert.deepEqual(sizes(), [usual, other, usual]);
    await update({ ...image(3), ...said });
  });

  it("is no dead end for machines that are added, of which none has ever been there", async () => {
    const { soldOut, update, sizes } = newStack();
    await update({ ...image(1), replicas: 1 });
    soldOut.add("m7i.large b");
    await assert.rejects(update(image(1)), lacking);
    await update({ ...image(1), sizes: { "cp-1": other } });
    assert.deepEqual(sizes(), [usual, other, usual]);
  });
});
