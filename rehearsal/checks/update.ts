import { KubeConfig } from "@kubernetes/client-node";
import { expect, expectEqual, inOrder } from "../../check/check.ts";
import { coreDnsTag, minorNumber } from "../../check/facts.ts";
import type { ApiClient } from "../../components/gates/apiProbe.ts";
import { messageOf } from "../../components/gates/poll.ts";
import { decodeUserData } from "../../plan/decode/userData.ts";
import { isReady } from "../api/client.ts";
import type { DecodedMachine } from "../cluster/bringUp.ts";
import type { Cluster, Release } from "../cluster/cluster.ts";
import type { ControlPlaneLab } from "../cluster/controlPlaneLab.ts";
import type { Update, Updates } from "../cluster/update.ts";
import { limitsMs } from "../host/command.ts";
import { waitFor } from "../host/processes.ts";
import { outageLimitMs } from "./availability.ts";
import type { RehearsalCheck, RehearsalTools } from "./context.ts";
import { movesOf, UpdateWatch } from "./updateWatch.ts";

interface UpdateChecks {
  readonly cluster: Cluster;
  readonly lab: ControlPlaneLab;
  readonly updates: Updates;
  readonly kubeconfig: string;
  readonly from: Release;
  readonly to: Release;
}

const releaseOf = ({ programs }: Release): string => programs["kube-apiserver"].version;

/** The administrator's kubeconfig as a gate's client. */
function clientOf(kubeconfig: string): ApiClient {
  const config = new KubeConfig();
  config.loadFromString(kubeconfig);
  const [cluster, user] = [config.getCurrentCluster(), config.getCurrentUser()];
  const pem = (base64 = "") => Buffer.from(base64, "base64").toString("utf8");
  return {
    server: cluster?.server ?? "",
    caCertificate: pem(cluster?.caData),
    client: { certificate: pem(user?.certData), key: pem(user?.keyData) },
  };
}

/**
 * A control plane of three goes to another release, machine by machine, and the workers follow; before that an update
 * stops behind the first machine, as if it failed there, and is taken back. Each check begins with what the one before
 * has left.
 */
export function updateChecks({ cluster, lab, updates, kubeconfig, from, to }: UpdateChecks): readonly RehearsalCheck[] {
  const watch = new UpdateWatch(clientOf(kubeconfig), cluster.api);
  let update: Update | undefined;
  let old: DecodedMachine | undefined;
  const begun = (): Update => {
    if (update === undefined) throw new Error("no update was begun");
    return update;
  };
  /** Only the program changes. */
  const sameRelease = from === to;
  const ofRelease = [
    "update: skipped minor",
    "update: order",
    "update: stopped behind the first machine",
    "update: taken back",
  ];
  const ofProgram = ["update: old template"];
  const step = (suffix: string): string => begun().steps.find((name) => name.endsWith(suffix)) ?? suffix;
  const checks: readonly RehearsalCheck[] = [
    {
      id: "update: begun",
      title: `the program runs again${sameRelease ? "" : ` for ${releaseOf(to)}`}; the control plane is healthy and a workload runs`,
      run: async ({ kubectl, cloud, note }) => {
        await lab.untilHealthy();
        await watch.start(kubectl, () => lab.addresses);
        const machine = cloud.machines.find(({ id, group }) => group !== undefined && cluster.machines.has(id));
        if (machine !== undefined) old = { machine, payload: decodeUserData(machine.userData, cloud.objects(machine)) };
        update = await updates.begin(to);
        note(update.steps.join(", "));
      },
    },
    {
      id: "update: skipped minor",
      title: "the guard refuses this release to a cluster of two minors before",
      run: async ({ note }) => {
        const kept = { version: `1.${minorNumber(releaseOf(to)) - 2}.0`, replicas: lab.size };
        const answer = await begun()
          .ask(step("-control-plane-upgrade"), kept)
          .then(() => "it opened", messageOf);
        expect(answer.includes(`skips a minor after ${kept.version}`), `the guard: ${answer}`);
        note(
          answer
            .split("\n")
            .find((line) => line.includes("skips a minor"))
            ?.trim() ?? "",
        );
      },
    },
    {
      id: "update: stopped behind the first machine",
      title: `one of three machines runs ${releaseOf(to)}, the others ${releaseOf(from)}, and all are healthy members`,
      run: async (context) => {
        await begun().run(cluster, lab, step("-control-plane-gate-0"));
        await lab.untilHealthy();
        await expectReleases(context, lab, [to, from, from]);
      },
    },
    {
      id: "update: taken back",
      title: `the first machine goes back to ${releaseOf(from)}, with its data`,
      run: async (context) => {
        update = await updates.begin(from);
        expectEqual(
          update.steps.filter((name) => name.includes("-pool-")),
          [],
          "pools that roll although their machines stayed as they were",
        );
        await begun().run(cluster, lab);
        await lab.untilHealthy();
        await expectReleases(context, lab, [from, from, from]);
      },
    },
    {
      id: "update: control plane",
      title: `all three machines run ${releaseOf(to)}, and the pods of a workload have seen nothing of it`,
      run: async (context) => {
        const { note } = context;
        const before = await watch.pods();
        watch.forgetVersions();
        update = await updates.begin(to);
        // Another version of the program may leave the control plane as it is.
        if (sameRelease && !begun().steps.includes(step("-control-plane-api"))) return note("it stays");
        await begun().run(cluster, lab, step("-control-plane-api"));
        await lab.untilHealthy();
        await expectReleases(context, lab, [to, to, to]);
        expectEqual(await watch.pods(), before, "pods of the workload and their restarts");
      },
    },
    {
      id: "update: kubeadm's add-ons",
      title: "CoreDNS and kube-proxy follow the API servers",
      run: async ({ api }) => {
        const namespace = "kube-system";
        const wanted = [`:${coreDnsTag(releaseOf(to))}`, `:v${releaseOf(to)}`];
        const look = async (): Promise<boolean> => {
          const { spec: dns } = await api.apps.readNamespacedDeployment({ name: "coredns", namespace });
          const { spec: proxy } = await api.apps.readNamespacedDaemonSet({ name: "kube-proxy", namespace });
          const images = [dns, proxy].map((spec) => spec?.template.spec?.containers[0]?.image ?? "");
          if (!images.every((image, index) => image.endsWith(wanted[index] ?? "?"))) throw new Error(images.join(", "));
          return true;
        };
        await waitFor(`images ${wanted.join(" and ")}`, 60_000, look);
      },
    },
    {
      id: "update: old template",
      title: "a machine that starts before its pool's turn, from the template that the older program made, joins",
      run: async ({ api, cloud, kubectl, note }) => {
        if (old === undefined) return note("no Linux worker runs");
        const { nodeName } = cloud.identity(old.machine);
        await kubectl(["drain", nodeName, "--ignore-daemonsets", "--delete-emptydir-data", "--force"]);
        await cluster.powerOffMachine(old.machine);
        const { machine } = await cluster.replaceMachine(old);
        const name = cloud.identity(machine).nodeName;
        const look = async (): Promise<boolean> => isReady(await api.core.readNode({ name }));
        await waitFor(`node ${name} to be Ready`, limitsMs.machine, look);
        note(`${name} in place of ${nodeName}`);
      },
    },
    {
      id: "update: pools",
      title: `every machine of every pool is replaced by one with kubelet ${releaseOf(to)}, and every gate opens`,
      run: async ({ api, cloud, note }) => {
        const before = cloud.machines.length;
        await begun().run(cluster, lab);
        const look = async (): Promise<boolean> => {
          const nodes = (await api.core.listNode()).items;
          const versions = nodes.map(({ status }) => status?.nodeInfo?.kubeletVersion ?? "");
          if (nodes.length !== before || versions.some((version) => version !== `v${releaseOf(to)}`))
            throw new Error(`${nodes.length} nodes, ${before} before, with ${[...new Set(versions)].join(", ")}`);
          return true;
        };
        // The controller-manager gives a node up after 50 s without a lease; only then the cloud controller looks for
        // its machine.
        await waitFor("the nodes of old machines to be gone", 180_000, look);
        expectEqual(cloud.machines.length, before, "machines in the cloud");
        note(`${before} nodes`);
      },
    },
    {
      id: "update: order",
      title: "programs of the cluster moved after every API server, and kubelets of pools after them",
      run: async ({ note }) => {
        const { order, early } = movesOf(watch.seen.versions, `v${releaseOf(to)}`);
        expectEqual(early, [], "what moved too early");
        // Another minor has another cloud controller.
        if (minorNumber(releaseOf(from)) !== minorNumber(releaseOf(to)))
          expect(
            order.some((name) => name.includes("cloud-controller")),
            `what moved: ${order.join(", ")}`,
          );
        note(order.join(", then "));
      },
    },
    {
      id: "update: seen from outside",
      title:
        "the API took writes all along, a copy of the workload was always ready, no kubelet was newer than the API",
      run: async ({ cloud, note }) => {
        const { longestMs, failed, looks, fewest, tooNew } = watch.seen;
        expect(
          sameRelease || looks >= cloud.machines.length,
          `${looks} looks while ${cloud.machines.length} machines were replaced`,
        );
        expect(longestMs < outageLimitMs, `no write succeeded for ${(longestMs / 1000).toFixed(1)} s`);
        expect(fewest >= 1, `${fewest} copies of the workload were ready`);
        expectEqual(tooNew, [], "workers with a kubelet newer than an API server");
        note(
          `longest time without a write ${(longestMs / 1000).toFixed(1)} s, ${failed} writes failed; at least ${fewest} of 2 copies ready in ${looks} looks`,
        );
      },
    },
  ];
  return inOrder<RehearsalTools>(checks.filter(({ id }) => !(sameRelease ? ofRelease : ofProgram).includes(id)));
}

/** What each control-plane machine runs: the kubelet by its Node, the API server and etcd by their own answers. */
async function expectReleases(
  { api, cloud }: RehearsalTools,
  lab: ControlPlaneLab,
  wanted: readonly Release[],
): Promise<void> {
  const look = async (): Promise<boolean> => {
    for (const [index, { programs }] of wanted.entries()) {
      const { nodeName } = cloud.identity(lab.member(index).machine);
      const { status } = await api.core.readNode({ name: nodeName });
      const answer = await lab.kubectl(index, "get", "--raw", "/version");
      const [endpoint] = JSON.parse(await lab.etcdctl(index, "endpoint", "status", "--write-out=json"));
      const found = [status?.nodeInfo?.kubeletVersion, JSON.parse(answer).gitVersion, endpoint?.Status?.version];
      const release = [`v${programs.kubelet.version}`, `v${programs["kube-apiserver"].version}`, programs.etcd.version];
      expectEqual(found, release, `kubelet, API server and etcd of machine ${index}`);
    }
    return true;
  };
  await waitFor("the releases of the control plane", 30_000, look);
}
