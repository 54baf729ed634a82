import { setTimeout as sleep } from "node:timers/promises";
import type { V1Node } from "@kubernetes/client-node";
import type { ApiClients } from "../../checks/cluster/api.ts";
import { messageOf } from "../../components/gates/messageOf.ts";

const headings = ["NODE", "POOL", "SYSTEM", "READY", "ZONE", "ADDRESS", "KUBELET"] as const;

/** A cluster's nodes as lines, the control plane first, then by pool. */
export function nodeTable(nodes: readonly V1Node[]): readonly string[] {
  const rows = nodes
    .map(({ metadata, spec, status }) => {
      const labels = metadata?.labels ?? {};
      const ready = status?.conditions?.find(({ type }) => type === "Ready")?.status === "True";
      const system = [labels["kubernetes.io/os"] ?? "-", labels["node.kubernetes.io/windows-build"] ?? ""];
      return [
        metadata?.name ?? "",
        labels["fenestra.dev/pool"] ?? ("node-role.kubernetes.io/control-plane" in labels ? "control plane" : "-"),
        system.join(" ").trim(),
        `${ready ? "yes" : "no"}${spec?.unschedulable === true ? ", cordoned" : ""}`,
        labels["topology.kubernetes.io/zone"] ?? "-",
        status?.addresses?.find(({ type }) => type === "InternalIP")?.address ?? "-",
        status?.nodeInfo?.kubeletVersion ?? "-",
      ];
    })
    .toSorted(([nameA = "", a = ""], [nameB = "", b = ""]) => {
      const [left, right] = [`${Number(a !== "control plane")}${a} ${nameA}`, `${Number(b !== "control plane")}${b} ${nameB}`];
      return left < right ? -1 : 1;
    });
  const table = [headings, ...rows];
  const widths = headings.map((_, column) => Math.max(...table.map((row) => row[column]?.length ?? 0)));
  return table.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join("  ")
      .trimEnd(),
  );
}

/** Longest that the API server may take for the list, in milliseconds: a rehearsal may end with a broken cluster. */
const limitMs = 10_000;

/** The nodes at the end of a rehearsal, or why they cannot be listed. */
export async function nodesText({ core }: ApiClients): Promise<string> {
  const late = async (): Promise<never> => {
    await sleep(limitMs, undefined, { ref: false });
    throw new Error("the API server does not answer");
  };
  try {
    return nodeTable((await Promise.race([core.listNode(), late()])).items).join("\n");
  } catch (error) {
    return `the nodes cannot be listed: ${messageOf(error)}`;
  }
}
