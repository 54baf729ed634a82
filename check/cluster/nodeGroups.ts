import { type WindowsFacts, windowsReleases } from "../../components/model/operatingSystems.ts";
import type { NodeFacts } from "./nodes.ts";

/** Workers of one system and build, or the control plane. */
export interface NodeGroup {
  /** `linux`, `windows-2022`, an unknown release's build, or `control-plane`. */
  readonly id: string;
  readonly os: "linux" | "windows";
  readonly release: WindowsFacts | undefined;
  /** Cordoned ones last, then by name. */
  readonly nodes: readonly NodeFacts[];
  /** At least one node is simulated: nothing can be said of packets and containers. */
  readonly simulated: boolean;
}

const releases: ReadonlyMap<string, WindowsFacts> = new Map(
  windowsReleases.map((release): [string, WindowsFacts] => [release.build, release]),
);

/** The workers in groups: Linux first, then Windows, oldest build first. */
export function nodeGroups(nodes: readonly NodeFacts[]): readonly NodeGroup[] {
  const workers = nodes.filter(({ controlPlane }) => !controlPlane);
  return [...Map.groupBy(workers, groupId)]
    .map(([id, members]) => groupOf(id, id === "linux" ? "linux" : "windows", members))
    .toSorted((a, b) => (a.id < b.id ? -1 : 1));
}

export const controlPlaneId = "control-plane";

/** The control plane, from which is asked and to which no other pod is sent; managed clusters show none. */
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
