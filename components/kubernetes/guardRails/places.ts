import type { ClusterSpec } from "../../model/clusterSpec.ts";
import { type WindowsFacts, windowsReleases } from "../../model/operatingSystems.ts";
import { buildLabel, poolLabel, type RuntimeClassFacts, runtimeClass } from "../../model/pools.ts";
import type { AddOnEntry } from "../addOnEntry.ts";
import { type Blanks, fill, sharedCel } from "./ownNode.ts";

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
  const cel: Blanks["cel"] = {
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
  };
  const values = {
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
  };
  // Each may use those before it.
  const imageVariables = names.length > 0 ? ["images", "names", "releases", "class", "chosen", "able", "builds"] : [];
  const ofImages = (pod: string) =>
    imageVariables.map((name) => {
      const own = name === "names" ? 'variables.images.join("@")' : `(${fill(cel[name] ?? "", { cel, values }, pod)})`;
      return { name, expression: own };
    });
  return { cel, values: { ...values, ofImages: ofImages("variables.pod"), ofImagesHere: ofImages("object.spec") } };
}

const text = (value: string): string => JSON.stringify(value);

/** A release of Windows that images are made for, whether or not a pool can run it. */
interface ImageRelease {
  readonly name: string;
  readonly build: string;
  /** How tags say it by themselves. */
  readonly tags: readonly string[];
  /** How tags say it beside a word for Windows; alone they may be a date or a version. */
  readonly versions: readonly string[];
}

/** Releases without a pool (learn.microsoft.com: "Windows container version compatibility"). */
const others = [
  ["windows-2016", "14393", ["ltsc2016", "sac2016"], ["2016", "1607"]],
  ["1709", "16299", [], ["1709"]],
  ["1803", "17134", [], ["1803"]],
  ["1903", "18362", [], ["1903"]],
  ["1909", "18363", [], ["1909"]],
  ["2004", "19041", [], ["2004"]],
  ["20H2", "19042", ["20[Hh]2"], []],
  ["23H2", "25398", ["23[Hh]2"], []],
] as const;

/** Other names of releases with a pool. */
const halves: Readonly<Record<WindowsFacts["name"], readonly string[]>> = {
  "windows-2019": ["1809"],
  "windows-2022": ["21[Hh]2"],
  "windows-2025": ["24[Hh]2"],
};

/** Every release whose images are recognised. */
export const imageReleases: readonly ImageRelease[] = [
  ...windowsReleases.map(({ name, build, imageTag }) => {
    return { name, build, tags: [imageTag], versions: [name.replace("windows-", ""), ...halves[name]] };
  }),
  ...others.map(([name, build, tags, versions]) => ({ name, build: `10.0.${build}`, tags, versions })),
];

/**
 * Expression for an image whose tag names a release: `:ltsc2022`, `:windowsservercore-ltsc2022`, `:windows-2022-5.0.0`,
 * `:3-windows-ltsc-2022`, `:3.1-nanoserver-1809`, `:10.0.20348.2340`.
 */
export function tagPattern({ build, tags, versions }: Pick<ImageRelease, "build" | "tags" | "versions">): string {
  const own = [
    ...tags.map((tag) => tag.replace("ltsc", "ltsc-?")),
    `${build.replaceAll(".", "[.]")}([.][0-9]+)?`,
    ...versions.map((version) => `win(dows(server)?)?-?${version}`),
  ];
  const beside = versions.map((version) => `(servercore|nanoserver|microsoft[.]com/windows)([^@]*[:-])?${version}`);
  return `(${[`[:-](${own.join("|")})`, ...beside].join("|")})([-_@]|$)`;
}

/** One of these is in every text that the pattern finds: to look for them costs a tenth of it. */
export function tokensOf({ build, tags, versions }: ImageRelease): readonly string[] {
  const spelled = [...tags.map((tag) => tag.replace(/^[a-z]+/, "")), ...versions].flatMap((each) =>
    each.includes("[Hh]") ? ["H", "h"].map((letter) => each.replace("[Hh]", letter)) : [each],
  );
  return [...new Set([build.replace(/^.*[.]/, ""), ...spelled])];
}

/** CEL: names of those releases that the images in `variables.names` name, each once. */
function named(releases: readonly ImageRelease[]): string {
  const each = releases.map((release) => {
    const tokens = tokensOf(release).map((token) => `variables.names.contains(${text(token)})`);
    const matches = `variables.names.matches(${text(tagPattern(release))})`;
    return `(${tokens.join(" || ")}) && ${matches} ? ${text(release.name)} : ""`;
  });
  return `[${each.join(", ")}].filter(r, r != "")`;
}

const [withPools, without] = [
  imageReleases.slice(0, windowsReleases.length),
  imageReleases.slice(windowsReleases.length),
] as const;

/** CEL: names of all releases that they name. Of those without a pool, few images name one. */
const releasesExpression = `(${named(withPools)}) + (variables.names.matches(${text(
  without.flatMap(tokensOf).join("|"),
)}) ? (${named(without)}) : [])`;

/** RuntimeClasses of the builds in use, and the Hyper-V isolated ones of pools that enable it. */
export function runtimeClassFacts(spec: Pick<ClusterSpec, "pools" | "windows">): readonly RuntimeClassFacts[] {
  return spec.windows.flatMap((os) => {
    const hyperV = spec.pools.some((pool) => pool.os === "windows" && pool.release.name === os.name && pool.hyperV);
    return [runtimeClass(os, "process"), hyperV ? runtimeClass(os, "hyperv") : undefined].flatMap(
      (facts) => facts ?? [],
    );
  });
}

/**
 * What the machine around a Hyper-V isolated pod takes beyond its containers: the difference that Microsoft gives for
 * Server Core between both kinds of isolation (learn.microsoft.com: "Windows container requirements", memory).
 */
const hyperVOverhead = { podFixed: { memory: "320Mi" } };

/** A pod that names one gets its node selector and toleration from the API server. */
export const runtimeClasses: AddOnEntry = {
  name: "runtime-classes",
  after: [],
  manifests: (spec) =>
    runtimeClassFacts(spec).map(({ name, handler, nodeSelector, tolerations }) => ({
      apiVersion: "node.k8s.io/v1",
      kind: "RuntimeClass",
      metadata: { name },
      handler,
      ...(handler === "runhcs-wcow-hypervisor" && { overhead: hyperVOverhead }),
      scheduling: {
        nodeSelector: { ...nodeSelector },
        tolerations: tolerations.map(({ key, operator, value, effect }) => ({ key, operator, value, effect })),
      },
    })),
};
