import { CheckFailure, expect, expectEqual } from "../../check/check.ts";
import { controlPlaneKey } from "../../check/facts.ts";
import { bridgeOf, type ControlPlaneLab } from "../cluster/controlPlaneLab.ts";
import { limitsMs } from "../host/command.ts";
import { waitFor } from "../host/processes.ts";
import { readBack, writes } from "./availability.ts";
import type { CheckContext, RehearsalCheck } from "./context.ts";

/**
 * How the data of a control plane comes back: a single machine's by its snapshot; that of several after the checks of
 * availability, whose objects and copies they use.
 */
export function restoreChecks(lab: ControlPlaneLab): readonly RehearsalCheck[] {
  return [
    {
      id: "restore: snapshot",
      slow: lab.size === 1,
      title:
        "a snapshot in the object store brings the objects back after all data is destroyed, with clients that watch",
      run: (context) => lab.watched(() => restoreSnapshot(lab, context)),
    },
    ...(lab.size === 1 ? [] : ofSeveral(lab)),
  ];
}

async function restoreSnapshot(lab: ControlPlaneLab, context: CheckContext): Promise<void> {
  const restore = "etcd-restore.sh";
  await lab.untilBooted();
  expectEqual(await writes(context, "kept", 3), 3, "writes before the snapshot");
  // The nodes of machines that are gone may still be there.
  const members = lab.indices.map((index) => context.cloud.identity(lab.member(index).machine).nodeName);
  // Its machine then counts as one that joined after the snapshot.
  if (lab.size > 1) await context.api.core.deleteNode({ name: members.at(-1) ?? "" });
  const began = Date.now();
  await lab.script(0, "etcd-snapshot.sh");
  const noted = await context.api.core.readNamespacedConfigMap({
    namespace: "kube-system",
    name: "fenestra-etcd-snapshots",
  });
  const [time = "", name = ""] = (noted.data?.["cp-0"] ?? "").split(" ");
  // It is noted in whole seconds.
  expect(Date.parse(time) > began - 1_000, `the last snapshot noted in the cluster is of ${time}`);
  expectEqual(await writes(context, "late", 2), 2, "writes after the snapshot");
  const stopping = performance.now();
  await lab.onAll(restore, "--stop");
  const stopped = performance.now();
  // Nothing of the old data may be of use.
  for (const index of lab.indices) await lab.machine(index).run(["bash", "-c", "rm -rf /var/lib/etcd-data/*/member"]);
  if (lab.size > 1) {
    // A likely mistake, after which the kubelet there never reaches its API: the same commands correct it.
    await lab.script(0, restore, name);
    await lab.onAll(restore, "--stop");
  }
  const restoring = performance.now();
  await lab.onAll(restore, name);
  const restored = performance.now();
  await answersAgain(context);
  const seconds = (from: number, to: number) => `${Math.round((to - from) / 1000)} s`;
  context.note(
    `stopped in ${seconds(stopping, stopped)}, restored in ${seconds(restoring, restored)}, the API after ${seconds(restoring, performance.now())}`,
  );
  await lab.untilHealthy();
  await answersAgain(context);
  expectEqual(
    [await readBack(context, "kept"), await readBack(context, "late")],
    [3, 0],
    "objects from before and after the snapshot",
  );
  await waitFor(`the nodes ${members.join(", ")} of the control plane`, limitsMs.machine, async () => {
    const { items } = await context.api.core.listNode({ labelSelector: controlPlaneKey });
    return members.every((name) => items.some(({ metadata }) => metadata?.name === name));
  });
  const bridges = lab.indices.map((index) => bridgeOf(lab.machine(index), context.api, members[index] ?? ""));
  context.note(`bridges ${(await Promise.all(bridges)).join(", ")}`);
}

function ofSeveral(lab: ControlPlaneLab): readonly RehearsalCheck[] {
  return [
    {
      id: "restore: empty volumes",
      title:
        "new machines with empty volumes wait for data; a copy that was made before etcd's first start brings the objects of then back",
      run: async (context) => {
        expectEqual(await readBack(context, "kept"), 3, "objects that are not in the copy");
        // The machines that were all replaced at once have each sent what they found.
        const { stdout } = await lab.script(0, "etcd-restore.sh", "--list");
        const copy = stdout
          .trim()
          .split("\n")
          .filter((name) => name.endsWith("-before-start.db.gz"))
          .sort(byTime)
          .at(-1);
        if (copy === undefined) throw new CheckFailure(`no machine has sent the data of the one before: ${stdout}`);
        for (const index of lab.indices) await lab.powerOff(index, "lost");
        await Promise.all(lab.indices.map((index) => lab.replace(index)));
        for (const index of lab.indices)
          await waitFor(`machine ${index} to wait for data`, limitsMs.machine, async () =>
            /the volume is empty, and the cluster was initialised .*: waiting/.test(
              await lab.machine(index).readFile("/var/log/fenestra/bootstrap.log"),
            ),
          );
        for (const { stderr } of await lab.onAll("etcd-restore.sh", copy))
          expect(/has waited for data, and its bootstrap goes on/.test(stderr), `the restore says: ${stderr.trim()}`);
        await lab.untilHealthy();
        await answersAgain(context);
        expectEqual(
          [(await readBack(context, "lost")) > 0, await readBack(context, "kept")],
          [true, 0],
          "objects from before and after the copy",
        );
        context.note(copy);
      },
    },
  ];
}

/** Orders names of snapshots by their last part, which begins with the time. */
function byTime(a: string, b: string): number {
  const [left = "", right = ""] = [a, b].map((name) => name.split("/").at(-1) ?? "");
  return left < right ? -1 : 1;
}

async function answersAgain({ kubectl }: CheckContext): Promise<void> {
  await waitFor(
    "the API to answer",
    limitsMs.answer,
    async () => (await kubectl(["get", "--raw", "/readyz"])).code === 0,
  );
}
