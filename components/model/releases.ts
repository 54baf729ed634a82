import versions from "../../versions.json" with { type: "json" };
import type { Artifact, ArtifactQuery } from "./artifacts.ts";
import { findArtifact, requireArtifact } from "./artifacts.ts";

/** `versions.json`: every version, as data that `fenestra pin` changes. */
export { versions };

/** A supported minor, such as `1.36`: the key of every table that has a row for each. */
export type Minor = keyof typeof versions.minors;

interface MinorFacts {
  readonly minor: Minor;
  /**
   * Last day of upstream support, ISO date (kubernetes.io/releases/patch-releases: about 14 months after the first
   * release).
   */
  readonly endOfLife: string;
  /**
   * CoreDNS's image tag: kubeadm's choice, the newest that its library can migrate from (coredns/corefile-migration;
   * kubernetes: cmd/kubeadm/app/constants/constants.go).
   */
  readonly coredns: string;
}

export const { defaultRelease } = versions;

/** Version of the CNI specification in the configurations of both systems (containernetworking/cni, SPEC.md). */
export const cniSpecVersion = versions.cniSpec;

/**
 * Programs and images of no add-on, by their names in the lock file. The older agnhost is the last that runs on Windows
 * Server 2019.
 */
export const otherReleases = versions.others;

/**
 * The supported Kubernetes minors, oldest first: their differences are in `versions.json` and `removedSettings`;
 * CONTRIBUTING.md lists the files beside it. kubeadm's choices were read in 1.36.4 and 1.37.1.
 */
export const minors: readonly MinorFacts[] = Object.keys(versions.minors)
  .filter((name): name is Minor => Object.hasOwn(versions.minors, name))
  .map((minor) => ({ minor, ...versions.minors[minor] }));

type OfSystem = string | Readonly<Record<"linux" | "windows", string>>;

/** A version, or one for each minor or system: what lacks a minor of `versions.json` does not compile. */
export type Pinned = OfSystem | Readonly<Record<Minor, OfSystem>>;

/**
 * The version for a release of Kubernetes. What upstream versions with Kubernetes has one for each minor; where
 * upstream has none, the nearest, with the reason under `nearest`.
 *
 * @throws RangeError for a release that is not supported, or that the pin has no version for
 */
export function versionFor(pinned: Pinned, release: string, os: "linux" | "windows"): string {
  if (typeof pinned === "string") return pinned;
  if ("linux" in pinned) return pinned[os];
  const minor = requireMinor(release);
  const own: OfSystem | undefined = pinned[minor];
  if (own === undefined)
    throw new RangeError(`versions.json has ${Object.values(pinned).join(", ")}, and none for ${minor}`);
  return typeof own === "string" ? own : own[os];
}

/** A program or image by its name in the lock file; `os` where systems differ. */
export interface NamedVersion {
  readonly name: string;
  readonly version: string;
  readonly os?: string;
}

type Section = Readonly<Record<string, VersionTree>>;
export type VersionTree = string | { readonly [key: string]: VersionTree };

/** The parts of `versions.json` that name programs and images. */
export interface VersionTable extends Readonly<Record<"components" | "others" | "images", Section>> {
  readonly networks: Readonly<Record<string, Section>>;
  readonly together: readonly (readonly string[])[];
}

/** Every program and image of `versions.json`; with a minor, those that belong to it. */
export function namedVersions(
  { components, others, networks, images }: VersionTable = versions,
  minor?: string,
): readonly NamedVersion[] {
  const named = [components, others, ...Object.values(networks), images]
    .flatMap((section) => Object.entries(section))
    .flatMap(([name, own]) => versionsIn(own, minor).map((each) => ({ name, ...each })));
  return [...new Map(named.map((each) => [Object.values(each).join(" "), each])).values()];
}

/** The versions of a name, each with its system where there is one for each. */
function versionsIn(tree: VersionTree, minor?: string, os?: string): readonly Omit<NamedVersion, "name">[] {
  if (typeof tree === "string") return [{ version: tree, ...(os !== undefined && { os }) }];
  const isOther = (key: string) => minor !== undefined && /^\d/.test(key) && key !== minor;
  return Object.entries(tree)
    .filter(([key]) => !isOther(key))
    .flatMap(([key, own]) => versionsIn(own, minor, key === "linux" || key === "windows" ? key : undefined));
}

/** What is known against versions of a program or image, `kubernetes` for a release of it, by the weakness's name. */
export interface Weakness {
  /** A clause. */
  readonly about: string;
  /** First version without it of each minor; a minor after all of these never had it. */
  readonly fixed: readonly string[];
  readonly source: string;
  /** Where it is one system's. */
  readonly os?: string;
  /** Why it does no harm here. */
  readonly harmless?: string;
}

export const known: Readonly<Record<string, Readonly<Record<string, Weakness>>>> = versions.known;

/** Why a version is not the newest one or its minor's, by name. */
export const nearest: Readonly<Record<string, string>> = versions.nearest;

/** Days of release, ISO dates, by name and version. */
export const published: Readonly<Record<string, Readonly<Record<string, string>>>> = versions.published;

export function hasWeakness(version: string, { fixed }: Pick<Weakness, "fixed">): boolean {
  const minor = (text: string) => `${minorOf(text)}.0`;
  const own = fixed.find((each) => minorOf(each) === minorOf(version));
  return own === undefined
    ? fixed.length === 0 || fixed.some((each) => compareVersions(minor(each), minor(version)) > 0)
    : compareVersions(own, version.replace(/-.*/, "")) > 0;
}

/** A flag or feature gate that a Kubernetes minor removed. */
export interface RemovedSetting {
  readonly component: "kubelet" | "kube-proxy";
  readonly kind: "flag" | "gate";
  readonly name: string;
  /** First minor that lacks the setting or locks it to its default. */
  readonly since: string;
  /** Upstream change that removed or locked it. */
  readonly reference: string;
}

/** Settings that must no longer be rendered, oldest first: with an unknown flag or gate a program does not start. */
export const removedSettings: readonly RemovedSetting[] = [
  {
    component: "kubelet",
    kind: "flag",
    name: "pod-infra-container-image",
    since: "1.35",
    reference: "kubernetes/kubernetes#133779",
  },
  // Generally available and locked on in 1.36; 1.39 no longer has the name.
  {
    component: "kubelet",
    kind: "gate",
    name: "NodeLogQuery",
    since: "1.36",
    reference: "kubernetes/kubernetes#137544",
  },
];

/** `1.36` of `1.36.4`. */
export function minorOf(version: string): string {
  return version.split(".").slice(0, 2).join(".");
}

/** The facts of a release's minor; `undefined` for an unsupported one. */
export function minorFacts(version: string): MinorFacts | undefined {
  return minors.find(({ minor }) => minor === minorOf(version));
}

/** The same. @throws RangeError when the minor is not supported */
export function requireMinorFacts(version: string): MinorFacts {
  const facts = minorFacts(version);
  if (facts === undefined) throw new RangeError(`Kubernetes ${version} cannot be chosen`);
  return facts;
}

/** The minor as a key of tables. @throws RangeError when it is not supported */
export function requireMinor(version: string): Minor {
  return requireMinorFacts(version).minor;
}

/** Kubernetes programs of machines; a release is supported only when the lock file has them all. */
export const releasePrograms = {
  linux: ["kubelet", "kubectl", "kubeadm"],
  windows: ["kubelet.exe", "kubectl.exe", "kube-proxy.exe", "kube-log-runner.exe"],
} as const;

/** The order is part of what machines are made of. */
const machineComponents = {
  "control-plane": ["etcd", "containerd", "runc", "crictl", "cni-plugins"],
  linux: ["containerd", "runc", "crictl", "cni-plugins"],
  windows: ["containerd", "crictl", "cni-plugins"],
} as const;

/** Releases whose programs for both systems are all in the lock file, oldest first. */
export function selectableVersions(lock: readonly Artifact[]): readonly string[] {
  return [...new Set(lock.filter(({ name }) => name === "kubelet").map(({ version }) => version))]
    .filter((version) => minorFacts(version) !== undefined)
    .filter((version) =>
      (["linux", "windows"] as const).every((os) =>
        releasePrograms[os].every((name) => findArtifact(lock, { name, version, os }) !== undefined),
      ),
    )
    .sort(compareVersions);
}

export function compareVersions(a: string, b: string): number {
  const left = a.split(".").map(Number);
  const right = b.split(".").map(Number);
  for (let i = 0; i < 3; i += 1) {
    const difference = (left[i] ?? 0) - (right[i] ?? 0);
    if (difference !== 0) return difference;
  }
  return 0;
}

export type MachineRole = "control-plane" | "linux" | "windows";

/**
 * Every file that a machine of this role downloads whatever the pod network. @throws RangeError when the release is not
 * supported
 */
export function machineArtifacts(
  lock: readonly Artifact[],
  version: string,
  role: MachineRole,
): Readonly<Record<string, Artifact>> {
  requireMinor(version);
  const { components } = versions;
  const os = role === "windows" ? "windows" : "linux";
  const programs = releasePrograms[os].filter((name) => name !== "kubeadm" || role === "control-plane");
  const get = (name: string, of: string) =>
    [name, requireArtifact(lock, { name, version: of, os } satisfies ArtifactQuery)] as const;
  return Object.fromEntries([
    ...programs.map((name) => get(name, version)),
    ...machineComponents[role].map((name) => get(name, versionFor(components[name], version, os))),
  ]);
}

export const pauseName = "registry.k8s.io/pause";

export function pauseImage(lock: readonly Artifact[], version: string): string {
  requireMinor(version);
  return requireArtifact(lock, {
    name: pauseName,
    version: versionFor(versions.components[pauseName], version, "linux"),
    os: "linux",
  }).url;
}

/**
 * The tag of etcd's image that kubeadm is told, within the minor of its own choice, which is older and not raised for
 * fixes (kubernetes/kubernetes#141032). The machines' etcdctl and etcdutl have the same version.
 */
export function etcdImageTag(lock: readonly Artifact[], release: string): string {
  const name = "registry.k8s.io/etcd";
  const version = versionFor(versions.images[name], release, "linux");
  const { url } = requireArtifact(lock, { name, version, os: "linux" });
  return url.slice(name.length + 1).replace(/@.*/, "");
}

/** Images that kubeadm runs as the control plane and its add-ons. @throws RangeError when the minor is not supported */
export function kubeadmImages(lock: readonly Artifact[], version: string): readonly string[] {
  const { coredns } = requireMinorFacts(version);
  return [
    ...["kube-apiserver", "kube-controller-manager", "kube-scheduler", "kube-proxy"].map(
      (name) => `registry.k8s.io/${name}:v${version}`,
    ),
    `registry.k8s.io/etcd:${etcdImageTag(lock, version)}`,
    `registry.k8s.io/coredns/coredns:${coredns}`,
  ];
}
