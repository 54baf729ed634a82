import { X509Certificate } from "node:crypto";
import { setTimeout } from "node:timers/promises";
import { parseArgs } from "node:util";
import type { V1Node } from "@kubernetes/client-node";
import { ifFound } from "../checks/cluster/api.ts";
import { controlPlaneKey } from "../checks/facts.ts";
import { machinesPage, pageLines } from "../components/gates/machinesPage.ts";
import { messageOf } from "../components/gates/messageOf.ts";
import type { ClusterApi } from "../verify/api.ts";
import { snapshotPage } from "../verify/checks/snapshots.ts";
import { type Command, exitCodes, UsageError } from "./exit.ts";
import { clusterOf } from "./kubeconfig.ts";

const help = `Usage: fenestra status --kubeconfig FILE [--watch]

Shows how a running cluster is, and changes nothing: the machines of the control plane with their releases and last snapshots, what the node
controller says of each pool (who joins, leaves, is sick or held, how a roll goes and why it stopped), and when certificates end.

  --kubeconfig FILE  a kubeconfig that may read Nodes and the ConfigMaps of kube-system; its current context is used
  --watch            show it again when something has changed, until Ctrl-C

Exit code: 0 it was shown, 1 the cluster does not answer, 2 a mistake in the command line.
`;

/** Milliseconds between two looks. */
const pause = 5_000;

/** `fenestra status`. */
export const statusCommand: Command = {
  summary: "Show the machines of a running cluster",
  help,
  run: async (args, terminal) => {
    const options = { kubeconfig: { type: "string" }, watch: { type: "boolean", default: false } } as const;
    const { kubeconfig, watch } = parseArgs({ args: [...args], options }).values;
    if (kubeconfig === undefined) throw new UsageError("status needs --kubeconfig FILE");
    const api = clusterOf(kubeconfig);
    for (let shown = ""; ; await setTimeout(pause)) {
      const { text, failed } = await look(api);
      if (failed && !watch) {
        terminal.err(`fenestra: ${text}\n`);
        return exitCodes.findings;
      }
      if (text !== shown) terminal.out(watch ? `--- ${new Date().toISOString()}\n${text}\n` : `${text}\n`);
      if (!watch) return exitCodes.fine;
      shown = text;
    }
  },
};

async function look(api: ClusterApi): Promise<{ readonly text: string; readonly failed: boolean }> {
  try {
    const [nodes, page, snapshots] = await Promise.all([
      api.core.listNode({ labelSelector: controlPlaneKey }),
      ifFound(api.core.readNamespacedConfigMap(machinesPage)),
      ifFound(api.core.readNamespacedConfigMap(snapshotPage)),
    ]);
    const certificates = {
      "this kubeconfig": api.config.getCurrentUser()?.certData,
      "the cluster": api.config.getCurrentCluster()?.caData,
    };
    const facts = { controlPlane: nodes.items, page: page?.data?.status ?? "", snapshots: snapshots?.data ?? {}, certificates };
    return { text: statusText(facts, new Date()), failed: false };
  } catch (error) {
    return { text: `the API server ${api.server} does not answer as it should: ${messageOf(error)}`, failed: true };
  }
}

export interface StatusFacts {
  readonly controlPlane: readonly V1Node[];
  readonly page: string;
  readonly snapshots: Readonly<Record<string, string>>;
  /** Whose certificate to PEM, base64. */
  readonly certificates: Readonly<Record<string, string | undefined>>;
}

/** The text of a status. Pure. */
export function statusText({ controlPlane, page, snapshots, certificates }: StatusFacts, now: Date): string {
  const machines = controlPlane.map(({ metadata, status }) => {
    const name = metadata?.name ?? "";
    const ready = status?.conditions?.some((condition) => condition.type === "Ready" && condition.status === "True") === true;
    return `${name}: ${status?.nodeInfo?.kubeletVersion ?? ""}, ${ready ? "Ready" : "not Ready"}, last snapshot ${snapshots[name] ?? "none"}`;
  });
  const ends = Object.entries(certificates).flatMap(([whose, base64]) =>
    base64 === undefined
      ? []
      : [`certificate of ${whose}: until ${new X509Certificate(Buffer.from(base64, "base64")).validToDate.toISOString()}`],
  );
  return [...machines, ...pageLines(page, now.getTime() / 1000), ...ends].join("\n");
}
