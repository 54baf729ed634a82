import type { PayloadFile } from "./payload.ts";

/** Folder of containerd's registry configuration, per system. */
export const registryConfigDir = {
  linux: "/etc/containerd/certs.d",
  windows: "C:\\ProgramData\\containerd\\certs.d",
} as const;

/** Matches every registry without a mirror of its own (containerd: docs/hosts.md). */
const defaultRegistry = "_default";

/** URL of the mirror that containerd uses for a registry's images; `undefined` without one. */
export function mirrorOf(registries: Readonly<Record<string, string>>, registry: string): string | undefined {
  return registries[registry] ?? registries[defaultRegistry];
}

/** Inputs of `registryMirrorFiles`. */
export interface RegistryMirrorArgs {
  readonly os: "linux" | "windows";
  /** Registry (`registry.k8s.io`) to the URL of its mirror. */
  readonly registries: Readonly<Record<string, string>>;
}

/**
 * One `hosts.toml` per mirrored registry. containerd tries the mirror first and then the registry itself; a mirror cannot serve other content for
 * a digest. A mirror whose path already includes the API root (`https://host/v2/project`) is used as it is: containerd appends `/v2` to every
 * other path (containerd: docs/hosts.md, `override_path`).
 */
export function registryMirrorFiles({ os, registries }: RegistryMirrorArgs): readonly PayloadFile[] {
  const separator = os === "windows" ? "\\" : "/";
  return Object.entries(registries)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([registry, mirror]) => ({
      path: [registryConfigDir[os], registryFolder(os, registry), "hosts.toml"].join(separator),
      content: hostsToml(registry, mirror),
    }));
}

/** A Windows folder name cannot contain a colon; containerd looks for `host_port_` there (containerd: docs/hosts.md). */
function registryFolder(os: "linux" | "windows", registry: string): string {
  return os === "windows" ? registry.replace(/:(\d+)$/, "_$1_") : registry;
}

function hostsToml(registry: string, mirror: string): string {
  const { pathname } = new URL(mirror);
  return [
    ...serverLines(registry),
    `[host."${mirror.replace(/\/+$/, "")}"]`,
    'capabilities = ["pull", "resolve"]',
    ...(/^\/v2\/./.test(pathname) ? ["override_path = true"] : []),
    "",
  ].join("\n");
}

/** The upstream tried after the mirror. With a mirror for all registries it is the one that the image names, which is containerd's default. */
function serverLines(registry: string): readonly string[] {
  if (registry === defaultRegistry) return [];
  // Docker Hub's API has another host name than its image references.
  return [`server = "https://${registry === "docker.io" ? "registry-1.docker.io" : registry}"`, ""];
}
