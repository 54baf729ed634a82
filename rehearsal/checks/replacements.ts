import type { V1Node } from "@kubernetes/client-node";
import { z } from "zod";
import { expect, expectEqual } from "../../checks/check.ts";
import { checkPod, statusOf, waitingContainer } from "../../checks/cluster/api.ts";
import type { SimulatedGroup, SimulatedMachine } from "../../plan/fakes/machines.ts";
import { type Api, apiFor, kubeconfig } from "../api/client.ts";
import type { CloudSimulation } from "../clouds/cloud.ts";
import type { DecodedMachine } from "../cluster/bringUp.ts";
import type { Cluster, Release } from "../cluster/cluster.ts";
import type { ControlPlaneLab } from "../cluster/controlPlaneLab.ts";
import { rollGroup, type Updates } from "../cluster/update.ts";
import { limitsMs } from "../host/limits.ts";
import { waitFor } from "../host/processes.ts";
import type { CheckContext, RehearsalCheck } from "./context.ts";
import { type Follow, walk } from "./manual.ts";
import { askFor, joinSecretOf, killLeader, machinesPage } from "./trust.ts";

const hostileOnes = 300;
/** Seconds that a machine's request for its first certificate may wait among hostile ones. */
const patience = 30;
/** Milliseconds after which a group gives a payload up. */
const badMs = 120_000;
/** Seconds that a Linux machine has to join, where a check waits for one that does not. */
const shortJoin = 120;
const settings = { name: "fenestra-node-controller", namespace: "kube-system" };
const poolsSchema = z.array(z.looseObject({ os: z.string() }));

/** Asks for a client certificate of that node. */
const ask = (api: Api, node: string): Promise<string> => askFor(api, `system:node:${node}`, "system:nodes");

/** Sees to it that no request of these is approved, and deletes them. @returns those that were, of all requests */
async function expectRefused({ certificates }: Api, names: readonly string[]) {
  // Its turn, and a list of the cloud that is newer than the request.
  await new Promise((resolve) => setTimeout(resolve, 20_000));
  const { items } = await certificates.listCertificateSigningRequest();
  const approved = items.filter(({ status }) => status?.conditions?.some(({ type }) => type === "Approved"));
  const wrong = approved.filter(({ metadata }) => names.includes(metadata?.name ?? ""));
  expectEqual(wrong.length, 0, "hostile requests that were approved");
  for (const name of names) await certificates.deleteCertificateSigningRequest({ name }).catch(() => undefined);
  return approved;
}

/** Names of nodes of requests for first certificates, by the name of the request. */
async function firstRequests({ certificates }: Api): Promise<ReadonlyMap<string, string>> {
  const { items } = await certificates.listCertificateSigningRequest();
  const first = items.filter(({ spec }) => spec.username?.startsWith("system:bootstrap:") === true);
  return new Map(
    first.map(({ metadata, spec }) => {
      const pem = Buffer.from(spec.request, "base64")
        .toString()
        .replaceAll(/-----[^-]+-----|\s/g, "");
      const der = Buffer.from(pem, "base64");
      const at = der.indexOf("system:node:");
      // The byte before a short text is its length.
      return [metadata?.name ?? "", der.toString("latin1", at, at + (der[at - 1] ?? 0)).slice("system:node:".length)];
    }),
  );
}

/**
 * Copies each first request that `seen` shows from now on, with each of these tokens and a name that sorts before it.
 *
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

async function nodesByName({ core }: Api): Promise<ReadonlyMap<string, V1Node>> {
  return new Map((await core.listNode()).items.map((node) => [node.metadata?.name ?? "", node]));
}

/** Lets the node controller wait less for a Linux machine, and end as many as it finds, while a check runs. */
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

/** What the checks of replacements work with. */
interface Replacements {
  readonly cluster: Cluster;
  readonly lab: ControlPlaneLab;
  readonly updates: Updates;
  readonly options: Release;
  readonly decoded: readonly DecodedMachine[];
  readonly worker: DecodedMachine;
  readonly follow: Follow;
}

/**
 * What becomes of workers that end, never join, lose their Nodes, are rolled and maintained. Each check leaves as many
 * workers as it found.
 */
export function replacementChecks({
  cluster,
  lab,
  updates,
  options,
  decoded,
  worker,
  follow,
}: Replacements): readonly RehearsalCheck[] {
  const workers = ({ machines }: CloudSimulation): readonly SimulatedMachine[] =>
    machines.filter(({ id, urn }) => urn === worker.machine.urn && cluster.machines.has(id));
  const current = (cloud: CloudSimulation): { readonly machine: SimulatedMachine; readonly group: SimulatedGroup } => {
    const [machine] = workers(cloud);
    if (machine?.group === undefined) throw new Error(`no machine of ${worker.machine.urn} runs`);
    return { machine, group: machine.group };
  };
  const successorOf = async (
    { api, cloud }: CheckContext,
    machine: SimulatedMachine,
    sameName = false,
  ): Promise<string> => {
    await cluster.powerOffMachine(machine);
    const old = (await nodesByName(api)).get(cloud.identity(machine).nodeName)?.metadata?.uid;
    const { machine: successor } = await cluster.replaceMachine({ machine, payload: worker.payload }, sameName);
    const { nodeName } = cloud.identity(successor);
    await waitFor(`node ${nodeName} to be registered`, limitsMs.machine, async () => {
      const { uid } = (await nodesByName(api)).get(nodeName)?.metadata ?? {};
      return uid !== undefined && uid !== old;
    });
    return nodeName;
  };
  const thiefOf = async (cloud: CloudSimulation, machine: SimulatedMachine) => {
    const { server, caCertificate: ca, token } = await joinSecretOf(cloud, machine);
    // What root on the machine may have kept.
    const pem =
      (await cluster.machines.get(machine.id)?.readFile("/var/lib/kubelet/pki/kubelet-client-current.pem")) ?? "";
    const as = (user: Parameters<typeof kubeconfig>[0]["user"]) => apiFor(kubeconfig({ server, ca, user }));
    return { thief: as({ certificate: pem, key: pem }), bootstrap: as({ token }) };
  };
  const controllers = (verb: "stop" | "start") =>
    Promise.all(
      lab.indices.map((index) => lab.machine(index).systemd.systemctl([verb, "fenestra-node-controller.service"])),
    );
  const requestsOf = async (api: Api, nodeName: string): Promise<readonly string[]> =>
    [...(await firstRequests(api))].flatMap(([name, node]) => (node === nodeName ? [name] : []));
  const asks = (api: Api, nodeName: string, count: number) =>
    waitFor(
      `${nodeName} to ask ${count} times`,
      limitsMs.machine,
      async () => (await requestsOf(api, nodeName)).length >= count,
    );
  /** Sees to it that Events tell of a machine's further certificates. @returns how often it asked and was answered */
  const toldOf = async (api: Api, nodeName: string): Promise<string> => {
    const { items } = await api.core.listNamespacedEvent({ namespace: "default" });
    const told = items.filter(
      ({ reason, message }) => reason === "CertificateGivenAgain" && message?.includes(nodeName),
    );
    expect(told.length > 0, `nobody was told of a further certificate of ${nodeName}`);
    return `${nodeName} asked ${(await requestsOf(api, nodeName)).length} times and had ${1 + told.length} certificates`;
  };
  const windows = decoded.find(({ payload }) => payload.system === "windows");
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
        // Another worker of the pool, and one of another pool where there is one: their tokens of now.
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
    ...(windows === undefined
      ? []
      : [
          {
            id: "replaced: Windows kubelet killed",
            title:
              "a Windows machine whose kubelet is killed when it has asked joins, and its further certificate is told",
            run: async ({ api, cloud, note }: CheckContext) => {
              const machine = cloud.machines.find(({ urn }) => urn === windows.machine.urn);
              if (machine === undefined) throw new Error(`no machine of ${windows.machine.urn} runs`);
              let joined = "";
              await controllers("stop");
              await cluster
                .replaceWindows({ machine, payload: windows.payload }, async (nodeName, kill) => {
                  joined = nodeName;
                  await asks(api, nodeName, 1);
                  await kill();
                  await controllers("start");
                })
                .finally(() => controllers("start"));
              note(await toldOf(api, joined));
            },
          },
        ]),
    {
      id: "replaced: never joined",
      title: "a machine that never joins is ended, and the one after it joins",
      run: impatient(async (context) => {
        const { cloud, note } = context;
        const { machine } = current(cloud);
        await cluster.powerOffMachine(machine);
        // The cloud runs it; what there is of it never boots.
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
        // One whose Node it has never seen is one that never joined, and of those it ends one an hour.
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
  return checks.map((check) => ({ ...check, slow: true, limitMs: limitsMs.steps }));
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
