import { setTimeout as sleep } from "node:timers/promises";
import { expect, expectEqual, inOrder } from "../../check/check.ts";
import { coreDnsTag } from "../../check/facts.ts";
import { type ApiClient, askApi } from "../../components/gates/apiProbe.ts";
import { decodeUserData } from "../../plan/decode/userData.ts";
import type { Kubectl } from "../api/apply.ts";
import { type Api, gateClient, isReady } from "../api/client.ts";
import type { Cluster, Release } from "../cluster/cluster.ts";
import type { ControlPlaneLab } from "../cluster/controlPlaneLab.ts";
import type { DecodedMachine } from "../cluster/surroundings.ts";
import type { Update, Updates } from "../cluster/update.ts";
import { limitsMs } from "../host/command.ts";
import { waitFor } from "../host/processes.ts";
import { outageLimitMs } from "./availability.ts";
import type { CheckContext, RehearsalCheck, RehearsalTools } from "./context.ts";

interface UpdateChecks {
  readonly cluster: Cluster;
  readonly lab: ControlPlaneLab;
  readonly updates: Updates;
  readonly kubeconfig: string;
  readonly from: Release;
  readonly to: Release;
}

const releaseOf = ({ programs }: Release): string => programs["kube-apiserver"].version;

/**
 * A control plane of three goes to another release, machine by machine, and the workers follow; before that an update
 * stops behind the first machine, as if it failed there, and is taken back. Where only the program changes there is no
 * release to stop at, but an older template. Each check begins with what the one before has left.
 */
export function updateChecks(of: UpdateChecks): readonly RehearsalCheck[] {
  const [from, to] = [of.from, of.to].map(releaseOf);
  const sameRelease = of.from === of.to;
  const course = new Course(of);
  const ofRelease: readonly RehearsalCheck[] = [
    {
      id: "update: stopped behind the first machine",
      title: `one of three machines runs ${to}, the others ${from}, and all are healthy members`,
      run: (tools) => course.stop(tools),
    },
    {
      id: "update: taken back",
      title: `the first machine goes back to ${from}, with its data`,
      run: (tools) => course.takeBack(tools),
    },
  ];
  const oldTemplate: RehearsalCheck = {
    id: "update: old template",
    title: "a machine that starts before its pool's turn, from the template that the older program made, joins",
    run: (tools) => course.startOld(tools),
  };
  return inOrder<RehearsalTools>([
    {
      id: "update: begun",
      title: `the program runs again${sameRelease ? "" : ` for ${to}`}; the control plane is healthy and a workload runs`,
      run: (tools) => course.begin(tools),
    },
    ...(sameRelease ? [] : ofRelease),
    {
      id: "update: control plane",
      title: `all three machines run ${to}, and the pods of a workload have seen nothing of it`,
      run: (tools) => course.moveControlPlane(tools, sameRelease),
    },
    {
      id: "update: kubeadm's add-ons",
      title: "CoreDNS and kube-proxy follow the API servers",
      run: (tools) => followed(tools, releaseOf(of.to)),
    },
    ...(sameRelease ? [oldTemplate] : []),
    {
      id: "update: pools",
      title: `every machine of every pool is replaced by one with kubelet ${to}, and every gate opens`,
      run: (tools) => course.movePools(tools),
    },
    {
      id: "update: seen from outside",
      title: "the API took writes all along, and a copy of the workload was always ready",
      run: (tools) => course.lookBack(tools, sameRelease),
    },
  ]);
}

/** Updates, and what is seen of them. */
class Course {
  readonly #of: UpdateChecks;
  readonly #watch: UpdateWatch;
  #update: Update | undefined;
  /** A Linux worker as the older program made it. */
  #old: DecodedMachine | undefined;

  constructor(of: UpdateChecks) {
    this.#of = of;
    this.#watch = new UpdateWatch(gateClient(of.kubeconfig), of.cluster.api);
  }

  async begin({ kubectl, cloud, note }: CheckContext): Promise<void> {
    const { cluster, lab, updates, to } = this.#of;
    await lab.untilHealthy();
    await this.#watch.start(kubectl);
    const machine = cloud.machines.find(({ id, group }) => group !== undefined && cluster.machines.has(id));
    if (machine !== undefined)
      this.#old = { machine, payload: decodeUserData(machine.userData, cloud.objects(machine)) };
    this.#update = await updates.begin(to);
    note(this.#update.steps.join(", "));
  }

  async stop(tools: CheckContext): Promise<void> {
    const { from, to } = this.#of;
    await this.#run("-control-plane-gate-0");
    await expectReleases(tools, this.#of.lab, [to, from, from]);
  }

  async takeBack(tools: CheckContext): Promise<void> {
    const { lab, updates, from } = this.#of;
    this.#update = await updates.begin(from);
    const rolls = this.#update.steps.filter((name) => name.includes("-pool-"));
    expectEqual(rolls, [], "pools that roll although their machines stayed as they were");
    await this.#run();
    await expectReleases(tools, lab, [from, from, from]);
  }

  async moveControlPlane(tools: CheckContext, mayStay: boolean): Promise<void> {
    const { lab, updates, to } = this.#of;
    const before = await this.#watch.pods();
    this.#update = await updates.begin(to);
    const last = "-control-plane-api";
    // Another version of the program may leave the control plane as it is.
    if (mayStay && !this.#update.steps.some((name) => name.endsWith(last))) return tools.note("it stays");
    await this.#run(last);
    await expectReleases(tools, lab, [to, to, to]);
    expectEqual(await this.#watch.pods(), before, "pods of the workload and their restarts");
  }

  async startOld({ api, cloud, kubectl, note }: CheckContext): Promise<void> {
    if (this.#old === undefined) return note("no Linux worker runs");
    const { nodeName } = cloud.identity(this.#old.machine);
    await kubectl(["drain", nodeName, "--ignore-daemonsets", "--delete-emptydir-data", "--force"]);
    await this.#of.cluster.powerOffMachine(this.#old.machine);
    const { machine } = await this.#of.cluster.replaceMachine(this.#old);
    const name = cloud.identity(machine).nodeName;
    const look = async (): Promise<boolean> => isReady(await api.core.readNode({ name }));
    await waitFor(`node ${name} to be Ready`, limitsMs.machine, look);
    note(`${name} in place of ${nodeName}`);
  }

  async movePools({ api, cloud, note }: CheckContext): Promise<void> {
    const { cluster, lab, to } = this.#of;
    const before = cloud.machines.length;
    await this.#update?.run(cluster, lab);
    const look = async (): Promise<boolean> => {
      const nodes = (await api.core.listNode()).items;
      const versions = nodes.map(({ status }) => status?.nodeInfo?.kubeletVersion ?? "");
      if (nodes.length !== before || versions.some((version) => version !== `v${releaseOf(to)}`))
        throw new Error(`${nodes.length} nodes, ${before} before, with ${[...new Set(versions)].join(", ")}`);
      return true;
    };
    // The controller-manager gives a node up after 50 s without a lease; only then the cloud controller looks for its
    // machine.
    await waitFor("the nodes of old machines to be gone", 180_000, look);
    expectEqual(cloud.machines.length, before, "machines in the cloud");
    note(`${before} nodes`);
  }

  async lookBack({ cloud, note }: CheckContext, mayStay: boolean): Promise<void> {
    const { longestMs, failed, looks, fewest } = this.#watch.seen;
    const { length } = cloud.machines;
    expect(mayStay || looks >= length, `${looks} looks while ${length} machines were replaced`);
    const longest = `${(longestMs / 1000).toFixed(1)} s`;
    expect(longestMs < outageLimitMs, `no write succeeded for ${longest}`);
    expect(fewest >= 1, `${fewest} copies of the workload were ready`);
    note(
      `longest time without a write ${longest}, ${failed} writes failed; at least ${fewest} of 2 copies ready in ${looks} looks`,
    );
  }

  /** @param until end of the name of the step to stop behind. Default: to the end. */
  async #run(until?: string): Promise<void> {
    const { cluster, lab } = this.#of;
    if (this.#update === undefined) throw new Error("no update was begun");
    const step = until && (this.#update.steps.find((name) => name.endsWith(until)) ?? until);
    await this.#update.run(cluster, lab, step);
    await lab.untilHealthy();
  }
}

async function followed({ api }: CheckContext, release: string): Promise<void> {
  const namespace = "kube-system";
  const wanted = [`:${coreDnsTag(release)}`, `:v${release}`];
  const look = async (): Promise<boolean> => {
    const { spec: dns } = await api.apps.readNamespacedDeployment({ name: "coredns", namespace });
    const { spec: proxy } = await api.apps.readNamespacedDaemonSet({ name: "kube-proxy", namespace });
    const images = [dns, proxy].map((spec) => spec?.template.spec?.containers[0]?.image ?? "");
    if (!images.every((image, index) => image.endsWith(wanted[index] ?? "?"))) throw new Error(images.join(", "));
    return true;
  };
  await waitFor(`images ${wanted.join(" and ")}`, 60_000, look);
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

/** Pause between two looks, in milliseconds. */
const pauseMs = 500;
const name = "rehearsal-update";
const selector = `app=${name}`;
const namespace = "default";

/** Two copies of an ordinary user's workload on Linux workers, of which one may be away. */
const workload = {
  apiVersion: "v1",
  kind: "List",
  items: [
    {
      apiVersion: "apps/v1",
      kind: "Deployment",
      metadata: { name, namespace },
      spec: {
        replicas: 2,
        selector: { matchLabels: { app: name } },
        template: {
          metadata: { labels: { app: name } },
          spec: {
            nodeSelector: { "kubernetes.io/os": "linux" },
            terminationGracePeriodSeconds: 1,
            containers: [{ name: "app", image: "registry.example.test/app:1.0" }],
          },
        },
      },
    },
    {
      apiVersion: "policy/v1",
      kind: "PodDisruptionBudget",
      metadata: { name, namespace },
      spec: { minAvailable: 1, selector: { matchLabels: { app: name } } },
    },
  ],
};

/** What users see of a cluster while it is updated: writes through the load balancer, and a workload. */
class UpdateWatch {
  readonly #client: ApiClient;
  readonly #api: Api;
  #lastWrite = performance.now();
  #longestMs = 0;
  #failed = 0;
  #looks = 0;
  #fewest = Number.POSITIVE_INFINITY;

  /** @param client speaks through the load balancer, with a connection per request */
  constructor(client: ApiClient, api: Api) {
    this.#client = client;
    this.#api = api;
  }

  /** Starts the workload, and looks from then on. */
  async start(kubectl: Kubectl): Promise<void> {
    const { code, stderr } = await kubectl(["apply", "--filename=-"], JSON.stringify(workload));
    if (code !== 0) throw new Error(stderr.trim());
    await waitFor("the workload to be ready", 60_000, async () => (await this.#ready()) === 2);
    this.#lastWrite = performance.now();
    void this.#repeat(() => this.#write());
    void this.#repeat(() => this.#look());
  }

  /** Ids of the workload's pods with their restarts. */
  async pods(): Promise<readonly string[]> {
    const { items } = await this.#api.core.listNamespacedPod({ namespace, labelSelector: selector });
    return items
      .map(({ metadata, status }) => `${metadata?.uid} ${status?.containerStatuses?.[0]?.restartCount}`)
      .sort();
  }

  get seen() {
    return {
      /** Longest time without a write that succeeded, in milliseconds. */
      longestMs: Math.max(this.#longestMs, performance.now() - this.#lastWrite),
      failed: this.#failed,
      /**
       * How often the workload was seen; a failed look does not count, as the API may be away a moment.
       */
      looks: this.#looks,
      /** Fewest copies of the workload that were ready. */
      fewest: this.#fewest,
    };
  }

  async #repeat(once: () => Promise<void>): Promise<void> {
    for (;;) {
      await once().catch(() => undefined);
      await sleep(pauseMs, undefined, { ref: false });
    }
  }

  async #write(): Promise<void> {
    const body = { apiVersion: "v1", kind: "ConfigMap", metadata: { generateName: `${name}-` } };
    const { status } = await askApi(this.#client, `/api/v1/namespaces/${namespace}/configmaps`, body).catch(() => ({
      status: 0,
    }));
    if (status !== 201) {
      this.#failed += 1;
      return;
    }
    const now = performance.now();
    this.#longestMs = Math.max(this.#longestMs, now - this.#lastWrite);
    this.#lastWrite = now;
  }

  async #look(): Promise<void> {
    this.#fewest = Math.min(this.#fewest, await this.#ready());
    this.#looks += 1;
  }

  async #ready(): Promise<number> {
    const deployment = await this.#api.apps.readNamespacedDeployment({ name, namespace });
    return deployment.status?.readyReplicas ?? 0;
  }
}
