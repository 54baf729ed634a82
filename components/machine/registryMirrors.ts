import type { PayloadFile } from "./payload.ts";

/** Folder of containerd's registry configuration, per system. */
export const registryConfigDir = {
  linux: "/etc/containerd/certs.d",
  windows: "C:\\ProgramData\\containerd\\certs.d",
} as const;

/** Stands for every registry that has no mirror of its own (containerd: docs/hosts.md). */
const defaultRegistry = "_default";

/** URL of the mirror that containerd asks for images of a registry; `undefined` without one. */
export function mirrorOf(registries: Readonly<Record<string, string>>, registry: string): string | undefined {
  return registries[registry] ?? registries[defaultRegistry];
}

/** What `registryMirrorFiles` needs. */
export interface RegistryMirrorArgs {
  readonly os: "linux" | "windows";
  /** Registry (`registry.k8s.io`) to the URL of its mirror. */
  readonly registries: Readonly<Record<string, string>>;
}

/**
 * One `hosts.toml` per mirrored registry. containerd asks the mirror first and then the registry itself; a mirror cannot change what an
 * image's digest says. A mirror whose path already holds the API's root (`https://host/v2/project`) is used as it is: containerd appends
 * `/v2` to every other path (containerd: docs/hosts.md, `override_path`).
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

/** A Windows folder cannot hold a colon; containerd looks for `host_port_` there (containerd: docs/hosts.md). */
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

/** Who is asked after the mirror. Behind the mirror of all registries it is the one that the image names, which containerd takes without being told. */
function serverLines(registry: string): readonly string[] {
  if (registry === defaultRegistry) return [];
  // Docker Hub's API has another name than the registry in its references.
  return [`server = "https://${registry === "docker.io" ? "registry-1.docker.io" : registry}"`, ""];
}
