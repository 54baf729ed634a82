import { z } from "zod";
import { expect, expectEqual } from "../../checks/check.ts";
import { checkPod, waitingContainer } from "../../checks/cluster/api.ts";
import type { SimulatedMachine } from "../../plan/fakes/machines.ts";
import type { CloudSimulation } from "../clouds/cloud.ts";
import { rollGroup } from "../cluster/update.ts";
import { limitsMs } from "../host/limits.ts";
import { waitFor } from "../host/processes.ts";
import type { CheckContext, RehearsalCheck } from "./context.ts";
import { ask, expectRefused, nodesByName, type Replacements, replacementTools } from "./replacementTools.ts";
import { joinSecretOf, killLeader, machinesPage } from "./trust.ts";

/** Milliseconds after which a group gives a payload up. */
const badMs = 120_000;
/** Seconds that a Linux machine has to join, in checks that wait for one that does not. */
const shortJoin = 120;
const settings = { name: "fenestra-node-controller", namespace: "kube-system" };
const poolsSchema = z.array(z.looseObject({ os: z.string() }));

/** Makes the node controller wait less for a Linux machine, and end as many as it finds, during a check. */
const impatient =
  (run: RehearsalCheck["run"]) =>
  async (context: CheckContext): Promise<void> => {
    const { core } = context.api;
    const kept = (await core.readNamespacedConfigMap(settings)).data?.settings ?? "";
    const write = async (text: string): Promise<void> => {
      const body = { ...(await core.readNamespacedConfigMap(settings)), data: { settings: text } };
      await core.replaceNamespacedConfigMap({ ...settings, body });
    };
    const whole: { readonly joinWithin: object; readonly perHour: number } = JSON.parse(kept);
    const perHour = whole.perHour === 0 ? 0 : 9;
    await write(JSON.stringify({ ...whole, joinWithin: { ...whole.joinWithin, linux: shortJoin }, perHour }));
    await run(context).finally(() => write(kept));
  };

/** What becomes of workers that the node controller gives up, that a roll replaces, and that are maintained. */
export function rollChecks(parts: Replacements): readonly RehearsalCheck[] {
  const { cluster, lab, updates, options, worker } = parts;
  const { workers, current, successorOf, thiefOf } = replacementTools(parts);
  return [
    {
      id: "replaced: never joined",
      title: "a machine that never joins is ended, and the one after it joins",
      run: impatient(async (context) => {
        const { cloud, note } = context;
        const { machine } = current(cloud);
        await cluster.powerOffMachine(machine);
        // The cloud runs it, but it never boots.
        const silent = cloud.replace(machine);
        await waitFor(`${silent.id} to be given up`, limitsMs.machine, async () => cloud.isToGo(silent));
        note(`${await successorOf(context, silent)} came after ${silent.id}`);
      }),
    },
    {
      id: "replaced: without a Node",
      title:
        "a machine whose Node was deleted is replaced, once, although the leader dies in the middle; one of its name that follows is another; one that lists leave out meanwhile stays",
      run: impatient(async (context) => {
        const { api, cloud, note } = context;
        // Until its bootstrap has seen its Node, a machine makes another by itself.
        await lab.untilBooted();
        const [machine, other] = workers(cloud);
        if (machine?.group === undefined) throw new Error(`no machine of ${worker.machine.urn} runs`);
        const { group } = machine;
        const { nodeName } = cloud.identity(machine);
        const uidOf = async () =>
          (await nodesByName(api)).get(other === undefined ? "" : cloud.identity(other).nodeName)?.metadata?.uid;
        const [uid, { thief }] = [await uidOf(), await thiefOf(cloud, machine)];
        // One whose Node it has never seen counts as never joined, and of those it ends one an hour.
        await waitFor(
          "the node controller to know it",
          limitsMs.machine,
          async () => (await machinesPage(api)).pools[group.name]?.ready === group.desired,
        );
        if (other !== undefined) cloud.faults.hidden.add(other.id);
        try {
          await api.core.deleteNode({ name: nodeName });
          await waitFor(`${machine.id} to be given up`, limitsMs.machine, async () => cloud.isToGo(machine));
          await killLeader(api, lab);
          expectEqual(await uidOf(), uid, "Node of a machine that lists leave out");
        } finally {
          cloud.faults.hidden.clear();
        }
        const others = cloud.machines.filter((each) => cloud.isToGo(each) && each !== machine);
        expectEqual(others.length, 0, "machines that were well and were given up");
        const successor = await successorOf(context, machine, true);
        await waitFor(
          "the group to have its size again",
          limitsMs.machine,
          async () => cloud.sizeOf(group) === group.desired,
        );
        await expectRefused(api, [await ask(thief, nodeName)]);
        const more = workers(cloud).filter((each) => cloud.isToGo(each));
        expectEqual(more.length, 0, "machines that the next leader gave up too");
        note(`${successor} came after ${nodeName}`);
      }),
    },
    {
      id: "replaced: bad payload",
      title:
        "a roll with a payload that does not join costs no machine that works, and one with a good payload goes on without help",
      run: async (context) => {
        const { api, cloud, listens, note } = context;
        const { group } = current(cloud);
        const old = workers(cloud);
        const began = cloud.calls.length;
        const poolOf = async () => (await machinesPage(api)).pools[group.name];
        const untilWell =
          (timeoutMs: number) =>
          async (machine: SimulatedMachine): Promise<void> => {
            const look = () => cloud.inService(machine, (port) => listens(machine.id, port));
            await waitFor(`${machine.id} to be in service`, timeoutMs, look);
          };
        /** Rolls the group to another payload, as its cloud does. */
        const roll = async (beforeJoin: string, timeoutMs: number, mayBegin: () => Promise<void>): Promise<void> => {
          const { machines } = await updates.begin(options, (config) => {
            const pools = poolsSchema.parse(JSON.parse(config["fenestra:pools"] ?? "[]"));
            const changed = pools.map((pool) => (pool.os === "linux" ? { ...pool, beforeJoin } : pool));
            return { ...config, "fenestra:pools": JSON.stringify(changed) };
          });
          const wanted = machines.filter(({ machine }) => machine.urn === worker.machine.urn);
          await mayBegin();
          await rollGroup(workers(cloud), wanted, cloud, cluster, { line: () => undefined }, untilWell(timeoutMs));
        };
        const { hostname } = new URL((await joinSecretOf(cloud, old[0] ?? worker.machine)).server);
        // Its kubelet runs, and does not reach the API.
        const elsewhere = `{ grep -v ${hostname} /etc/hosts; echo 127.0.0.9 ${hostname}; } >/tmp/hosts; cat /tmp/hosts >/etc/hosts`;
        const failed = await roll(elsewhere, badMs, async () => undefined).then(
          () => "nothing",
          (error: unknown) => String(error),
        );
        const alive = old.filter(({ id }) => workers(cloud).some((each) => each.id === id));
        expectEqual(alive.length, old.length, `machines that work, after ${failed}`);
        const bad = workers(cloud).filter((each) => !old.includes(each));
        expectEqual(bad.length, 1, "machines with the payload that does not join");
        cloud.endRoll(group, "machines do not get in service");
        for (const machine of bad) {
          await cluster.powerOffMachine(machine);
          cloud.terminate(machine);
        }
        await waitFor("the node controller to say so", limitsMs.machine, async () => {
          const { ready, old: older, roll: told } = (await poolOf()) ?? {};
          const says = told?.state === "Failed" && told.why?.includes("in service") === true && older === old.length;
          return ready === old.length && (says || cloud.isRolling(group));
        });
        await roll("true", limitsMs.machine, async () => {
          // What the update itself began is lost.
          cloud.endRoll(group, "no capacity");
          await waitFor("the roll to be taken up again", limitsMs.machine, async () => cloud.isRolling(group));
        });
        await waitFor("all machines to be new and well", limitsMs.machine, async () => {
          const { ready, old: older } = (await poolOf()) ?? {};
          return ready === old.length && older === 0;
        });
        const resumed = cloud.calls
          .slice(began)
          .filter(({ action }) => action === "autoscaling:StartInstanceRefresh").length;
        note(`${workers(cloud).length} machines are new; the node controller began ${resumed} rolls`);
      },
    },
    maintenanceCheck((cloud) => current(cloud).machine),
  ];
}

/** What a notice of a machine's cloud does to its node. */
const maintenanceCheck = (machineOf: (cloud: CloudSimulation) => SimulatedMachine): RehearsalCheck => ({
  id: "replaced: maintenance",
  title: "a machine that its cloud is about to restart drains as far as the time allows, and then takes pods again",
  run: async (context) => {
    const { api, cloud, kubectl, namespace, waitingImage, note } = context;
    const machine = machineOf(cloud);
    const { nodeName } = cloud.identity(machine);
    const names = ["maintained-moves", "maintained-stays"] as const;
    const [moves, stays] = names;
    const pods = async () => (await api.core.listNamespacedPod({ namespace })).items;
    const marked = async (): Promise<boolean> => {
      const { metadata, spec } = await api.core.readNode({ name: nodeName });
      const mark = metadata?.annotations?.["fenestra.dev/cordoned"];
      return mark !== undefined && spec?.unschedulable === true;
    };
    const budget = ["--namespace", namespace, "poddisruptionbudget", stays];
    await kubectl(["create", ...budget, `--selector=app=${stays}`, "--min-available=1"]);
    let end = (): void => undefined;
    try {
      for (const name of names)
        await api.core.createNamespacedPod({
          namespace,
          body: checkPod(
            name,
            {
              nodeSelector: { "kubernetes.io/os": "linux", "kubernetes.io/hostname": nodeName },
              containers: [waitingContainer(waitingImage)],
            },
            { app: name },
          ),
        });
      await waitFor("the pods to run, and their budget to be counted", limitsMs.machine, async () => {
        const { stdout: healthy } = await kubectl(["get", ...budget, "--output=jsonpath={.status.currentHealthy}"]);
        const running = (await pods()).filter(
          ({ metadata, status: is }) => is?.phase === "Running" && names.some((name) => name === metadata?.name),
        );
        return healthy === "1" && running.length === names.length;
      });
      end = cloud.announceMaintenance(machine, new Date(Date.now() + 45_000));
      await waitFor("the node to be cordoned with a mark", limitsMs.machine, marked);
      await waitFor(
        "the pod that may move to be gone",
        limitsMs.machine,
        async () => !(await pods()).some(({ metadata }) => metadata?.name === moves),
      );
      expect(await marked(), "the node takes pods before the machine is back");
      end();
      await waitFor(
        "the node to take pods again",
        limitsMs.machine,
        async () => (await api.core.readNode({ name: nodeName })).spec?.unschedulable !== true,
      );
      expect(
        (await pods()).some(({ metadata }) => metadata?.name === stays),
        "a pod whose budget holds it is gone",
      );
      note(`${nodeName} took no pods and takes them again`);
    } finally {
      end();
      for (const name of names)
        await api.core.deleteNamespacedPod({ namespace, name, gracePeriodSeconds: 0 }).catch(() => undefined);
      await kubectl(["delete", ...budget]);
    }
  },
});
