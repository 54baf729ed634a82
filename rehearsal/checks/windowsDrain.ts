import { expect, expectEqual } from "../../checks/check.ts";
import { checkPod, waitingContainer } from "../../checks/cluster/api.ts";
import { NotYet, until } from "../../checks/poll.ts";
import { hasAnswer, retryWhileUnavailable } from "../api/retry.ts";
import type { Cluster } from "../cluster/cluster.ts";
import { limitsMs } from "../host/limits.ts";
import type { Wine } from "../programs/wine.ts";
import type { CheckContext, RehearsalCheck } from "./context.ts";
import { oneLine, onMachine, type Subject, writeDrive } from "./windowsSubject.ts";

/** kubectl.exe drains a node, as the machine's scripts do before it ends. */
export function windowsDrainCheck(wine: Promise<Wine | string>, cluster: Cluster): RehearsalCheck {
  return onMachine(wine, cluster, {
    name: "kubectl.exe",
    title: "kubectl.exe drains the node with the kubelet's own certificate",
    run: kubectl,
  });
}

/** What drain.ps1 does: cordon, its own pods, one eviction, and what is left at the deadline. */
async function kubectl(subject: Subject, context: CheckContext): Promise<void> {
  const { api, kubectl: asAdministrator, namespace, pools, waitingImage, signal, note } = context;
  const { machine, settings, programs } = subject;
  const { name: node } = machine;
  await machine.install(settings.programs.kubectl, programs.kubectl);
  const run = async (...args: readonly string[]): Promise<string> => {
    const argv = [settings.programs.kubectl, "--kubeconfig", settings.paths.kubeconfig, "--request-timeout", "10s", ...args];
    const { code, stdout, stderr } = await retryWhileUnavailable(() => machine.run(argv), hasAnswer);
    expect(code === 0, `kubectl.exe ${args.slice(0, 2).join(" ")} ended with exit code ${code}: ${oneLine(stderr)}`);
    return stdout.replaceAll("\r", "");
  };
  const pool = (await api.core.readNode({ name: node })).metadata?.labels?.["fenestra.dev/pool"];
  const runtimeClassName = pools.find(({ name }) => name === pool)?.runtimeClass ?? "";
  const names = ["drain-evicted", "drain-deleted"];
  try {
    for (const name of names)
      await api.core.createNamespacedPod({
        namespace,
        body: checkPod(name, {
          os: { name: "windows" },
          runtimeClassName,
          nodeSelector: { "kubernetes.io/hostname": node },
          containers: [waitingContainer(waitingImage)],
        }),
      });
    await run("cordon", node);
    expectEqual((await api.core.readNode({ name: node })).spec?.unschedulable, true, `unschedulable of ${node}`);
    const columns = await run(
      ...["get", "pods", "--all-namespaces", "--field-selector", `spec.nodeName=${node}`, "--no-headers"],
      ...["-o", `custom-columns=${settings.drain.columns}`],
    );
    const found = columns
      .trim()
      .split("\n")
      .map((line) => line.trim().split(/\s+/));
    const wanted = (await api.core.listPodForAllNamespaces({ fieldSelector: `spec.nodeName=${node}` })).items;
    expectEqual(
      found.map(([space, name, , owners]) => [space, name, owners]),
      wanted.map(({ metadata }) => [
        metadata?.namespace,
        metadata?.name,
        metadata?.ownerReferences?.map(({ kind }) => kind).join(",") ?? "<none>",
      ]),
      "namespace, name and owners of the node's pods, in the columns that the script reads",
    );
    const [evicted = "", deleted = ""] = names;
    const file = `${settings.paths.state}/eviction.json`;
    const eviction = { apiVersion: "policy/v1", kind: "Eviction", metadata: { name: evicted, namespace } };
    await writeDrive(machine, file, JSON.stringify(eviction));
    await run("create", "--raw", `/api/v1/namespaces/${namespace}/pods/${evicted}/eviction`, "-f", file);
    await run("delete", "pod", deleted, "--namespace", namespace, "--wait=false");
    const left = async (): Promise<void> => {
      const present = (await api.core.listNamespacedPod({ namespace })).items.map(({ metadata }) => metadata?.name ?? "");
      if (names.some((name) => present.includes(name))) throw new NotYet(`${present.join(", ")} are there`);
    };
    await until("both pods to be gone", { signal, limitMs: limitsMs.answer, intervalMs: 200 }, left);
    note(`${found.length} pods on ${node}`);
  } finally {
    await asAdministrator(["uncordon", node]);
  }
}
