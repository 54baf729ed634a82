import { loadConfig } from "../../components/config/load.ts";
import type { Progress } from "../host/progress.ts";
import type { ProgramName } from "../programs/catalog.ts";
import type { Programs } from "../programs/obtain.ts";

/** The stack's config with another Kubernetes release. */
export function withRelease(config: Readonly<Record<string, string>>, version: string): Readonly<Record<string, string>> {
  const key = "fenestra:kubernetes";
  const present: unknown = JSON.parse(config[key] ?? "{}");
  return { ...config, [key]: JSON.stringify({ ...(typeof present === "object" ? present : {}), version }) };
}

/**
 * The programs at hand, of the stack's minor, decide the patch release: kubeadm and the program's gates compare what runs with what was
 * asked for.
 */
export function withPatchOf(
  config: Readonly<Record<string, string>>,
  programs: Programs,
  progress: Progress,
): Readonly<Record<string, string>> {
  const asked = loadConfig(config).kubernetes.version;
  const { version } = programs["kube-apiserver"];
  if (asked === version) return config;
  progress.line(`the stack asks for Kubernetes ${asked}; the programs at hand are ${version}, so this rehearsal runs with ${version}`);
  return withRelease(config, version);
}

/** Which releases ran, in their order. Pure. */
export function releasesText(ran: readonly Programs[]): string {
  const releases = (name: ProgramName): string => [...new Set(ran.map((programs) => releaseOf(programs[name])))].join(", then ");
  return `ran: Kubernetes ${releases("kube-apiserver")}; etcd ${releases("etcd")}; kwok ${releases("kwok")}`;
}

function releaseOf({ version, source }: Programs[ProgramName]): string {
  return source === undefined ? version : `${version} (the source of ${source} with this number)`;
}
