import type { V1Node, V1Pod } from "@kubernetes/client-node";
import { expect, expectEqual } from "../../check/check.ts";
import { admittedWindowsPod, placementPolicy } from "../../check/cluster/placement.ts";
import { controlPlaneKey, windowsBuilds } from "../../check/facts.ts";
import { cidr, overlaps } from "../../components/model/cidr.ts";
import { staysShut } from "../cluster/hooks.ts";
import { waitFor } from "../host/processes.ts";
import { podNetworkDaemonSets } from "../programs/podNetworks.ts";
import type { ExpectedPool, RehearsalCheck } from "./context.ts";

/** The nodes that a DaemonSet is meant for. */
type Place = "linux" | "linux workers" | "windows" | "windows but 2019" | "control plane";

/** Every DaemonSet that may be there, written out: a check must not learn it from the program's selectors. */
const places: Readonly<Record<string, Place>> = {
  ...podNetworkDaemonSets,
  "kube-system/kube-proxy": "linux",
  "kube-system/kube-network-policies": "linux",
  "kube-system/kube-proxy-windows": "windows",
  "kube-system/cloud-controller-manager": "control plane",
  "kube-system/cloud-node-manager": "linux",
  "kube-system/cloud-node-manager-windows": "windows",
  "kube-system/ebs-csi-node": "linux workers",
  "kube-system/ebs-csi-node-windows": "windows",
  "kube-system/csi-azuredisk-node": "linux workers",
  "kube-system/csi-azuredisk-node-windows": "windows",
  "kube-system/csi-smb-node": "linux workers",
  "kube-system/csi-smb-node-windows": "windows",
  "fenestra-monitoring/node-exporter": "linux",
  "fenestra-monitoring/windows-exporter": "windows",
  "fenestra-monitoring/node-problem-detector": "linux",
  "fenestra-monitoring/node-problem-detector-windows": "windows but 2019",
  "fenestra-monitoring/log-collector": "linux workers",
  "fenestra-monitoring/log-collector-control-plane": "control plane",
  "fenestra-monitoring/log-collector-windows": "windows",
  "fenestra-samples-host/host-process": "windows",
};

/** Names of the nodes of a place; `linux` includes the control plane. Pure. */
function nodesOf(place: Place, nodes: readonly V1Node[]): readonly string[] {
  const isMeant = ({ metadata }: V1Node): boolean => {
    const labels = metadata?.labels ?? {};
    const controls = controlPlaneKey in labels;
    if (place === "control plane") return controls;
    if (place === "windows but 2019" && labels["node.kubernetes.io/windows-build"] === "10.0.17763") return false;
    return labels["kubernetes.io/os"] === place.split(" ")[0] && !(place === "linux workers" && controls);
  };
  return nodes
    .filter(isMeant)
    .map(({ metadata }) => metadata?.name ?? "")
    .toSorted();
}

/** The DaemonSets that have other nodes than they are meant for, in words. Pure. */
function daemonSetProblems(
  daemonSets: readonly string[],
  pods: readonly V1Pod[],
  nodes: readonly V1Node[],
): readonly string[] {
  return daemonSets.flatMap((daemonSet) => {
    const place = places[daemonSet];
    if (place === undefined) return [`DaemonSet ${daemonSet}: this check does not know its nodes`];
    const [namespace, name] = daemonSet.split("/");
    const own = pods.filter(
      ({ metadata }) =>
        metadata?.namespace === namespace &&
        metadata?.ownerReferences?.some((owner) => owner.kind === "DaemonSet" && owner.name === name),
    );
    const found = own.map(({ spec }) => spec?.nodeName ?? "none").toSorted();
    const wanted = nodesOf(place, nodes);
    return JSON.stringify(found) === JSON.stringify(wanted)
      ? []
      : [`DaemonSet ${daemonSet} has pods on ${found.join(", ") || "no node"}; wanted ${wanted.join(", ") || "none"}`];
  });
}

export const daemonSetNodes: RehearsalCheck = {
  id: "daemon sets",
  title: "every DaemonSet has one pod on each node that it is meant for, and none elsewhere",
  run: async ({ api, note }) => {
    let problems: readonly string[] = [];
    let count = 0;
    const look = async (): Promise<boolean> => {
      const [daemonSets, pods, nodes] = await Promise.all([
        api.apps.listDaemonSetForAllNamespaces(),
        api.core.listPodForAllNamespaces(),
        api.core.listNode(),
      ]);
      const names = daemonSets.items.map(({ metadata }) => `${metadata?.namespace}/${metadata?.name}`);
      count = names.length;
      problems = daemonSetProblems(names, pods.items, nodes.items);
      return count > 0 && problems.length === 0;
    };
    await waitFor("all DaemonSets", 60_000, look).catch(() =>
      expect(false, problems.join("\n") || "there are no DaemonSets"),
    );
    note(`${count} DaemonSets`);
  },
};

/**
 * A machine must not take all name servers with it. A control plane of one machine starts them before there is another.
 */
export const nameServers: RehearsalCheck = {
  id: "name servers",
  title: "of several control-plane machines no two pods of CoreDNS share one",
  run: async ({ api, note }) => {
    const { items } = await api.core.listNamespacedPod({ namespace: "kube-system", labelSelector: "k8s-app=kube-dns" });
    const nodes = items.map(({ spec }) => spec?.nodeName ?? "none");
    const machines = nodesOf("control plane", (await api.core.listNode()).items).length;
    expect(
      items.length >= 2 && new Set(nodes).size >= Math.min(items.length, machines),
      `CoreDNS is on ${nodes.join(", ")}`,
    );
    note(nodes.join(", "));
  },
};

/** What the scheduler or the kubelet says of a pod that neither runs nor has ended well. Pure. */
function podTrouble({ metadata, spec, status }: V1Pod): string | undefined {
  if (status?.phase === "Running" || status?.phase === "Succeeded") return undefined;
  const scheduled = status?.conditions?.find(({ type }) => type === "PodScheduled");
  const why = scheduled?.status === "False" ? `: ${scheduled.message}` : spec?.nodeName ? ` on ${spec.nodeName}` : "";
  return `${metadata?.namespace}/${metadata?.name} is ${status?.phase ?? "not begun"}${why}`;
}

/**
 * No pod waits for a node, but those for a Windows build whose pools have no node now.
 *
 * @param pools as the stack file asks for them
 */
export function noPodPending(pools: readonly ExpectedPool[]): RehearsalCheck {
  const served = new Set(pools.filter(({ count }) => count > 0).map(({ runtimeClass }) => runtimeClass));
  const absent = new Set(pools.map(({ runtimeClass }) => runtimeClass).filter((name) => !served.has(name)));
  return {
    id: "pods",
    title: "every pod runs; none is Pending but those for a build whose pools have no node",
    run: async ({ api, note }) => {
      let trouble: readonly string[] = [];
      let [all, waiting] = [0, 0];
      const look = async (): Promise<boolean> => {
        const { items } = await api.core.listPodForAllNamespaces();
        const isExpected = ({ spec, status }: V1Pod): boolean =>
          spec?.runtimeClassName !== undefined && absent.has(spec.runtimeClassName) && status?.phase === "Pending";
        all = items.length;
        waiting = items.filter(isExpected).length;
        trouble = items.filter((each) => !isExpected(each)).flatMap((each) => podTrouble(each) ?? []);
        return all > 0 && trouble.length === 0;
      };
      await waitFor("all pods to run", 60_000, look).catch(() =>
        expect(false, trouble.join("\n") || "there are no pods"),
      );
      note(`${all} pods${waiting > 0 ? `, of which ${waiting} wait for a node of ${[...absent].join(", ")}` : ""}`);
    },
  };
}

/** A pool's gate is shut while a node says that its machine was made from something else. */
export function poolGateCheck(gate: string, pool: string): RehearsalCheck {
  return {
    id: "pool gate",
    slow: true,
    title: "an update does not end while a machine of a pool was made from an older payload",
    run: async ({ api, kubectl, passGate }) => {
      const { items } = await api.core.listNode({ labelSelector: `fenestra.dev/pool=${pool}` });
      const { name = "", labels = {} } = items[0]?.metadata ?? {};
      const label = async (payload: string | undefined): Promise<void> => {
        const { code, stderr } = await kubectl([
          "label",
          "--overwrite",
          "node",
          name,
          `fenestra.dev/payload=${payload}`,
        ]);
        expectEqual(code, 0, `exit code of kubectl label (${stderr.trim()})`);
      };
      await label("older");
      try {
        const passing = passGate(gate);
        const shut = await staysShut(passing, new RegExp(`/nodes\\?labelSelector=fenestra.dev%2Fpool%3D${pool}$`), 1);
        expect(shut, `the gate is open although ${name} was made from another payload`);
        await label(labels["fenestra.dev/payload"]);
        await passing;
      } finally {
        await label(labels["fenestra.dev/payload"]);
      }
    },
  };
}

/**
 * The gate behind the policy is open when every API server enforces it: its binding is taken away and made again under
 * the eyes of the program's own hook.
 */
export function policyGateCheck(gate: string, runtimeClass: string, apiServers: number): RehearsalCheck {
  return {
    id: "policy gate",
    slow: true,
    title: "what needs the policy on RuntimeClasses is held back until every API server enforces it",
    run: async (context) => {
      const { kubectl, passGate, note } = context;
      const given = async () => (await admittedWindowsPod(context, `ltsc${runtimeClass.slice(-4)}`))?.runtimeClassName;
      const kind = "mutatingadmissionpolicybinding";
      const { stdout } = await kubectl(["get", kind, placementPolicy, "--output=json"]);
      const { apiVersion, kind: kindName, spec } = JSON.parse(stdout);
      const restore = async (): Promise<void> => {
        const { code, stderr } = await kubectl(
          ["apply", "--server-side", "--field-manager=fenestra", "--filename=-"],
          JSON.stringify({ apiVersion, kind: kindName, metadata: { name: placementPolicy }, spec }),
        );
        expectEqual(code, 0, `exit code of making the binding again (${stderr.trim()})`);
      };
      await kubectl(["delete", kind, placementPolicy]);
      try {
        // Several in a row, since behind the load balancer each API server learns of it by itself.
        let row = 0;
        await waitFor(
          "the policy to be out of force",
          30_000,
          async () => {
            row = (await given()) === undefined ? row + 1 : 0;
            return row >= 6;
          },
          100,
        );
        const passing = passGate(gate);
        // A contented gate would ask for a pod of each build and one of none, with several API servers in eight rounds.
        const answers = (Object.keys(windowsBuilds).length + 1) * (apiServers > 1 ? 8 : 1);
        const shut = await staysShut(passing, /^\/api\/v1\/namespaces\/default\/pods\?dryRun=All$/, answers);
        expect(shut, "the gate is open although the policy has no binding");
        const made = performance.now();
        await restore();
        await passing;
        note(`open ${((performance.now() - made) / 1000).toFixed(1)} s after the binding was made`);
        for (let asked = 0; asked < 12; asked += 1)
          expectEqual(await given(), runtimeClass, "RuntimeClass right behind the gate");
      } finally {
        await restore();
      }
    },
  };
}

export const objectsAccepted: RehearsalCheck = {
  id: "objects",
  title:
    "the API server accepts every object of the program with strict validation, and the program's own policies have nothing to say of them",
  run: async ({ refusedObjects, warnings }) => {
    expect(refusedObjects.length === 0, refusedObjects.join("\n"));
    const ours = warnings.filter((warning) => warning.includes("ValidatingAdmissionPolicy"));
    expect(ours.length === 0, ours.join("\n"));
  },
};

export function sampleCheck(
  pool: ExpectedPool & { readonly runtimeClass: string; readonly build: string },
): RehearsalCheck {
  return {
    id: `samples ${pool.runtimeClass}`,
    title: `the samples for ${pool.runtimeClass} run on Windows ${pool.build}`,
    run: async ({ api }) => {
      const pods = (
        await api.core.listPodForAllNamespaces({ labelSelector: "app.kubernetes.io/part-of=fenestra-samples" })
      ).items.filter(({ spec }) => spec?.runtimeClassName === pool.runtimeClass);
      expect(pods.length >= 2, `there are ${pods.length} pods of samples`);
      for (const { metadata, spec, status } of pods) {
        const ends = metadata?.ownerReferences?.some(({ kind }) => kind === "Job") === true;
        expect(
          status?.phase === "Running" || (ends && status?.phase === "Succeeded"),
          `phase of ${metadata?.name}: ${status?.phase}`,
        );
        const node = await api.core.readNode({ name: spec?.nodeName ?? "" });
        expectEqual(
          node.metadata?.labels?.["node.kubernetes.io/windows-build"],
          pool.build,
          `build of the node of ${metadata?.name}`,
        );
      }
    },
  };
}

/**
 * Each pod with a network of its own has an address of its node's own range or interface. Only pods of Linux nodes have
 * real addresses.
 */
export const podAddresses: RehearsalCheck = {
  id: "pod addresses",
  title: "pods of Linux nodes have addresses of their own node: of its range, or of its network interface",
  run: async ({ api, cloud, pools, note }) => {
    const nodes = new Map((await api.core.listNode()).items.map((node) => [node.metadata?.name ?? "", node]));
    const machines = new Map(cloud.machines.map((machine) => [cloud.identity(machine).nodeName, machine]));
    const onInterface = pools.some(({ podAddresses: place }) => place === "interface");
    const { items } = await api.core.listPodForAllNamespaces();
    const judged = items.filter(
      ({ spec, status }) =>
        spec?.hostNetwork !== true &&
        status?.podIP !== undefined &&
        status.phase === "Running" &&
        nodes.get(spec?.nodeName ?? "")?.metadata?.labels?.["kubernetes.io/os"] === "linux",
    );
    expect(judged.length > 0, "no pod has a network of its own");
    const own = (node: string, address: string): boolean =>
      onInterface
        ? (machines.get(node)?.secondaryIps ?? []).includes(address)
        : overlaps(cidr(nodes.get(node)?.spec?.podCIDR ?? "0.0.0.0/32"), cidr(`${address}/32`));
    const wrong = judged.filter(({ spec, status }) => !own(spec?.nodeName ?? "", status?.podIP ?? ""));
    expectEqual(
      wrong.map(({ metadata, spec, status }) => `${metadata?.name} on ${spec?.nodeName} has ${status?.podIP}`),
      [],
      "pods with other addresses",
    );
    const taken = judged.map(({ status }) => status?.podIP);
    expectEqual(new Set(taken).size, taken.length, "different addresses");
    const ranges = [...nodes.values()].filter(({ spec }) => spec?.podCIDR !== undefined).length;
    expectEqual(ranges, onInterface ? 0 : nodes.size, "nodes with a range of pods");
    note(`${judged.length} pods`);
  },
};
