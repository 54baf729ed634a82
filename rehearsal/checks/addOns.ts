import { NOTFOUND } from "node:dns";
import { Resolver } from "node:dns/promises";
import type { V1Pod } from "@kubernetes/client-node";
import { expect, expectEqual } from "../../check/check.ts";
import { type WantedWorkloads, workloadsCheck } from "../../check/cluster/workloads.ts";
import { coreDnsTag } from "../../check/facts.ts";
import type { StackConfig } from "../../components/config/schema.ts";
import type { Cluster } from "../cluster/cluster.ts";
import { auditEventOf, auditLogs, inMachines } from "../cluster/inspect.ts";
import { complaint, exitCode, type RealContainer, realContainers, refusals } from "../cluster/realPrograms.ts";
import { limitsMs } from "../host/limits.ts";
import { waitFor } from "../host/processes.ts";
import { programOf } from "../programs/addOns.ts";
import { rightOf, unusedRights } from "./addOnRights.ts";
import type { CheckContext, RehearsalCheck } from "./context.ts";

/** How long a program with a bad start may take to end, in milliseconds: without a probe it is ready at once. */
const settledMs = 10_000;

/** How long others are waited for after the first failure, in milliseconds. */
const othersMs = 30_000;

/** Signer of serving certificates; nobody but the node controller approves its requests. */
const servingSigner = "kubernetes.io/kubelet-serving";

/** Before and after the cloud controller has named a machine, its kubelet gets the serving certificates it asks for. */
export const servingCertificates: RehearsalCheck = {
  id: "serving certificates",
  title: "the node controller gives each kubelet the serving certificates that it asks for, and refuses none",
  run: async ({ api, cloud, linuxWorkers, note }) => {
    const controlPlane = cloud.machines
      .filter(({ group }) => group === undefined)
      .map((machine) => cloud.identity(machine).nodeName);
    const requests = async () =>
      (await api.certificates.listCertificateSigningRequest()).items.filter(
        ({ spec }) => spec.signerName === servingSigner,
      );
    await waitFor(
      "the request of every Linux machine for a serving certificate to be answered",
      limitsMs.answer,
      async () => {
        const all = await requests();
        const asked = new Set(all.map(({ spec }) => spec.username));
        const known = [...linuxWorkers, ...controlPlane].every((name) => asked.has(`system:node:${name}`));
        return known && all.every(({ status }) => (status?.conditions ?? []).length > 0);
      },
    );
    const all = await requests();
    const denied = all.flatMap(({ spec, status }) =>
      (status?.conditions ?? [])
        .filter(({ type }) => type === "Denied")
        .map(({ message }) => `${spec.username}: ${message}`),
    );
    expect(denied.length === 0, `denied: ${[...new Set(denied)].join("; ")}`);
    note(`${all.length} requests of ${new Set(all.map(({ spec }) => spec.username)).size} kubelets`);
  },
};

/** Checks of the add-ons whose own programs run; they look at what these do, so they follow those that only look. */
export function addOnChecks(
  cluster: Cluster,
  { kubernetes: { version: release }, addons }: Pick<StackConfig, "kubernetes" | "addons">,
): readonly RehearsalCheck[] {
  return [
    {
      id: "add-ons: programs",
      title:
        "every add-on whose program runs is ready by its own probes, with the arguments, the token and the rights that it is given",
      limitMs: limitsMs.steps,
      run: async (context) => await untilReady(cluster, context),
    },
    {
      id: "add-ons: cluster DNS",
      title:
        "CoreDNS knows the cluster's Services, asks the cloud's name server for other hosts, and neither knows what there is not",
      run: async (context) =>
        void (await waitFor("CoreDNS to answer as it should", limitsMs.answer, () => askClusterDns(context))),
      ...(hasCoreDns(release) ? {} : { skip: `the program of CoreDNS is another version than that of ${release}` }),
    },
    ...(addons.exporters && addons.nodeProblemDetector ? [nodeReports] : []),
    {
      id: "add-ons: rights",
      title: "no service account of an add-on is refused anything, by the audit logs and the programs' own",
      run: async () => {
        const refused = await refusals(cluster);
        expect(refused.length === 0, refused.join("; "));
      },
    },
    {
      id: "add-ons: used rights",
      title: "every account of an add-on whose program runs uses a right; those that it did not use are printed",
      run: async (context) => await compareRights(cluster, context),
    },
  ];
}

/** Compares what accounts may do with what the audit logs show of them. */
async function compareRights(cluster: Cluster, context: CheckContext): Promise<void> {
  const { api } = context;
  const pods = (await api.core.listPodForAllNamespaces()).items.filter(({ spec }) =>
    spec?.containers.some(({ image = "" }) => cluster.runs(image)),
  );
  const accounts = new Set(pods.map(({ metadata, spec }) => `${metadata?.namespace}:${spec?.serviceAccountName}`));
  const idle: string[] = [];
  for (const account of accounts) {
    const username = `"username":"system:serviceaccount:${account}"`;
    const lines = await inMachines(cluster, `grep --text --no-filename '${username}' ${auditLogs}`);
    const used = new Set(
      lines.map(auditEventOf).flatMap(({ verb, objectRef }) => {
        if (objectRef?.resource === undefined) return [];
        return [rightOf(verb, objectRef.apiGroup, objectRef.resource, objectRef.subresource)];
      }),
    );
    const [namespace = "", name = ""] = account.split(":");
    const { status } = await api.core.createNamespacedServiceAccountToken({
      name,
      namespace,
      body: { spec: { audiences: [] } },
    });
    const { authorization } = api.withToken(status?.token ?? "");
    const review = await authorization.createSelfSubjectRulesReview({ body: { spec: { namespace } } });
    const left = unusedRights(review.status?.resourceRules ?? [], used);
    if (used.size === 0 && left.length > 0) idle.push(account);
    context.note(`${account} used ${[...used].toSorted().join(", ")}; not ${left.join(", ")}`);
  }
  expect(idle.length === 0, `no use of a right is in the audit logs: ${idle.join(", ")}`);
}

function hasCoreDns(release: string): boolean {
  return programOf(`registry.k8s.io/coredns/coredns:${coreDnsTag(release)}`) !== undefined;
}

/** Asks each CoreDNS at its pod's address. @throws when an answer is wrong */
async function askClusterDns({ api, cloud, note }: CheckContext): Promise<boolean> {
  const { spec } = await api.core.readNamespacedService({ name: "kubernetes", namespace: "default" });
  const { items } = await api.core.listNamespacedPod({ namespace: "kube-system", labelSelector: "k8s-app=kube-dns" });
  const addresses = items.flatMap(({ status }) => status?.podIP ?? []);
  expect(addresses.length > 0, "there is no CoreDNS with an address");
  const [host = ""] = cloud.hosts;
  for (const address of addresses) {
    const resolver = new Resolver({ timeout: 2_000, tries: 2 });
    resolver.setServers([address]);
    const ask = async (name: string) =>
      await resolver.resolve4(name).catch((error: unknown) => {
        if (error instanceof Error && "code" in error && error.code === NOTFOUND) return [];
        throw error;
      });
    expectEqual(
      await ask("kubernetes.default.svc.cluster.local"),
      [spec?.clusterIP],
      `kubernetes.default by ${address}`,
    );
    expectEqual((await ask(host)).length, 1, `addresses of ${host} by ${address}`);
    expectEqual(await ask("nowhere.default.svc.cluster.local"), [], `a Service that does not exist by ${address}`);
    expectEqual(await ask("nowhere.example.org"), [], `a host that does not exist by ${address}`);
  }
  note(addresses.join(", "));
  return true;
}

/** The agents see their machine rather than their container: its folder of metrics, its kernel's log. */
const nodeReports: RehearsalCheck = {
  id: "add-ons: reports of nodes",
  title:
    "node-exporter reads what the machine's own jobs measure, and node-problem-detector writes its conditions to the Node",
  run: async (context) => {
    const containers = await realContainers(context.api);
    const byName = (wanted: string) => containers.filter(({ name }) => name === wanted);
    for (const { pod, port } of byName("node-exporter")) {
      const answer = await fetch(`http://${pod.status?.podIP}:${port}/metrics`, { signal: context.signal });
      const errors = /^node_textfile_scrape_error (\S+)$/m.exec(await answer.text())?.[1];
      expectEqual(errors, "0", `node_textfile_scrape_error of ${pod.spec?.nodeName}`);
    }
    const detectors = byName("node-problem-detector");
    for (const { pod } of detectors) {
      const name = pod.spec?.nodeName ?? "";
      const { status } = await context.api.core.readNode({ name });
      const found = (status?.conditions ?? []).map((condition) => `${condition.type}: ${condition.status}`);
      // Of the two configurations that its command line names (kubernetes/node-problem-detector: config).
      for (const wanted of ["KernelDeadlock: False", "ReadonlyFilesystem: False"])
        expect(found.includes(wanted), `${name} has not the condition ${wanted}: ${found.join(", ")}`);
    }
    context.note(`${byName("node-exporter").length} exporters, ${detectors.length} detectors`);
  },
};

async function untilReady(cluster: Cluster, context: CheckContext): Promise<void> {
  let bad: readonly RealContainer[] = [];
  let refused: readonly string[] = [];
  let firstAt: number | undefined;
  const measured = await countsMemory(cluster);
  const look = async (): Promise<readonly RealContainer[]> => {
    const containers = await realContainers(context.api);
    expect(containers.length > 0, "no add-on's program runs");
    const ready = await Promise.all(containers.map((container) => isReady(cluster, container, measured)));
    const unready = containers.filter((container, index) => exitCode(container) === undefined && ready[index] !== true);
    bad = [...containers.filter((container) => exitCode(container) !== undefined), ...unready];
    // A program without a right asks again until its liveness probe ends it.
    refused = await refusals(cluster);
    return containers;
  };
  await waitFor("the add-ons to be ready", limitsMs.program, async () => {
    await look();
    if (bad.some((container) => exitCode(container) !== undefined) || refused.length > 0) firstAt ??= Date.now();
    // What ends one may end others.
    return (
      (bad.length === 0 && cluster.endedOnWindows.length === 0) ||
      (firstAt !== undefined && Date.now() - firstAt > othersMs)
    );
  }).catch(() => undefined);
  const containers = await look();
  const complaints = await Promise.all(bad.map((container) => complaint(cluster, container)));
  const problems = refused.length > 0 ? refused : [...complaints, ...cluster.endedOnWindows];
  expect(problems.length === 0, problems.join("; "));
  if (!measured)
    context.note("control groups of version 2 count no memory on this host: metrics-server has nothing to serve");
  context.note(containers.map(({ pod, name }) => `${pod.metadata?.name}: ${name}`).join(", "));
}

/** Whether control groups of version 2 count memory on this host. */
async function countsMemory(cluster: Cluster): Promise<boolean> {
  return (await inMachines(cluster, "ls /sys/fs/cgroup/memory.stat")).length > 0;
}

/** All workloads have their pods; where memory is not counted, those that are then never Ready are excused. */
export function workloadsThatCount(cluster: Cluster, wanted: WantedWorkloads): RehearsalCheck {
  const measures = ({ spec }: V1Pod): boolean =>
    (spec?.containers ?? []).some(({ image = "" }) => programOf(image)?.unmeasured !== undefined);
  return {
    ...workloadsCheck(wanted),
    run: async (context) => {
      const excused = (await countsMemory(cluster)) ? undefined : measures;
      await workloadsCheck({ ...wanted, excused }).run(context);
    },
  };
}

/**
 * Whether a container is ready. Where memory is not counted, metrics-server has nothing to serve, and is asked for
 * everything else.
 */
async function isReady(cluster: Cluster, { status, unmeasured }: RealContainer, measured: boolean): Promise<boolean> {
  const started = status?.state?.running?.startedAt;
  if (started === undefined || Date.now() - new Date(started).getTime() < settledMs) return false;
  if (status?.ready === true || measured || unmeasured === undefined) return status?.ready === true;
  return (await inMachines(cluster, `curl --silent --insecure --fail --max-time 5 '${unmeasured}'`)).length > 0;
}
