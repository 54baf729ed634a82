import assert from "node:assert/strict";
import { collectAzureHosts } from "../../../plan/fakes/azureMachines.ts";
import { type ScheduledEvent, simulateAzure } from "../../../rehearsal/testkit/clouds.ts";
import { azureCluster } from "../../rehearsal/azureCluster.ts";
import { exampleSpec } from "../../support/stacks.ts";
import { exampleLinuxWorker } from "../examples.ts";
import { describeOnMachine, machine, type Run, spec } from "./machine.ts";

const azure = { ...exampleSpec("azure-prod"), artifacts: spec.artifacts };
/** The two machines of the scale set `azure-dev-linux`. */
const hosts = () =>
  collectAzureHosts(azureCluster()).filter(({ resourceName }) => resourceName.startsWith("azure-dev-linux_"));
const url = "/metadata/scheduledevents?api-version=2020-07-01";

describeOnMachine("a drain on Azure", () => {
  /** Lets the machine at an index ask for events of its set, and sends on what it approves; `left` is the rest. */
  async function drain(index: number, events: readonly ScheduledEvent[]): Promise<Run & { readonly left: string[] }> {
    const host = hosts()[index] ?? assert.fail("no such machine");
    const scheduled = new Map([["azure-dev-linux", events]]);
    const cloud = simulateAzure(azureCluster(), scheduled);
    const ask = (method: string, path: string, body = "") =>
      cloud.metadata({
        caller: host.machine.privateIp,
        method,
        host: "169.254.169.254",
        url: path,
        headers: { metadata: "true" },
        body: Buffer.from(body),
      });
    const name = "/metadata/instance/compute/name?api-version=2021-02-01&format=text";
    const here = machine(exampleLinuxWorker(azure));
    here.write("/var/lib/fenestra/identity.env", `NODE_NAME=${host.machine.id}\n`);
    here.write("/store/events", String((await ask("GET", url)).body));
    here.write("/store/instance-name", String((await ask("GET", name)).body));
    here.write("/etc/kubernetes/kubelet.conf", "");
    here.set({ DRAIN_SECONDS: 20 });
    // The pause in which a machine without a notice waits ends this run; so does the one for ever after a drain.
    here.write("/store/cut", "^sleep ");
    const run = here.run("/opt/fenestra/drain.sh");
    for (const call of run.calls) {
      const approval = /--data (\S+) http:\/\/169\.254\.169\.254(\S+)$/.exec(call);
      if (approval !== null) assert.equal((await ask("POST", approval[2] ?? "", approval[1])).status, 200);
    }
    const waiting = (scheduled.get("azure-dev-linux") ?? []).filter(({ EventStatus }) => EventStatus === undefined);
    return { ...run, left: waiting.map(({ EventId }) => EventId) };
  }
  const cordons = ({ calls }: Run) =>
    calls.flatMap((call) => /kubectl .* patch node (\S+) .*unschedulable":true/.exec(call)?.[1] ?? []);
  const event = (
    EventId: string,
    instance: number,
    EventType: ScheduledEvent["EventType"] = "Terminate",
    more = {},
  ) => ({ EventId, EventType, Resources: [`azure-dev-linux_${instance}`], ...more });
  const inSeconds = (seconds: number) => ({ NotBefore: new Date(Date.now() + 1000 * seconds).toUTCString() });

  it("leaves this machine alone while another one of its set goes", async () => {
    const run = await drain(1, [event("AAAA-0", 0)]);
    assert.deepEqual([cordons(run), run.left], [[], ["AAAA-0"]]);
  });

  it("approves the event of this machine, and of no other", async () => {
    const run = await drain(1, [event("AAAA-0", 0), event("BBBB-1", 1), event("CCCC-0", 0, "Reboot")]);
    assert.deepEqual([cordons(run), run.left], [["linux000001"], ["AAAA-0", "CCCC-0"]]);
  });

  for (const odd of ["", "{}", "null", "<html>busy</html>"])
    it(`takes nothing back where the answer is ${odd || "empty"}`, () => {
      const here = machine(exampleLinuxWorker(azure));
      const cordoned = '{"metadata":{"annotations":{"fenestra.dev/cordoned":"notice"}},"spec":{"unschedulable":true}}';
      here.write("/store/events", odd);
      here.write("/store/instance-name", "a_0");
      here.write("/store/node", cordoned);
      here.write("/store/cut", "^sleep ");
      here.write("/var/lib/fenestra/identity.env", "NODE_NAME=linux000000\n");
      here.write("/etc/kubernetes/kubelet.conf", "");
      here.run("/opt/fenestra/drain.sh");
      assert.equal(here.read("/store/node"), cordoned);
    });

  const both = { Resources: ["azure-dev-linux_0", "azure-dev-linux_1"] };
  // What is approved begins at once, for all machines that it is about.
  const cases: readonly (readonly [string, () => ScheduledEvent, readonly string[], readonly string[]])[] = [
    ["an eviction", () => event("A", 0, "Preempt"), ["linux000000"], []],
    ...(["Reboot", "Redeploy", "Freeze"] as const).map(
      (type) => [`a ${type} soon`, () => event("A", 0, type, inSeconds(60)), ["linux000000"], []] as const,
    ),
    ["a Freeze in some days, not yet", () => event("A", 0, "Freeze", inSeconds(86_400)), [], ["A"]],
    ["a Reboot of another machine, not at all", () => event("A", 1, "Reboot", inSeconds(60)), [], ["A"]],
    [
      "a Redeploy of several machines, whose time it leaves",
      () => event("A", 0, "Redeploy", { ...both, ...inSeconds(60) }),
      ["linux000000"],
      ["A"],
    ],
    ["what has begun", () => event("A", 0, "Reboot"), ["linux000000"], ["A"]],
  ];
  for (const [title, notice, moved, left] of cases)
    it(`begins for ${title}`, async () => {
      const run = await drain(0, [notice()]);
      assert.deepEqual([cordons(run), run.left], [moved, left], run.output);
    });
});
