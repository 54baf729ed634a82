import assert from "node:assert/strict";
import { parse } from "yaml";
import { ControlPlaneMachine } from "../../components/aws/controlPlaneMachine.ts";
import { ControlPlane } from "../../components/gates/controlPlane.ts";
import { settingsOfMember } from "../../components/model/clusterSpec.ts";
import { placeOf, simulatedCloud } from "../../plan/fakes/cloud.ts";
import type { SimulatedCloud } from "../../plan/program/engine.ts";
import type { RecordedResource } from "../../plan/program/recorded.ts";
import { mapOf, textOf } from "../../plan/program/values.ts";
import { ServedCloud } from "../../plan/providers/cloud.ts";
import { fateOf, nextUpdate } from "../../plan/providers/nextUpdate.ts";
import { type Recorded, specOf, withMocks } from "../support/mocks.ts";
import { stackConfig } from "../support/stacks.ts";
import { well } from "./faults.ts";
import { runHook } from "./hook.ts";
import { serving } from "./serving.ts";

type Changes = Readonly<Record<string, unknown>>;
const instance = "aws:ec2/instance:Instance";
const stash = "pulumi:index:Stash";

/** The control plane of aws-prod in updates as the engine carries them out, on an EC2 that may have too little. */
class Stack {
  /** Size and zone of which EC2 has no machine: `m7i.large b`. */
  readonly soldOut = new Set<string>();
  readonly #state = new Map<string, RecordedResource>();
  readonly #asked = new Map<string, RecordedResource>();
  readonly #cloud = new ServedCloud(({ urn }) => {
    const { id = "", outputs } = this.#asked.get(urn.replace(/#.*/, "")) ?? assert.fail(urn);
    return { id, outputs };
  });
  #made = 0;

  constructor() {
    this.#cloud.deployer = (operation, { type, inputs }, { resources }) => {
      if (operation !== "create" || type !== instance) return;
      const find = (key: string, id: string) => resources.find((each) => each.id === mapOf(inputs[key])[id]);
      const size = textOf(find("launchTemplate", "id")?.inputs.instanceType);
      const zone = textOf(find("primaryNetworkInterface", "networkInterfaceId")?.inputs.subnetId);
      if (this.soldOut.has(`${size} ${zone}`)) throw new Error(`InsufficientInstanceCapacity: no ${size} in ${zone}`);
    };
  }

  /** Sizes of the machines that run, by their members. */
  get sizes(): Readonly<Record<string, string | undefined>> {
    return Object.fromEntries(
      this.#machines().map(({ name, inputs }) => {
        const template = [...this.#state.values()].find(({ id }) => id === mapOf(inputs.launchTemplate).id);
        return [`cp-${/(\d)-instance$/.exec(name)?.[1]}`, textOf(template?.inputs.instanceType)];
      }),
    );
  }

  #machines(): readonly RecordedResource[] {
    return [...this.#state.values()].filter(({ type }) => type === instance);
  }

  async update(changes: Changes): Promise<void> {
    const spec = specOf("aws-prod", changes);
    const running = () =>
      this.#machines().map(({ id = "", name }) => ({
        etcdName: id,
        address: spec.controlPlane.members[Number(/(\d)-instance$/.exec(name)?.[1])]?.address ?? "",
      }));
    const fake = simulatedCloud(placeOf(stackConfig("aws-prod")), "fake");
    const simulate: SimulatedCloud = (request) => {
      this.#made += 1;
      return fake({ ...request, urn: `${request.urn}#${this.#made}` });
    };
    const before = new Map(this.#state);
    await serving(
      (path, sent) => well(path, sent, running()),
      async (api) => {
        const recorded = await withMocks(
          () => {
            const common = {
              ...{ endpoint: { host: "h" }, groupId: "g", profileArn: "p", secretsKeyArn: "k" },
              after: [],
            };
            const object = { key: "k", sha256: "0", content: "", paths: [] };
            const scripts = { bucketName: "b", bucketArn: "b", object };
            const rest = { ...common, snapshotBucket: "s", scripts, tokens: undefined };
            new ControlPlane("control-plane", {
              ...{ spec, api, subnetIds: ["a", "b", "c"], reachable: [], mayStart: undefined },
              patience: { everySeconds: 0.001, limitSeconds: 2 },
              makeMachine: (name, own, opts) =>
                new ControlPlaneMachine(name, { ...rest, ...own, spec: settingsOfMember(spec, own.member) }, opts),
            });
          },
          { simulate: nextUpdate(simulate, before) },
        );
        const resources = recorded.program.resources.filter(({ custom }) => custom);
        for (const each of resources) this.#asked.set(each.urn, each);
        for (const each of resources) await this.#step(each, recorded, before);
      },
    );
  }

  async #step(resource: RecordedResource, recorded: Recorded, before: ReadonlyMap<string, RecordedResource>) {
    const { urn, type, inputs, options } = resource;
    const old = before.get(urn);
    const fate = old === undefined ? "added" : fateOf(urn, before, this.#asked);
    if (type === stash && fate !== "stays")
      for (const hook of options.hooks[old === undefined ? "beforeCreate" : "beforeUpdate"] ?? [])
        await runHook(recorded, hook, { oldInputs: old?.inputs });
    if (old !== undefined && fate === "replaced") {
      this.#cloud.delete(old, old.id ?? "", old.inputs);
      this.#state.delete(urn);
    }
    if (type !== stash && (fate === "added" || fate === "replaced")) this.#cloud.create(resource, inputs);
    if (type !== stash && old !== undefined && fate === "changed") {
      const question = { inputs, oldInputs: old.inputs, oldOutputs: old.outputs, ignoreChanges: options.ignoreChanges };
      this.#cloud.update(resource, old.id ?? "", question);
    }
    this.#state.set(urn, resource);
  }
}

const image = (digit: number) => ({ controlPlane: { replicas: 3, image: `ami-0fedcba98765432${digit}0` } });
const withMore = (changes: { readonly controlPlane: object }, more: object) => ({
  controlPlane: { ...changes.controlPlane, ...more },
});

/** What a refusal's words say to write below fenestra:controlPlane. */
function advised({ message }: Error): object {
  const [, setting = ""] = /with `(sizes: \{.*?\})` below fenestra:controlPlane/.exec(message) ?? [];
  return parse(setting);
}

describe("a zone without a machine of the control plane's size", function () {
  this.timeout(60_000);
  const lacking = /^Error: InsufficientInstanceCapacity: no m7i.large in b/;
  const refused = async (update: Promise<void>): Promise<object> =>
    await update.then(
      () => assert.fail("the gate opened"),
      (error: Error) => (/could lose its quorum/.test(error.message) ? advised(error) : assert.fail(error)),
    );

  it("stops an update after the old machine went, and the refusal's own words lead out of it", async () => {
    const stack = new Stack();
    await stack.update(image(1));
    stack.soldOut.add("m7i.large b");
    await assert.rejects(stack.update(image(2)), lacking);
    assert.deepEqual(stack.sizes, { "cp-0": "m7i.large", "cp-2": "m7i.large" });
    await assert.rejects(stack.update(image(2)), lacking);
    // Neither another size for all nor the way back passes by the machine that is left.
    const larger = await refused(stack.update(withMore(image(2), { size: "m7i.xlarge" })));
    assert.deepEqual(larger, { sizes: { "cp-1": "m6i.xlarge" } });
    const said = await refused(stack.update(image(1)));
    assert.deepEqual(stack.sizes, { "cp-0": "m7i.large", "cp-2": "m7i.large" });
    await stack.update(withMore(image(2), said));
    assert.deepEqual(stack.sizes, { "cp-0": "m7i.large", "cp-2": "m7i.large", "cp-1": "m6i.large" });
    // Another update of all is as ever.
    await stack.update(withMore(image(3), said));
  });

  it("is no dead end for machines that are added, of which none has ever been there", async () => {
    const stack = new Stack();
    await stack.update(withMore(image(1), { replicas: 1 }));
    stack.soldOut.add("m7i.large b");
    await assert.rejects(stack.update(image(1)), lacking);
    await stack.update(withMore(image(1), { sizes: { "cp-1": "m6i.large" } }));
    assert.deepEqual(stack.sizes, { "cp-0": "m7i.large", "cp-1": "m6i.large", "cp-2": "m7i.large" });
  });
});
