import type { ClusterSpec } from "../../model/clusterSpec.ts";
import { type WindowsFacts, windowsReleases } from "../../model/operatingSystems.ts";
import { buildLabel, poolLabel } from "../../model/pools.ts";
import { runtimeClassFacts } from "../runtimeClasses.ts";
import { imageReleases, releasesExpression } from "./imageReleases.ts";
import { type Blanks, sharedCel } from "./policies.ts";

/** What decides which pods are meant for Windows. */
export type Placing = Pick<ClusterSpec, "pools" | "windows">;

/** Labels of a node that its pool decides. */
type Labels = Readonly<Record<string, string>>;

/** The system of a node, and the older name of that label. */
const osLabels = ["kubernetes.io/os", "beta.kubernetes.io/os"] as const;
const os = (name: "linux" | "windows"): Labels => Object.fromEntries(osLabels.map((label) => [label, name]));

/**
 * By the architecture alone nobody has meant Windows: where Linux nodes have another one, an image for Linux would land
 * there. What a cloud or a person adds to a Node is not known, so any node may have it.
 */
const undecided = ["kubernetes.io/arch", "beta.kubernetes.io/arch"];

/** The nodes of a cluster as its stack file describes them: one of each pool, and one of the control plane. */
function knownNodes({ pools }: Placing): { readonly linux: readonly Labels[]; readonly windows: readonly Labels[] } {
  const of = (system: "linux" | "windows"): readonly Labels[] => {
    const nodes = pools
      .filter((pool) => pool.os === system)
      .map(({ scheduling: { ownLabels, kubeletLabels } }) =>
        Object.fromEntries(
          Object.entries({ ...ownLabels, ...kubeletLabels, ...os(system) }).filter(([key]) => !undecided.includes(key)),
        ),
      );
    return [...new Map(nodes.map((node) => [JSON.stringify(node), node])).values()];
  };
  return { linux: [os("linux"), ...of("linux")], windows: of("windows") };
}

type Values = Readonly<Record<string, readonly string[]>>;

/** Keys and the values of them that some node has. */
function knownValues(nodes: readonly Labels[]): Values {
  const keys = new Set(nodes.flatMap((node) => Object.keys(node)));
  return Object.fromEntries([...keys].map((key) => [key, [...new Set(nodes.flatMap((node) => node[key] ?? []))]]));
}

/**
 * CEL: one of these nodes may fit the pod.
 *
 * @param nodes CEL, or the nodes
 * @param strange name of the CEL for keys that any node may have
 * @param open name of the CEL for keys of which not all values are known
 */
function fits(
  nodes: string | readonly Labels[],
  known: Values,
  strange: "unknown" | "unknownAndNoPools" = "unknown",
  open: "openKey" | "closedKey" = "openKey",
): string {
  if (nodes.length === 0) return "false";
  return (sharedCel.fits ?? "")
    .replace("NODES", typeof nodes === "string" ? nodes : JSON.stringify(nodes))
    .replace("KNOWN", JSON.stringify(known))
    .replaceAll("STRANGE", strange)
    .replaceAll("OPEN", open);
}

/** Releases whose images a node of this one runs in process isolation. */
const runs = ({ name, runsImagesOf }: WindowsFacts): readonly string[] => [name, ...runsImagesOf];

/**
 * The RuntimeClass for images of a release in a cluster with these builds, oldest first; empty when no node can run
 * them.
 */
export function classForImages({ name }: Pick<WindowsFacts, "name">, builds: readonly WindowsFacts[]): string {
  return builds.find((build) => runs(build).includes(name))?.name ?? "";
}

/** What is not asked where no node runs Windows. */
const withoutWindows: Blanks["cel"] = {
  ...Object.fromEntries(
    ["hostProcess", "isPlaced", "meansContainers", "places", "prefers", "unauthorized", "unplaceable", "unplaced", "unsaid"]
      .map((name) => [name, "false"]), // biome-ignore format: one line
  ),
  placeWindows: "[]",
};

/** What policies have to know of a cluster's nodes. */
export function placing(spec: Placing): Blanks {
  const nodes = knownNodes(spec);
  const known = knownValues([...nodes.linux, ...nodes.windows]);
  const ofBuild = Object.fromEntries(
    spec.windows.map(({ name, build }) => [name, nodes.windows.filter((labels) => labels[buildLabel] === build)]),
  );
  const names = spec.windows.map(({ name }) => name);
  const classes = runtimeClassFacts(spec);
  return {
    cel: {
      ...sharedCel,
      releases: releasesExpression,
      fitsLinux: fits(nodes.linux, known),
      fitsWindows: fits(nodes.windows, known),
      fitsBuild: fits(`${JSON.stringify(ofBuild)}[b]`, known),
      // What no pool is known to have no node has.
      fitsLinuxStrictly: fits(nodes.linux, known, "unknownAndNoPools", "closedKey"),
      fitsWindowsStrictly: fits(nodes.windows, known, "unknownAndNoPools", "closedKey"),
      // Kubelets of the control plane tell the system and no pool from their registration on, so this holds before
      // kubeadm has labelled a machine, too.
      fitsControlPlane: fits(
        [os("linux")],
        Object.fromEntries([...osLabels, poolLabel].map((label) => [label, []])),
        "unknown",
        "closedKey",
      ),
      ...(names.length > 0 ? {} : withoutWindows),
    },
    values: {
      windows: names.length > 0,
      windowsNames: names,
      releaseNames: names.join(", "),
      numbers: spec.windows.map(({ name, build }) => `${build} for ${name}`).join(", "),
      newerBuilds: spec.windows.slice(1).map(({ build }) => build),
      runs: Object.fromEntries(spec.windows.map((build) => [build.name, runs(build)])),
      classes: classes.map(({ name }) => name),
      keysOfClasses: [...new Set(classes.flatMap(({ nodeSelector }) => Object.keys(nodeSelector)))],
      buildOfRelease: Object.fromEntries(imageReleases.map(({ name, build }) => [name, build])),
      years: windowsReleases.map(({ imageTag }) => imageTag.replace("ltsc20", "")).join("|"),
    },
  };
}
