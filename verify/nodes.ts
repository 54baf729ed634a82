import type { NodeFacts } from "../checks/cluster/nodes.ts";
import { type WindowsFacts, windowsReleases } from "../components/model/operatingSystems.ts";

/** Nodes that are alike for the checks: workers of one system and build, or the control plane. */
export interface NodeGroup {
  /** `linux`, `windows-2022`, the build of a release that is not known, or `control-plane`. */
  readonly id: string;
  readonly os: "linux" | "windows";
  /** The Windows release; `undefined` for Linux and for builds that are not known. */
  readonly release: WindowsFacts | undefined;
  /** Not cordoned first, then by name. */
  readonly nodes: readonly NodeFacts[];
  /** At least one of the nodes is simulated, so that nothing can be said of packets and containers. */
  readonly simulated: boolean;
}

/** The Windows releases that Fenestra knows, by build. */
const releases: ReadonlyMap<string, WindowsFacts> = new Map(
  windowsReleases.map((release): [string, WindowsFacts] => [release.build, release]),
);

/** The workers by system and Windows build: Linux first, then the builds, oldest first. */
export function nodeGroups(nodes: readonly NodeFacts[]): readonly NodeGroup[] {
  const workers = nodes.filter(({ controlPlane }) => !controlPlane);
  return [...Map.groupBy(workers, groupId)]
    .map(([id, members]) => groupOf(id, id === "linux" ? "linux" : "windows", members))
    .toSorted((a, b) => (a.id < b.id ? -1 : 1));
}

export const controlPlaneId = "control-plane";

/**
 * The control plane, from which is asked and to which no other pod is sent. `undefined` for a cluster that shows none,
 * as managed ones do.
 */
export function controlPlaneGroup(nodes: readonly NodeFacts[]): NodeGroup | undefined {
  const members = nodes.filter(({ controlPlane }) => controlPlane);
  return members.length === 0 ? undefined : groupOf(controlPlaneId, "linux", members);
}

function groupOf(id: string, os: NodeGroup["os"], members: readonly NodeFacts[]): NodeGroup {
  return {
    id,
    os,
    release: releases.get(members[0]?.build ?? ""),
    nodes: members.toSorted(
      (a, b) => Number(a.cordoned) - Number(b.cordoned) || (a.name < b.name ? -1 : a.name > b.name ? 1 : 0),
    ),
    simulated: members.some(({ simulated }) => simulated),
  };
}

function groupId({ os, build }: NodeFacts): string {
  if (os !== "windows") return "linux";
  return releases.get(build ?? "")?.name ?? `windows-${build ?? "unknown"}`;
}
