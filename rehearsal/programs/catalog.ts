import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { minorOf } from "../../components/model/releases.ts";
import { RehearsalError } from "../host/command.ts";

export const programNames = [
  "kube-apiserver",
  "kube-controller-manager",
  "kube-scheduler",
  "kubeadm",
  "kubectl",
  "kubelet",
  "etcd",
  "etcdctl",
  "etcdutl",
  "kwok",
] as const;

export type ProgramName = (typeof programNames)[number];

export type Project = "kubernetes" | "etcd" | "kwok";

/** Version of each project, without `v`. */
export type Versions = Readonly<Record<Project, string>>;

interface CatalogEntry {
  readonly project: Project;
  /** Go package that builds it. */
  readonly goPackage: string;
  /**
   * About how long a first build takes on two processors, in seconds, beside the others, with most packages in common.
   */
  readonly buildSeconds: number;
}

const kubernetes = (name: string, buildSeconds: number): CatalogEntry => ({
  project: "kubernetes",
  goPackage: `k8s.io/kubernetes/cmd/${name}`,
  buildSeconds,
});

export const catalog: Readonly<Record<ProgramName, CatalogEntry>> = {
  "kube-apiserver": kubernetes("kube-apiserver", 160),
  "kube-controller-manager": kubernetes("kube-controller-manager", 45),
  "kube-scheduler": kubernetes("kube-scheduler", 10),
  kubeadm: kubernetes("kubeadm", 10),
  kubectl: kubernetes("kubectl", 15),
  kubelet: kubernetes("kubelet", 45),
  etcd: { project: "etcd", goPackage: "go.etcd.io/etcd/server/v3", buildSeconds: 15 },
  etcdctl: { project: "etcd", goPackage: "go.etcd.io/etcd/etcdctl/v3", buildSeconds: 5 },
  etcdutl: { project: "etcd", goPackage: "go.etcd.io/etcd/etcdutl/v3", buildSeconds: 5 },
  kwok: { project: "kwok", goPackage: "sigs.k8s.io/kwok/cmd/kwok", buildSeconds: 15 },
};

/** Whether a program's version depends on the Kubernetes minor. */
export function ofMinor(name: ProgramName): boolean {
  return catalog[name].project !== "kwok";
}

const modules: Readonly<Record<Project, string>> = {
  kubernetes: "k8s.io/kubernetes",
  etcd: "go.etcd.io/etcd/server/v3",
  kwok: "sigs.k8s.io/kwok",
};

/** The versions that a go.mod pins. */
export interface Pins {
  readonly versions: Versions;
  /** The `go` line, for advice without Go: `1.26.0`. */
  readonly go: string;
}

/** The versions in the text of tools/go.mod. @throws RehearsalError when one is not there */
export function pinsOf(goMod: string): Pins {
  const find = (what: string, pattern: RegExp): string => {
    const found = pattern.exec(goMod)?.[1];
    if (found !== undefined) return found;
    throw new RehearsalError(`tools/go.mod does not pin ${what}.`, ["restore it: git checkout tools/go.mod"]);
  };
  const version = (project: Project): string => {
    const escaped = modules[project].replaceAll(".", "\\.");
    return find(modules[project], new RegExp(`^\\s*(?:require\\s+)?${escaped} v(\\d+\\.\\d+\\.\\d+)\\b`, "m"));
  };
  return {
    versions: { kubernetes: version("kubernetes"), etcd: version("etcd"), kwok: version("kwok") },
    go: find("a Go version", /^go (\d+\.\d+(?:\.\d+)?)$/m),
  };
}

/** go.mod and go.sum of a module, or of a `-modfile` of `go build` in their place. */
export async function readToolsModule(
  toolsFolder: string,
  modFile = "go.mod",
): Promise<{ readonly goMod: string; readonly goSum: string }> {
  const [goMod, goSum] = await Promise.all(
    [modFile, modFile.replace(/\.mod$/, ".sum")].map((name) => readFile(join(toolsFolder, name), "utf8")),
  );
  return { goMod: goMod ?? "", goSum: goSum ?? "" };
}

/**
 * The Kubernetes minors that a module can be built with, and the file that pins each: a `-modfile` of `go build`,
 * `undefined` for go.mod.
 * @throws RehearsalError when go.mod pins none
 */
export async function pinnedMinors(folder: string, label: string): Promise<ReadonlyMap<string, string | undefined>> {
  const own = /^\s*k8s\.io\/kubernetes v(\d+\.\d+\.\d+)$/m.exec(await readFile(join(folder, "go.mod"), "utf8"))?.[1];
  if (own === undefined)
    throw new RehearsalError(`${label}/go.mod does not pin k8s.io/kubernetes.`, [
      `restore it: git checkout ${label}/go.mod`,
    ]);
  const others = await readdir(join(folder, "kubernetes"));
  return new Map([
    [minorOf(own), undefined],
    ...others.map((minor): [string, string] => [minor, `kubernetes/${minor}/go.mod`]),
  ]);
}

export interface Wanted {
  /** `1.37`. */
  readonly minor: string;
  /**
   * `1.37.0`. Default: what `tools` pins of that minor. Where it cannot be downloaded, the pinned source gets this
   * number.
   */
  readonly release?: string | undefined;
}

/**
 * What a module pins for a wanted release: the file in go.mod's place, go.sum's text, the versions, and the release of
 * the source at hand where it is another one.
 */
export async function pinsFor({ minor, release }: Wanted, toolsFolder: string) {
  const modFile = modFileOf(minor, await pinnedMinors(toolsFolder, "tools"), "tools");
  const { goMod, goSum } = await readToolsModule(toolsFolder, modFile);
  const pins = pinsOf(goMod);
  const versions = { ...pins.versions, kubernetes: release ?? pins.versions.kubernetes };
  const source = versions.kubernetes === pins.versions.kubernetes ? undefined : pins.versions.kubernetes;
  return { modFile, goSum, pins: { ...pins, versions }, source };
}

/** The file that pins a minor, of {@link pinnedMinors}. @throws RehearsalError when there is none */
export function modFileOf(
  minor: string,
  pinned: ReadonlyMap<string, string | undefined>,
  label: string,
): string | undefined {
  if (pinned.has(minor)) return pinned.get(minor);
  throw new RehearsalError(`${label} pins no Kubernetes ${minor}; there are ${[...pinned.keys()].sort().join(", ")}.`, [
    `add ${label}/kubernetes/${minor}/go.mod and go.sum, as those of the other minors`,
  ]);
}
