import assert from "node:assert/strict";
import { hostname } from "node:os";
import { afterEach, before, describe, it } from "mocha";
import { exampleSpec } from "../../support/stacks.ts";
import { exampleCloud, exampleControlPlane } from "./examples.ts";
import { disposeMachine, machine, needsNamespaces, spec } from "./machine.ts";
import type { Run, Sandbox } from "./sandbox.ts";

const azure = exampleSpec("azure-prod");
const azureAccess = exampleCloud(azure);
assert.ok(azureAccess.kind === "azure");
const scaleSets = `/subscriptions/${azureAccess.subscriptionId}/resourceGroups/${azureAccess.resourceGroup}/providers/Microsoft.Compute/virtualMachineScaleSets`;

interface TestNode {
  readonly name: string;
  readonly ready?: "True" | "False" | "Unknown";
  /** Seconds since Ready changed, or the text of that time. */
  readonly since?: number | string;
  readonly providerId?: string;
  readonly annotations?: Readonly<Record<string, string>>;
}

const awsId = (name: string): string => `aws:///eu-central-1a/${name}`;
const instance = (digit: string): string => `i-${digit.repeat(17)}`;
const healthy: readonly TestNode[] = ["1", "2", "3", "4", "5", "6", "7", "8"].map((digit) => ({
  name: instance(digit),
  ready: "True",
}));
const dead = (digit: string): TestNode => ({ name: instance(digit) });

/** A Node as the API gives it. Default: not Ready for fifty minutes. */
function nodeObject({ name, ready = "False", since = 3000, providerId = awsId(name), annotations }: TestNode): object {
  const time = typeof since === "string" ? since : `${new Date(Date.now() - since * 1000).toISOString().slice(0, 19)}Z`;
  return {
    metadata: { name, ...(annotations === undefined ? {} : { annotations }) },
    spec: { providerID: providerId },
    status: { conditions: [{ type: "Ready", status: ready, lastTransitionTime: time }] },
  };
}

/** What was replaced before, by node, as the ConfigMap has it. */
type Marks = Readonly<Record<string, string>>;

function watch(nodes: readonly TestNode[], marks?: Marks, of = spec, leader = `${hostname()}_ab12`): [Run, Sandbox] {
  const here = machine(exampleControlPlane(of));
  here.write("/var/lib/fenestra/identity.env", "NODE_NAME=i-0123456789abcdef0\nPROVIDER_ID=x\nNODE_IP=10.20.224.10\n");
  here.write("/store/nodes", JSON.stringify({ items: nodes.map(nodeObject) }));
  if (marks !== undefined) here.write("/store/replaced", JSON.stringify({ data: marks }));
  here.write("/store/leader", leader);
  const run = here.run("/opt/fenestra/replace-notready.sh");
  assert.equal(run.code, 0, run.output);
  return [run, here];
}

/** Instances that were reported to their group. */
const reported = ([{ calls }]: readonly [Run, Sandbox]): readonly string[] =>
  calls.flatMap((call) => /^curl .*Action=SetInstanceHealth.*InstanceId=(\S+)/.exec(call)?.[1] ?? []);
/** What was written into the ConfigMap, in order. */
const marked = ([{ calls }]: readonly [Run, Sandbox]): readonly string[] =>
  calls.flatMap((call) => /configmap fenestra-replaced --type merge --patch (.*)$/.exec(call)?.[1] ?? []);
const ago = (seconds: number): string => String(Math.floor(Date.now() / 1000) - seconds);

describe("replacement of nodes that stay NotReady", function () {
  this.timeout(60_000);
  before(needsNamespaces);
  afterEach(disposeMachine);

  it("reports one that is overdue, and no other, and marks it before that where no node can write", () => {
    const run = watch([...healthy, dead("a"), { name: instance("b"), ready: "Unknown", since: 60 }]);
    assert.deepEqual(reported(run), [instance("a")]);
    assert.match(marked(run)[0] ?? "", new RegExp(`^{"data":{"${instance("a")}":"\\d{10}"}}$`));
    assert.equal(marked(run).length, 1);
    const { calls } = run[0];
    const [mark = 0, call = 0] = [/fenestra-replaced --type/, /SetInstanceHealth/].map((what) =>
      calls.findIndex((each) => what.test(each)),
    );
    assert.ok(mark < call);
    assert.ok(calls.some((each) => each.endsWith("create --namespace kube-system configmap fenestra-replaced")));
  });

  it("reports a machine once an hour: one that comes back under its name and dies again is replaced again", () => {
    assert.deepEqual(reported(watch([...healthy, dead("a")], { [instance("a")]: ago(60) })), []);
    const later = watch([...healthy, dead("a")], { [instance("a")]: ago(3700), [instance("f")]: ago(4000) });
    assert.deepEqual(reported(later), [instance("a")]);
    assert.ok(marked(later).includes(`{"data":{"${instance("f")}":null}}`));
  });

  it("leaves a node alone that a person wants to keep", () => {
    const run = watch([...healthy, dead("a"), dead("b"), dead("c")], { [instance("a")]: "keep" });
    assert.deepEqual([reported(run), marked(run).length], [[instance("b"), instance("c")], 2]);
  });

  it("reports at most two in an hour", () => {
    const three = watch([...healthy, dead("a"), dead("b"), dead("c")]);
    assert.deepEqual(reported(three), [instance("a"), instance("b")]);
    assert.deepEqual(reported(watch([...healthy, dead("a")], { x: ago(60), y: ago(60) })), []);
  });

  it("goes on behind an entry that cannot be replaced, and that one uses up nothing", () => {
    const here = machine(exampleControlPlane(spec));
    here.write("/var/lib/fenestra/identity.env", "NODE_NAME=x\nPROVIDER_ID=x\nNODE_IP=10.20.224.10\n");
    const nodes = [...healthy, dead("a"), dead("b"), dead("c")];
    here.write("/store/nodes", JSON.stringify({ items: nodes.map(nodeObject) }));
    here.write("/store/replaced", JSON.stringify({ data: { x: `${ago(60)} failed` } }));
    here.write("/store/leader", `${hostname()}_ab12`);
    here.write("/store/fail", `^curl.*InstanceId=${instance("a")}\n`);
    const run: [Run, Sandbox] = [here.run("/opt/fenestra/replace-notready.sh"), here];
    assert.equal(run[0].code, 0, run[0].output);
    assert.deepEqual(reported(run), [instance("a"), instance("b"), instance("c")]);
    assert.match(marked(run)[1] ?? "", new RegExp(`^{"data":{"${instance("a")}":"\\d{10} failed"}}$`));
  });

  it("reports none while most are NotReady", () => {
    assert.deepEqual(reported(watch([dead("a"), dead("b"), ...healthy.slice(0, 1)])), []);
  });

  it("is done by one machine only: that which the lease names as its kernel does", () => {
    assert.deepEqual(reported(watch([...healthy, dead("a")], {}, spec, "another_ab12")), []);
  });

  it("gives a machine of a scale set a new disk, by the path that its own name leads to", () => {
    const name = "linux00000a";
    // The cloud controller writes the resource group in lower case.
    const providerId = `azure://${scaleSets}/${azure.name}-linux/virtualMachines/10`.replace(
      azureAccess.resourceGroup,
      azureAccess.resourceGroup.toLowerCase(),
    );
    const [{ calls }] = watch([...healthy, { name, providerId }], {}, azure);
    assert.deepEqual(
      calls.flatMap((call) => /--request POST .*(https:\S+)$/.exec(call)?.[1] ?? []),
      [`https://management.azure.com${scaleSets}/${azure.name}-linux/virtualMachines/10/reimage?api-version=2024-07-01`],
    );
  });

  describe("and hostile nodes", () => {
    const command = "$(touch /run/PWNED)";
    const linuxSet = `${scaleSets}/${azure.name}-linux/virtualMachines`;
    /** What a node says of itself, by its own name and number. */
    const hostile: readonly ((name: string, number: number) => Partial<TestNode>)[] = [
      () => ({ since: `now[${command}]` }),
      () => ({ since: "" }),
      () => ({ providerId: awsId(instance("1")) }),
      () => ({ providerId: `aws:///eu-central-1a/${command}` }),
      () => ({ providerId: `aws:///a/x\nreplace ${instance("1")} ${awsId(instance("1"))}` }),
      (name) => ({ providerId: `${awsId(name)} ${awsId(instance("1"))}` }),
      () => ({ providerId: "azure://@evil.example/x" }),
      (_, number) => ({ providerId: `azure://@evil.example${linuxSet}/${number}` }),
      () => ({ providerId: `azure://${scaleSets.replace(/\/[^/]*$/, "")}/virtualMachines/${azure.name}-cp-0` }),
      (_, number) => ({ providerId: `azure://${linuxSet}/${number + 50}` }),
      (_, number) => ({ providerId: `azure://${scaleSets}/${azure.name}-win/virtualMachines/${number}` }),
      (_, number) => ({
        providerId: `azure://${linuxSet}/${number}`.replace(/\/[0-9a-f-]{36}\//, `/${"0".repeat(36)}/`),
      }),
      (_, number) => ({ providerId: `azure://${linuxSet}/${number}/../9` }),
    ];

    for (const [cloud, of, nameOf, good] of [
      ["AWS", spec, (number: number) => `i-${String(number).padStart(17, "e")}`, dead("f")],
      [
        "Azure",
        azure,
        (number: number) => `linux${number.toString(36).padStart(6, "0")}`,
        { name: "win00000b", providerId: `azure://${scaleSets}/${azure.name}-win/virtualMachines/11` },
      ],
    ] as const) {
      it(`have nothing executed and nothing sent for them on ${cloud}, and what is behind them goes on`, () => {
        const nodes = hostile.map((says, index) => ({
          name: nameOf(index + 10),
          ...says(nameOf(index + 10), index + 10),
        }));
        // What once held the report, and was read as an expression.
        const annotations = { "fenestra.dev/reported": `now[${command}]` };
        const well = [...healthy, ...healthy.map(({ name }) => ({ name: name.replaceAll("i-", "i-0"), ready: "True" as const }))];
        const [{ calls, output }, here] = watch([...well, ...nodes, { ...good, annotations }], {}, of);
        assert.equal(here.has("/run/PWNED"), false);
        const sent = calls.filter((call) => call.startsWith("curl") && !call.includes("169.254.169.254"));
        assert.equal(sent.length, 1, `${sent.join("\n")}\n${output}`);
        assert.match(sent[0] ?? "", of === spec ? new RegExp(`InstanceId=${good.name} `) : /-win\/virtualMachines\/11\/reimage/);
      });
    }
  });
});
