import { expect, expectEqual } from "../../check/check.ts";
import type { DecodedMachine } from "../cluster/bringUp.ts";
import type { Cluster } from "../cluster/cluster.ts";
import type { ControlPlaneLab } from "../cluster/controlPlaneLab.ts";
import { limitsMs } from "../host/limits.ts";
import { logTail, waitFor } from "../host/processes.ts";
import type { RehearsalCheck } from "./context.ts";

/** Life of this check's first token, in seconds: long enough to be published, short enough to wait for. */
const shortLife = 5;
const environment = "/etc/fenestra/machine.env";
const job = "fenestra-join-secret";

/**
 * A worker that boots after the published token has died waits, and joins with the next one that the payload's own
 * script publishes. Only the first token's life is shortened, which is a parameter of the payload.
 */
export function lateJoinCheck(cluster: Cluster, lab: ControlPlaneLab, worker: DecodedMachine): RehearsalCheck {
  return {
    id: "late worker",
    slow: true,
    limitMs: limitsMs.steps,
    title:
      "a worker that finds only an expired join secret waits, and joins with the next one that the timer's script publishes",
    run: async ({ api, note }) => {
      const publisher = lab.machine(0);
      const timers = (verb: "start" | "stop") =>
        Promise.all(lab.indices.map((index) => lab.machine(index).systemd.systemctl([verb, `${job}.timer`])));
      await timers("stop");
      const run = async (script: string): Promise<void> => {
        const { code, stderr } = await publisher.run(["bash", "-c", script], { timeoutMs: limitsMs.answer });
        expectEqual(code, 0, `exit code of ${script} (${stderr.trim().split("\n").at(-1)})`);
      };
      await run(
        `cp ${environment} ${environment}.kept && sed -i 's/^JOIN_TOKEN_TTL=.*/JOIN_TOKEN_TTL=${shortLife}/; s/^JOIN_INTERVAL=.*/JOIN_INTERVAL=2/' ${environment}`,
      );
      // The place of its pool, which counts as old only by the token that the cluster has.
      await run(
        `kubectl --kubeconfig /etc/kubernetes/admin.conf delete secrets -n kube-system -l fenestra.dev/join-pool`,
      );
      await run("/opt/fenestra/publish-join-secret.sh");
      await run(`mv ${environment}.kept ${environment}`);
      await new Promise((resolve) => setTimeout(resolve, (shortLife + 1) * 1000));

      await cluster.powerOff(worker, "kept");
      const late = await cluster.replaceMachine(worker);
      const machine = cluster.machines.get(late.machine.id);
      expect(machine !== undefined, "the worker does not run");
      await waitFor("the worker to find the expired secret", limitsMs.machine, async () =>
        /has expired/.test(await machine.readFile("/var/log/fenestra/bootstrap.log")),
      );
      const early = (await api.core.listNode()).items.some(({ metadata }) => metadata?.name === late.machine.id);
      expect(!early, "the worker joined with an expired secret");

      const unit = `${job}.service`;
      const published = await publisher.systemd.systemctl(["start", unit]);
      expect(published.code === 0, `${unit} failed; ${await logTail(publisher.systemd.logFile(unit))}`);
      await waitFor(
        `node ${late.machine.id} to be registered`,
        limitsMs.machine,
        async () => (await api.core.readNode({ name: late.machine.id })).metadata !== undefined,
      );
      await timers("start");
      note(`${late.machine.name} waited for a fresh secret and joined as ${late.machine.id}`);
    },
  };
}
