import type { V1Lease, V1Node, V1Pod } from "@kubernetes/client-node";
import { machinesPage, pageProblems } from "../../components/gates/machinesPage.ts";
import { NotYet, until } from "../check.ts";
import { controlPlaneKey } from "../facts.ts";
import { ifFound } from "./clusterApi.ts";
import { type NodeFacts, type NodeGroup, nodeGroups, nodesOf } from "./nodes.ts";
import type { VerifyCheck } from "./probePods.ts";

/** Machines that should be there by the stack's record; NaN without one. */
export interface WantedMachines {
  readonly members: number;
  readonly pools: readonly string[];
}

/**
 * The Nodes do not say how many should be there. Pure.
 *
 * @param members control-plane Nodes @param now epoch seconds, by the cluster's clock
 */
export function machineProblems(page: string, members: number, wanted: WantedMachines, now: number): readonly string[] {
  return [
    ...(members === wanted.members
      ? []
      : [`${members} control-plane Nodes, wanted ${wanted.members || "what no record says: run pulumi up"}`]),
    ...pageProblems(page, wanted.pools, now),
  ];
}

export const machinesTitle =
  "every machine that the stack and the cloud are to have is Ready, a node controller does its duties, and nothing waits";

/** All machines are there, by the node controller's page. */
export function machinesCheck(members: number, wanted: WantedMachines): VerifyCheck {
  return {
    id: "machines",
    title: machinesTitle,
    run: async ({ api, signal }) =>
      await until(
        "all machines",
        { signal, intervalMs: 5_000, lookAt: "fenestra status; docs/operations/incidents.md" },
        async () => {
          const page = await ifFound(api.core.readNamespacedConfigMap(machinesPage));
          const problems = machineProblems(page?.data?.status ?? "", members, wanted, api.now().getTime() / 1000);
          if (problems.length > 0) throw new NotYet(problems.join("; "));
        },
      ),
  };
}

/** Seconds by which a clock may be off: a lease waits no longer for its API server. */
const mostOff = 30;

/** When the API server last noted a change of a lease, in epoch milliseconds. */
const noted = ({ metadata }: V1Lease): number =>
  Math.max(...(metadata?.managedFields ?? []).map(({ time }) => +(time ?? Number.NaN)));

/** When a kubelet counts as silent; its Node loses Ready after 50 seconds. */
const silentMs = 120_000;

/** Kubelets that are silent although their Nodes say Ready: nobody is left to say otherwise. Pure. */
export function silentKubelets(nodes: readonly V1Node[], leases: readonly V1Lease[], now: Date): readonly string[] {
  const at = new Map(leases.map((lease) => [lease.metadata?.name, noted(lease)]));
  const names = nodesOf(nodes)
    .filter(({ name, ready, simulated }) => ready && !simulated && !(+now - (at.get(name) ?? Number.NaN) < silentMs))
    .map(({ name }) => name);
  const shown = `${names.slice(0, 10).join(", ")}${names.length > 10 ? ` and ${names.length - 10} more` : ""}`;
  return names.length === 0 ? [] : [`Ready, but their leases have not been renewed for 2 minutes: ${shown}`];
}

/**
 * Several releases in the control plane, or kubelets newer or more than three minors older (kubernetes.io: "Version
 * Skew Policy"). Pure.
 */
export function releaseProblems(nodes: readonly V1Node[]): readonly string[] {
  const releaseOf = ({ status }: V1Node): string => status?.nodeInfo?.kubeletVersion ?? "";
  const minorOf = (node: V1Node): number => Number(/^v1\.(\d+)\./.exec(releaseOf(node))?.[1] ?? Number.NaN);
  const members = nodes.filter(({ metadata }) => metadata?.labels?.[controlPlaneKey] !== undefined);
  const releases = [...new Set(members.map(releaseOf))].toSorted().join(" and ");
  const [own = Number.NaN] = members.map(minorOf);
  const fits = (minor: number): boolean => minor <= own && minor >= own - 3;
  if (releases.includes(" ")) return [`its machines are of ${releases}: an update has not come to its end`];
  return nodes
    .filter((node) => members.length > 0 && !fits(minorOf(node)))
    .map(
      (node) =>
        `node ${node.metadata?.name}: its kubelet is ${releaseOf(node) || "of no release"}, which does not go with ${releases}`,
    );
}

/**
 * A kubelet renews its lease by its own clock, and the API server notes by its own when that came (kubernetes:
 * staging/src/k8s.io/apimachinery/pkg/util/managedfields). Pure.
 */
export function clockProblems(leases: readonly V1Lease[]): readonly string[] {
  return leases.flatMap((lease) => {
    const { metadata, spec } = lease;
    const off = Math.round((+(spec?.renewTime ?? Number.NaN) - noted(lease)) / 1000);
    return Number.isFinite(off) && Math.abs(off) > mostOff
      ? [`node ${metadata?.name}: its clock is ${Math.abs(off)} s ${off > 0 ? "ahead of" : "behind"} the API server's`]
      : [];
  });
}

/** Certificates, tokens and signed calls fail where clocks differ. */
export const clocksCheck: VerifyCheck = {
  id: "clocks",
  title: "the kubelet of every node renews its lease, by a clock that agrees with the API server's",
  run: async ({ api, signal, note }) => {
    const lookAt = "chronyc tracking; w32tm /query /status; docs/operations/debugging.md";
    const count = await until("the clocks", { signal, intervalMs: 10_000, lookAt }, async () => {
      const [{ items: leases }, { items: nodes }] = await Promise.all([
        api.coordination.listNamespacedLease({ namespace: "kube-node-lease" }),
        api.core.listNode(),
      ]);
      const problems = [...clockProblems(leases), ...silentKubelets(nodes, leases, api.now())];
      if (problems.length > 0) throw new NotYet(problems.join("; "));
      return nodes.length;
    });
    note(`${count} nodes`);
  },
};

/** 0xc0370106 */
const newerImage = 3_224_830_214;

const versionOf = (words: string): readonly [build: string, update: number] | undefined => {
  const [, build, update] = /(?:^|[^\d.])(10\.0\.\d{5})\.(\d+)(?![\d.])/.exec(words) ?? [];
  return build === undefined ? undefined : [build, Number(update)];
};

/** Pods whose images are newer than their node, by a tag with the update or by the code of an end. Pure. */
export function newerImages(
  nodes: readonly Pick<NodeFacts, "name" | "update">[],
  pods: readonly V1Pod[],
): readonly string[] {
  return pods.flatMap(({ metadata, spec, status }) => {
    const node = nodes.find(({ name }) => name === spec?.nodeName);
    const own = versionOf(node?.update ?? "");
    if (node === undefined || own === undefined) return [];
    return [...(spec?.initContainers ?? []), ...(spec?.containers ?? [])].flatMap(({ name, image = "" }) => {
      const wanted = versionOf(image);
      const state = [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])].find(
        (each) => each.name === name,
      );
      const ends = [state?.state?.terminated, state?.lastState?.terminated].some((end) => end?.exitCode === newerImage);
      const later = wanted?.[0] === own[0] && wanted[1] > own[1];
      return ends || later
        ? [
            `pod ${metadata?.namespace}/${metadata?.name}: ${image} is newer than its node ${node.name} with ${node.update}${ends ? ", and ends with 0xc0370106" : ""}: roll the pool to an image of this month first`,
          ]
        : [];
    });
  });
}

export function updatesCheck(group: NodeGroup): VerifyCheck {
  return {
    id: `updates/${group.id}`,
    title: `no image of a pod on ${group.id} is of a later month than its node`,
    run: async ({ api, signal, note }) => {
      const options = {
        signal,
        limitMs: 60_000,
        intervalMs: 5_000,
        lookAt: 'docs/operations/updates.md, "The month of Windows images"',
      };
      await until("images and updates", options, async () => {
        const nodes = nodeGroups(nodesOf((await api.core.listNode()).items)).find(({ id }) => id === group.id);
        const problems = newerImages(nodes?.nodes ?? [], (await api.core.listPodForAllNamespaces()).items);
        if (problems.length > 0) throw new NotYet(problems.join("\n"));
        const months = Map.groupBy(nodes?.nodes ?? [], ({ update }) => update ?? "no update");
        note([...months].map(([update, { length }]) => `${length} with ${update}`).join(", "));
      });
    },
  };
}
