import { expect, expectEqual } from "../../check/check.ts";
import { statusOf } from "../../check/cluster/clusterApi.ts";
import type { SimulatedMachine } from "../../plan/fakes/machines.ts";
import { type Api, apiFor, kubeconfig } from "../api/client.ts";
import type { CloudSimulation } from "../clouds/cloud.ts";
import type { DecodedMachine } from "../cluster/bringUp.ts";
import type { Cluster } from "../cluster/cluster.ts";
import { limitsMs } from "../host/command.ts";
import { waitFor } from "../host/processes.ts";
import type { RehearsalCheck } from "./context.ts";
import { type Follow, walk } from "./manual.ts";
import { askFor, joinSecretOf } from "./trust.ts";

/** Seconds that a machine may wait for its first certificate. */
const patience = 30;

const ask = (api: Api, node: string): Promise<string> => askFor(api, `system:node:${node}`, "system:nodes");

/** Requests with an approval, none of which may be one of these names. */
async function expectRefused({ certificates }: Api, names: readonly string[]) {
  // The node controller's turn, and a list of the cloud that is newer than the request.
  await new Promise((resolve) => setTimeout(resolve, 20_000));
  const { items } = await certificates.listCertificateSigningRequest();
  const approved = items.filter(({ status }) => status?.conditions?.some(({ type }) => type === "Approved"));
  const wrong = approved.filter(({ metadata }) => names.includes(metadata?.name ?? ""));
  expectEqual(wrong.length, 0, "hostile requests that were approved");
  return approved;
}

/** A worker ends and another one comes in its place. */
export function replacementCheck(cluster: Cluster, worker: DecodedMachine, follow: Follow): RehearsalCheck {
  const current = ({ machines }: CloudSimulation): SimulatedMachine => {
    const machine = machines.find(({ id, urn }) => urn === worker.machine.urn && cluster.machines.has(id));
    if (machine === undefined) throw new Error(`no machine of ${worker.machine.urn} runs`);
    return machine;
  };
  return {
    id: "replaced",
    slow: true,
    limitMs: limitsMs.steps,
    title:
      "a machine that was ended, by the manual's steps for a compromised one, has no Node and no new certificate; its successor joins at once",
    run: async (context) => {
      const { api, cloud, note } = context;
      const machine = current(cloud);
      const { nodeName } = cloud.identity(machine);
      const { server, caCertificate: ca, token } = await joinSecretOf(cloud, machine);
      // What root on the machine may have kept.
      const pem = await cluster.machines.get(machine.id)?.readFile("/var/lib/kubelet/pki/kubelet-client-current.pem");
      const as = (user: Parameters<typeof kubeconfig>[0]["user"]) => apiFor(kubeconfig({ server, ca, user }));
      const [thief, bootstrap] = [as({ certificate: pem ?? "", key: pem ?? "" }), as({ token })];
      // The number of a machine that its group does not have.
      const hostile = [await ask(bootstrap, `${nodeName.slice(0, -3)}fff`)];
      const [isolate, end, publish, traces] = walk("A node is compromised");
      const names = { NODE: nodeName };
      for (const step of [isolate, end, publish]) await follow(step, context, names);
      await waitFor("the token of before to be worth nothing", limitsMs.machine, async () => {
        const made = await ask(bootstrap, nodeName).catch(statusOf);
        if (typeof made === "string") hostile.push(made);
        return made === 401;
      });
      await cluster.powerOffMachine(machine);
      const { machine: next } = await cluster.replaceMachine({ machine, payload: worker.payload });
      const successor = cloud.identity(next).nodeName;
      await waitFor(`node ${successor} in place of ${nodeName}`, limitsMs.machine, async () => {
        const nodes = (await api.core.listNode()).items.map(({ metadata }) => metadata?.name);
        return nodes.includes(successor) && !nodes.includes(nodeName);
      });
      const late = await ask(thief, nodeName).catch(statusOf);
      const approved = await expectRefused(api, [...hostile, ...(typeof late === "string" ? [late] : [])]);
      const seen = await follow(traces, context, names);
      expect(seen.includes(`"create","/apis/certificates.k8s.io/v1/certificatesigningrequests`), `its traces: ${seen}`);
      const took = approved.flatMap(({ metadata, status }) =>
        (status?.conditions ?? []).flatMap(({ message, lastUpdateTime }) =>
          message?.startsWith(`first certificate of ${successor},`)
            ? +new Date(lastUpdateTime ?? 0) - +new Date(metadata?.creationTimestamp ?? 0)
            : [],
        ),
      );
      expect(
        took.length === 1 && (took[0] ?? 0) <= patience * 1000,
        `the first certificate of ${successor} took ${took.join(", ")} ms`,
      );
      note(`${successor} came after ${nodeName}, with a certificate after ${Math.round((took[0] ?? 0) / 1000)} s`);
    },
  };
}
