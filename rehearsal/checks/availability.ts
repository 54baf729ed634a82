import { type ConfigurationOptions, IsomorphicFetchHttpLibrary } from "@kubernetes/client-node";
import { expect, expectEqual, inOrder, within } from "../../check/check.ts";
import type { ControlPlaneLab } from "../cluster/controlPlaneLab.ts";
import { limitsMs } from "../host/command.ts";
import { waitFor } from "../host/processes.ts";
import type { CheckContext, RehearsalCheck, RehearsalTools } from "./context.ts";

/** Longest that the API may be away after a loss: the load balancer notices, and etcd elects. */
export const outageLimitMs = 30_000;

/**
 * Writes through the load balancer until so many in a row have succeeded. A few may fail first: those that meet a
 * connection to the lost machine, or an election of etcd. Users see the loss until the last failure.
 */
async function writesAfterLoss(context: CheckContext, name: string): Promise<void> {
  const inARow = 10;
  const started = performance.now();
  const passed = () => (performance.now() - started) / 1000;
  let [row, failed, last] = [0, 0, 0];
  for (let round = 0; row < inARow; round += 1) {
    expect(
      passed() * 1000 < outageLimitMs,
      `${failed} writes failed, the last one ${last.toFixed(1)} s after the loss`,
    );
    if ((await writes(context, `${name}-${round}`, 1, once)) === 1) row += 1;
    else [row, failed, last] = [0, failed + 1, passed()];
  }
  context.note(
    failed === 0
      ? `${inARow} of ${inARow} writes succeeded`
      : `${failed} writes failed until ${last.toFixed(1)} s after the loss; then ${inARow} of ${inARow} succeeded`,
  );
}

/** A call that is made once; the harness's own clients repeat theirs. */
const once: ConfigurationOptions = { httpApi: new IsomorphicFetchHttpLibrary() };

/**
 * Writes objects one after the other through the load balancer. @returns how many succeeded
 * @param how how each call is made. Default: repeated while there is no answer.
 */
export async function writes(
  { api }: CheckContext,
  name: string,
  count: number,
  how?: ConfigurationOptions,
): Promise<number> {
  let good = 0;
  for (let index = 0; index < count; index += 1) {
    const body = {
      metadata: { name: `${name}-${index}`, labels: { rehearsal: "write" } },
      data: { index: String(index) },
    };
    good += await api.core.createNamespacedConfigMap({ namespace: "default", body }, how).then(
      () => 1,
      () => 0,
    );
  }
  return good;
}

/** How many objects of that name the API has. */
export async function readBack({ api }: CheckContext, name: string): Promise<number> {
  const { items } = await api.core.listNamespacedConfigMap({ namespace: "default", labelSelector: "rehearsal=write" });
  return items.filter(({ metadata }) => metadata?.name?.startsWith(`${name}-`)).length;
}

/**
 * What a control plane of several machines must survive. Each check leaves it healthy for the next.
 *
 * @param gates names of the program's gates that wait already in the first update
 * @param later checks that follow
 */
export function availabilityChecks(
  lab: ControlPlaneLab,
  gates: readonly string[],
  later: readonly RehearsalCheck[],
): readonly RehearsalCheck[] {
  const before = gates.find((name) => name.endsWith("-control-plane-api"))?.replace(/-api$/, "-before-0") ?? "?";
  /** The gate before the first machine, as for a machine that is about to be replaced. */
  const passBefore: PassBefore = ({ passGate }) => passGate(before, { fingerprint: "another", replicas: lab.size });
  return within(limitsMs.steps, inOrder<RehearsalTools>([...losses(lab, passBefore), ...later]));
}

type PassBefore = (context: CheckContext) => Promise<void>;

const losses = (lab: ControlPlaneLab, passBefore: PassBefore): readonly RehearsalCheck[] => [
  {
    id: "quorum",
    title: "all machines are healthy voting members of etcd, and none is special",
    run: async ({ note }) => {
      await lab.untilHealthy();
      const members = (await membersOf(lab)).map((line) => line.split(", ")[2]);
      note(members.sort().join(", "));
    },
  },
  {
    id: "one machine lost",
    title: "with one machine dead the API goes on: writes through the load balancer succeed",
    run: async (context) => {
      await lab.powerOff(1);
      await writesAfterLoss(context, "lost");
    },
  },
  {
    id: "replaced with its disk",
    title: "a new machine with the old disk is back as a member, with all data",
    run: async (context) => {
      await replaceWithDisk(context, lab, 1);
      await passBefore(context);
    },
  },
  {
    id: "replaced with an empty disk",
    title: "a new machine with an empty disk is back as a member, with all data",
    run: async (context) => {
      const before = await membersOf(lab);
      await lab.powerOff(2, "lost");
      await lab.replace(2);
      await expectHeld(context, lab, 2, "lost");
      const kept = (await membersOf(lab)).every((member) => before.includes(member));
      expect(!kept, "the member kept its id although its data was lost");
    },
  },
  {
    id: "all restarted at once",
    title: "after a power failure of all machines at once the cluster is back with all data",
    run: async (context) => {
      const before = await readBack(context, "lost");
      for (const index of lab.indices) await lab.powerOff(index);
      await Promise.all(lab.indices.map((index) => lab.replace(index)));
      await lab.untilHealthy();
      expectEqual(await readBack(context, "lost"), before, "objects");
    },
  },
];

/** In an update the gate behind the machine waits for its mirror pods. */
async function replaceWithDisk(context: CheckContext, lab: ControlPlaneLab, index: number): Promise<void> {
  await lab.replace(index);
  await expectHeld(context, lab, index, "lost");
  // A kubelet's mirror pods are refused until its Node has the control plane's label
  // (fenestra-static-pods-of-workers).
  const name = `etcd-${context.cloud.identity(lab.member(index).machine).nodeName}`;
  await waitFor(`the pod ${name}`, limitsMs.machine, () =>
    context.api.core.readNamespacedPod({ name, namespace: "kube-system" }),
  );
}

async function membersOf(lab: ControlPlaneLab): Promise<readonly string[]> {
  return (await lab.etcdctl(0, "member", "list")).trim().split("\n");
}

/** The control plane is healthy again, and a machine's own etcd holds all objects of that name. */
async function expectHeld(context: CheckContext, lab: ControlPlaneLab, index: number, name: string): Promise<void> {
  await lab.untilHealthy();
  const keys = await lab.etcdctl(index, "get", `/registry/configmaps/default/${name}-`, "--prefix", "--keys-only");
  const held = keys.split("\n").filter((line) => line !== "").length;
  expectEqual(held, await readBack(context, name), "objects that the machine's etcd holds");
}
