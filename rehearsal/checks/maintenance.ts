import { expect } from "../../checks/check.ts";
import { checkPod, waitingContainer } from "../../checks/cluster/api.ts";
import type { SimulatedMachine } from "../../plan/fakes/machines.ts";
import type { CloudSimulation } from "../clouds/cloud.ts";
import { limitsMs } from "../host/limits.ts";
import { waitFor } from "../host/processes.ts";
import type { RehearsalCheck } from "./context.ts";

/** What a notice of a machine's cloud does to its node. */
export const maintenanceCheck = (machineOf: (cloud: CloudSimulation) => SimulatedMachine): RehearsalCheck => ({
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
      for (const name of names) await api.core.deleteNamespacedPod({ namespace, name, gracePeriodSeconds: 0 }).catch(() => undefined);
      await kubectl(["delete", ...budget]);
    }
  },
});
