import { type Credentials, loginHost, registryLogin } from "../model/credentials.ts";
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
  /** Which registries and mirrors want a login. */
  readonly credentials: Credentials;
}

/**
 * One `hosts.toml` per mirrored registry. containerd tries the mirror first and then the registry itself; a mirror cannot serve other content for
 * a digest. A mirror whose path already includes the API root (`https://host/v2/project`) is used as it is: containerd appends `/v2` to every
 * other path (containerd: docs/hosts.md, `override_path`). A registry with a login and without a mirror has a file of its own.
 *
 * A login is a header of the host that wants it and of no other, so it also serves the pause image, which the kubelet's credential providers do
 * not. A registry that answers with its token service gets it there (containerd: core/remotes/docker/config/hosts.go, WithAuthHeader).
 */
export function registryMirrorFiles({ os, registries, credentials }: RegistryMirrorArgs): readonly PayloadFile[] {
  const separator = os === "windows" ? "\\" : "/";
  const own = credentials.registries
    .filter((host) => registries[host] === undefined)
    .map((host): [string, string] => [host, `https://${apiHost(host)}`]);
  return [...Object.entries(registries), ...own]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([registry, mirror]) => ({
      path: [registryConfigDir[os], registryFolder(os, registry), "hosts.toml"].join(separator),
      content: hostsToml(registry, mirror, loginFor(credentials, registry, mirror)),
    }));
}

/** Placeholder of the login that a host wants; `undefined` when it wants none. */
function loginFor(credentials: Credentials, registry: string, url: string): string | undefined {
  const itself = url === `https://${apiHost(registry)}` && credentials.registries.includes(registry);
  const host = itself ? registry : loginHost(credentials, url);
  return host === undefined ? undefined : `@${registryLogin(host)}@`;
}

/** A Windows folder name cannot contain a colon; containerd looks for `host_port_` there (containerd: docs/hosts.md). */
function registryFolder(os: "linux" | "windows", registry: string): string {
  return os === "windows" ? registry.replace(/:(\d+)$/, "_$1_") : registry;
}

function hostsToml(registry: string, mirror: string, login: string | undefined): string {
  const { pathname } = new URL(mirror);
  const host = `host."${mirror.replace(/\/+$/, "")}"`;
  return [
    ...serverLines(registry),
    `[${host}]`,
    'capabilities = ["pull", "resolve"]',
    ...(/^\/v2\/./.test(pathname) ? ["override_path = true"] : []),
    ...(login === undefined ? [] : [`[${host}.header]`, `Authorization = "Basic ${login}"`]),
    "",
  ].join("\n");
}

/** The upstream tried after the mirror. With a mirror for all registries it is the one that the image names, which is containerd's default. */
function serverLines(registry: string): readonly string[] {
  if (registry === defaultRegistry) return [];
  return [`server = "https://${apiHost(registry)}"`, ""];
}

/** Docker Hub's API has another host name than its image references. */
function apiHost(registry: string): string {
  return registry === "docker.io" ? "registry-1.docker.io" : registry;
}
