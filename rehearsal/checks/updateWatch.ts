import { setTimeout as sleep } from "node:timers/promises";
import { z } from "zod";
import { minorNumber, ports } from "../../check/facts.ts";
import { type ApiClient, askApi } from "../../components/gates/apiProbe.ts";
import type { Kubectl } from "../api/apply.ts";
import type { Api } from "../api/client.ts";
import { waitFor } from "../host/processes.ts";

/** Pause between two looks, in milliseconds. */
const pauseMs = 500;
const name = "rehearsal-update";
const selector = `app=${name}`;
const namespace = "default";
const versionAnswer = z.object({ gitVersion: z.string().optional() });

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

/** Versions that one look has found. */
export interface Versions {
  /** API servers that answered, each asked at its machine's own address: a Node outlives its machine for a minute. */
  readonly apiServers: readonly string[];
  /** Images of the system's workloads, by name. */
  readonly programs: Readonly<Record<string, string>>;
  /** Kubelets of pools. */
  readonly workers: readonly string[];
}

/**
 * What an update to a release has moved, in order, and what moved too early: the cluster's programs follow the last API
 * server, and the first kubelet of a pool follows them (kubernetes.io/releases/version-skew-policy). Pure.
 */
export function movesOf(
  looks: readonly Versions[],
  release: string,
): { order: readonly string[]; early: readonly string[] } {
  const [before, after] = [looks[0]?.programs ?? {}, looks.at(-1)?.programs ?? {}];
  const first = (isMoved: (look: Versions) => boolean): number => {
    const at = looks.findIndex(isMoved);
    return at === -1 ? Number.POSITIVE_INFINITY : at;
  };
  const moved = Object.keys(after).filter((name) => name in before && after[name] !== before[name]);
  const programs = moved
    .map((name) => ({ name, at: first((look) => look.programs[name] !== before[name]) }))
    .sort((a, b) => a.at - b.at);
  const wanted = [
    // A machine that is being replaced has no version: behind the last old one, no API server is older.
    {
      name: "API servers",
      at: 1 + looks.findLastIndex(({ apiServers }) => apiServers.some((each) => each !== release)),
    },
    ...programs,
    { name: "kubelets", at: first(({ workers }) => workers.includes(release)) },
  ];
  const early = programs.flatMap(({ name, at }) => [
    ...(at < (wanted[0]?.at ?? 0) ? [`${name} before API servers`] : []),
    ...((wanted.at(-1)?.at ?? 0) < at ? [`kubelets before ${name}`] : []),
  ]);
  return { order: wanted.map(({ name }) => name), early };
}

/** What users see of a cluster while it is updated: writes through the load balancer, a workload, and kubelets. */
export class UpdateWatch {
  readonly #client: ApiClient;
  readonly #api: Api;
  #lastWrite = performance.now();
  #longestMs = 0;
  #failed = 0;
  #looks = 0;
  #fewest = Number.POSITIVE_INFINITY;
  #tooNew = new Set<string>();
  #versions: Versions[] = [];

  /** @param client speaks through the load balancer, with a connection per request */
  constructor(client: ApiClient, api: Api) {
    this.#client = client;
    this.#api = api;
  }

  /**
   * Starts the workload, and looks from then on.
   * @param addresses of the control plane's machines that run now
   */
  async start(kubectl: Kubectl, addresses: () => readonly string[]): Promise<void> {
    const { code, stderr } = await kubectl(["apply", "--filename=-"], JSON.stringify(workload));
    if (code !== 0) throw new Error(stderr.trim());
    await waitFor("the workload to be ready", 60_000, async () => (await this.#ready()) === 2);
    this.#lastWrite = performance.now();
    void this.#repeat(() => this.#write());
    void this.#repeat(() => this.#look(addresses()));
  }

  /** Ids of the workload's pods with their restarts. */
  async pods(): Promise<readonly string[]> {
    const { items } = await this.#api.core.listNamespacedPod({ namespace, labelSelector: selector });
    return items
      .map(({ metadata, status }) => `${metadata?.uid} ${status?.containerStatuses?.[0]?.restartCount}`)
      .sort();
  }

  forgetVersions(): void {
    this.#versions = [];
  }

  get seen() {
    const open = performance.now() - this.#lastWrite;
    return {
      /** Longest time without a write that succeeded, in milliseconds. */
      longestMs: Math.max(this.#longestMs, open),
      failed: this.#failed,
      /**
       * How often the workload and the nodes were seen; a failed look does not count, as the API may be away a moment.
       */
      looks: this.#looks,
      /** Fewest copies of the workload that were ready. */
      fewest: this.#fewest,
      /** Workers whose kubelet was newer than an API server. */
      tooNew: [...this.#tooNew],
      versions: this.#versions,
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

  async #look(addresses: readonly string[]): Promise<void> {
    this.#fewest = Math.min(this.#fewest, await this.#ready());
    const apiServers = (await Promise.all(addresses.map((address) => this.#version(address)))).filter(
      (version) => version !== undefined,
    );
    const workers = (await this.#api.core.listNode()).items
      .filter(({ metadata }) => "fenestra.dev/pool" in (metadata?.labels ?? {}))
      .map(({ metadata, status }) => ({ name: metadata?.name ?? "", version: status?.nodeInfo?.kubeletVersion ?? "" }));
    const oldest = Math.min(...apiServers.map(minorNumber));
    for (const { name, version } of workers) if (minorNumber(version) > oldest) this.#tooNew.add(name);
    const workloads = [
      ...(await this.#api.apps.listDeploymentForAllNamespaces()).items,
      ...(await this.#api.apps.listDaemonSetForAllNamespaces()).items,
    ].filter(({ metadata }) => metadata?.namespace !== namespace);
    this.#versions.push({
      apiServers,
      programs: Object.fromEntries(
        workloads.map(({ metadata, spec }) => [
          metadata?.name ?? "",
          (spec?.template.spec?.containers ?? []).map(({ image }) => image).join(" "),
        ]),
      ),
      workers: workers.map(({ version }) => version),
    });
    this.#looks += 1;
  }

  /** @returns nothing where none answers: the machine is being replaced, or boots */
  async #version(address: string): Promise<string | undefined> {
    const server = `https://${address}:${ports.api}`;
    const { body } = await askApi({ ...this.#client, server, requestMs: 2000 }, "/version").catch(() => ({
      body: "{}",
    }));
    return versionAnswer.parse(JSON.parse(body)).gitVersion;
  }

  async #ready(): Promise<number> {
    const deployment = await this.#api.apps.readNamespacedDeployment({ name, namespace });
    return deployment.status?.readyReplicas ?? 0;
  }
}
