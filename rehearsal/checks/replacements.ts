import { expect } from "../../check/check.ts";
import { statusOf } from "../../check/cluster/api.ts";
import type { Api } from "../api/client.ts";
import { limitsMs } from "../host/limits.ts";
import { waitFor } from "../host/processes.ts";
import type { RehearsalCheck } from "./context.ts";
import { walk } from "./manual.ts";
import {
  ask,
  expectRefused,
  firstRequests,
  nodesByName,
  type Replacements,
  replacementTools,
} from "./replacementTools.ts";
import { askFor } from "./trust.ts";

const hostileOnes = 300;
/** Seconds that a machine may wait for its first certificate among hostile requests. */
const patience = 30;

/**
 * Copies each first request that `seen` shows from now on, with each of these tokens and a name that sorts before it.
 * @returns a function that ends it and gives the names of the copies
 */
async function startThief(seen: Api, tokens: readonly Api[]): Promise<() => Promise<readonly string[]>> {
  const copies = new Set<string>();
  const known = new Set((await firstRequests(seen)).keys());
  let over = false;
  const copy = async (): Promise<void> => {
    for (const [name, node] of await firstRequests(seen)) {
      if (known.has(name) || copies.has(name)) continue;
      known.add(name);
      for (const as of tokens)
        copies.add(await askFor(as, `system:node:${node}`, "system:nodes", { generateName: "a-" }).catch(String));
    }
  };
  const running = (async () => {
    while (!over) {
      await copy().catch(() => undefined);
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  })();
  return async () => {
    over = true;
    await running;
    return [...copies];
  };
}

/**
 * What becomes of workers that end, never join, lose their Nodes, are rolled and maintained. Each check leaves as many
 * workers as it found.
 */
export function replacementChecks(parts: Replacements): readonly RehearsalCheck[] {
  const { cluster, worker, follow } = parts;
  const { workers, current, successorOf, thiefOf, controllers, requestsOf, asks, toldOf } = replacementTools(parts);
  const checks: readonly RehearsalCheck[] = [
    {
      id: "replaced: identity ends",
      title: `a machine that was terminated, by the manual's steps for a compromised one, has no Node and no new certificate, and its successor joins at once among ${hostileOnes} hostile requests, also while a zone is down and lists are refused`,
      run: async (context) => {
        const { api, cloud, note } = context;
        const { machine } = current(cloud);
        const { nodeName } = cloud.identity(machine);
        const { thief, bootstrap } = await thiefOf(cloud, machine);
        const hostile: string[] = [];
        for (let number = 0; number < hostileOnes; number += 1)
          hostile.push(await ask(bootstrap, `${nodeName.slice(0, -3)}${(number + 0x100).toString(16)}`));
        const [isolate, end, publish, traces] = walk("A node is compromised");
        const names = { NODE: nodeName };
        for (const step of [isolate, end, publish]) await follow(step, context, names);
        await waitFor("the token of before to be worth nothing", limitsMs.machine, async () => {
          const made = await ask(bootstrap, nodeName).catch(statusOf);
          if (typeof made === "string") hostile.push(made);
          return made === 401;
        });
        cloud.faults.zone = cloud.machines.find(
          ({ zone, group }) => group !== undefined && zone !== machine.zone,
        )?.zone;
        cloud.faults.throttled = 2;
        // Another worker of the pool, and one of another pool, if any: their tokens of now.
        const others = [
          workers(cloud).find((each) => each !== machine),
          cloud.machines.find(({ group }) => group !== undefined && group.name !== machine.group?.name),
        ].flatMap((each) => each ?? []);
        const thieves = await Promise.all(others.map((each) => thiefOf(cloud, each)));
        const endThief = await startThief(
          api,
          thieves.map((each) => each.bootstrap),
        );
        // So that the answer is never faster than the thief.
        await controllers("stop");
        const joins = successorOf(context, machine).finally(() => {
          cloud.faults.zone = undefined;
        });
        joins.catch(() => undefined);
        await waitFor("the thief to copy its request", limitsMs.machine, async () => {
          const names = [...(await firstRequests(api)).keys()];
          return names.filter((name) => name.startsWith("a-")).length >= thieves.length;
        }).finally(() => controllers("start"));
        const started = Date.now();
        const copies = await endThief();
        const nodes = await firstRequests(api);
        await waitFor("one of them to be answered", limitsMs.machine, async () => {
          const { items } = await api.certificates.listCertificateSigningRequest();
          const given = items.filter(({ status }) => status?.certificate !== undefined);
          return given.some(({ metadata }) => nodes.get(metadata?.name ?? "") === nodes.get(copies[0] ?? ""));
        });
        await expectRefused(api, copies);
        const successor = await joins;
        await waitFor("lists to be refused", limitsMs.machine, async () => cloud.faults.throttled === 0);
        await waitFor(
          `node ${nodeName} to be gone`,
          limitsMs.machine,
          async () => !(await nodesByName(api)).has(nodeName),
        );
        const approved = await expectRefused(api, [...hostile, await ask(thief, nodeName)]);
        const seen = await follow(traces, context, names);
        expect(
          seen.includes(`"create","/apis/certificates.k8s.io/v1/certificatesigningrequests`),
          `traces of it: ${seen}`,
        );
        const own = approved.flatMap(({ metadata, status }) =>
          (status?.conditions ?? []).flatMap(({ message, lastUpdateTime }) =>
            message?.startsWith(`first certificate of ${successor},`)
              ? (lastUpdateTime?.getTime() ?? 0) - Math.max(started, metadata?.creationTimestamp?.getTime() ?? 0)
              : [],
          ),
        );
        expect(
          own.length === 1 && (own[0] ?? 0) <= patience * 1000,
          `the first certificate of ${successor} took ${own.join(", ")} ms`,
        );
        note(
          `${successor} came after ${nodeName}, with a certificate ${Math.round((own[0] ?? 0) / 1000)} s after both were there; ${copies.length} copies of its request got none`,
        );
      },
    },
    {
      id: "replaced: kubelet killed",
      title:
        "a machine whose kubelet is killed when it has asked and when it was answered, and whose power then fails, joins, and each further certificate is told",
      run: async (context) => {
        const { api, cloud, note } = context;
        const { machine } = current(cloud);
        await cluster.powerOffMachine(machine);
        const began = Date.now();
        const member = await cluster.replaceMachine({ machine, payload: worker.payload });
        const { nodeName } = cloud.identity(member.machine);
        const answered = async (name: string): Promise<boolean> =>
          (await api.certificates.readCertificateSigningRequest({ name })).status?.certificate !== undefined;
        const kill = async (): Promise<void> => {
          await cluster.machines.get(member.machine.id)?.run(["pkill", "--signal", "KILL", "--exact", "kubelet"]);
        };
        // So that the answer is never faster than the signal.
        await controllers("stop");
        await asks(api, nodeName, 1)
          .then(kill)
          .finally(() => controllers("start"));
        const [first = ""] = await requestsOf(api, nodeName);
        await waitFor("the first request to be answered", limitsMs.machine, () => answered(first));
        await asks(api, nodeName, 2);
        await kill();
        await asks(api, nodeName, 3);
        await cluster.powerOffMachine(member.machine);
        await cluster.startLinux(member, false);
        await waitFor(`node ${nodeName} to be registered`, limitsMs.machine, async () =>
          (await nodesByName(api)).has(nodeName),
        );
        note(`${await toldOf(api, nodeName)}; joined after ${Math.round((Date.now() - began) / 1000)} s`);
      },
    },
  ];
  return checks.map((check) => ({ ...check, slow: true, limitMs: limitsMs.steps }));
}
