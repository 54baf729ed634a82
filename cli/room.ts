import type { V1Node, V1Pod } from "@kubernetes/client-node";
import { nodeFacts } from "../check/cluster/nodes.ts";
import { poolLabel } from "../components/model/pools.ts";
import { roomInWords, roomOfNode } from "../components/model/room.ts";

/** The room on each pool's node with most processors left. */
export function roomLines(nodes: readonly V1Node[], pods: readonly V1Pod[]): readonly string[] {
  const running = pods.filter(({ status }) => status?.phase !== "Succeeded" && status?.phase !== "Failed");
  const on = Map.groupBy(running, ({ spec }) => spec?.nodeName);
  const open = nodes.filter((node) => nodeFacts(node).ready && node.spec?.unschedulable !== true);
  return [...Map.groupBy(open, ({ metadata }) => metadata?.labels?.[poolLabel])].flatMap(([pool, members]) => {
    const rooms = members.map((node) =>
      roomOfNode(
        node,
        (on.get(node.metadata?.name) ?? []).flatMap(({ spec }) => spec ?? []),
      ),
    );
    const [most] = rooms.toSorted((a, b) => b.cpu - a.cpu);
    return pool === undefined || most === undefined
      ? []
      : [
          `pool ${pool}: of ${rooms.length} nodes that take pods the one with most room has ${roomInWords(most)} left for pods`,
        ];
  });
}
