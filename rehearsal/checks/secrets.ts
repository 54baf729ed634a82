import { expect, expectEqual } from "../../check/check.ts";
import { joinSecretName } from "../clouds/cloud.ts";
import { limitsMs } from "../host/limits.ts";
import { waitFor } from "../host/processes.ts";
import type { RehearsalCheck } from "./context.ts";

/** Checks on who may read and do what, by trying it. */
export const secretChecks: readonly RehearsalCheck[] = [
  {
    id: "worker secrets",
    title: "a worker's identity reads the join secret of its pool, and no other pool's or other secret of the cluster",
    run: async ({ cloud, note }) => {
      // Workers may read logins for downloads too; `join` is of the release before.
      const names = cloud.secretNames().filter((name) => !/\/(credentials(-[a-z0-9]{8})?|join)$/.test(name));
      const workers = cloud.machines.filter(({ group }) => group !== undefined);
      const pools = new Set(workers.map((worker) => joinSecretName(cloud, worker)));
      expect(pools.size > 0 && names.length > pools.size, "there are no workers or no other secrets");
      for (const worker of workers) {
        const join = joinSecretName(cloud, worker);
        const others = names.filter((name) => name !== join);
        const text = await cloud.readSecret(worker, join);
        expect(text.includes("expires"), `the join secret that ${worker.name} reads is none`);
        for (const name of others) {
          const read = await cloud.readSecret(worker, name).then(
            () => true,
            () => false,
          );
          expect(!read, `${worker.name} can read ${name}`);
        }
      }
      note(
        `${workers.length} workers of ${pools.size} pools tried ${names.length - 1} other secrets each: all refused`,
      );
    },
  },
  {
    id: "refused calls",
    title: "no machine made a call to the cloud that its role does not allow",
    run: async ({ callsOfBoot, cloud }) => {
      const refused = callsOfBoot
        .filter(({ allowed }) => !allowed)
        .map(({ machine, action, resource }) => `${machine}: ${action} on ${resource}`);
      expect(refused.length === 0, refused.join("; "));
      expect(
        callsOfBoot.some(({ action }) => action === cloud.readAction),
        "no machine read a secret at all",
      );
    },
  },
  {
    id: "launch hooks",
    title:
      "every Linux worker's group learns when it is in service: by its report once it was Ready, or by a health extension",
    run: async ({ cloud, linuxWorkers, listens }) => {
      for (const id of linuxWorkers) {
        const machine = cloud.machines.find((one) => one.id === id);
        expect(machine !== undefined, `${id} is no machine of the cloud`);
        // The port opens a moment after its node is Ready.
        await waitFor(`the group to learn of ${id}`, limitsMs.answer, () =>
          cloud.inService(machine, (port) => listens(id, port)),
        );
      }
    },
  },
  {
    id: "bootstrap is repeatable",
    limitMs: limitsMs.steps,
    title: "the bootstrap of a machine can be run again: every stage that is done is skipped",
    run: async ({ repeatBootstrap }) => {
      for (const { name, code, output, once } of await repeatBootstrap()) {
        expectEqual(code, 0, `exit code of the second run on ${name}`);
        const skipped = [...output.matchAll(/ bootstrap (\S+): already done$/gm)].map(([, stage]) => stage);
        expectEqual(skipped, once, `stages that the second run on ${name} skipped`);
        expect(once.length > 0, `${name} has no stage that is done once`);
      }
    },
  },
];
