import { type Credentials, loginHost, registryLogin } from "../model/nodeSettings.ts";
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

interface RegistryMirrorArgs {
  readonly os: "linux" | "windows";
  /** Registry (`registry.k8s.io`) to the URL of its mirror. */
  readonly registries: Readonly<Record<string, string>>;
  /** Which registries and mirrors want a login. */
  readonly credentials: Credentials;
}

/**
 * One `hosts.toml` per registry with a mirror or a login. containerd tries the mirror first, then the registry itself,
 * and appends `/v2` to a mirror's path unless that has it (`https://host/v2/project`; containerd: docs/hosts.md,
 * `override_path`). The file of a registry with a login names the mirror for all registries too, since containerd reads
 * no other one.
 *
 * A login is a header of its host alone, so it also serves the pause image, which the kubelet's credential providers do
 * not. A registry's token service gets it too (containerd: core/remotes/docker/config/hosts.go, WithAuthHeader).
 */
export function registryMirrorFiles({ os, registries, credentials }: RegistryMirrorArgs): readonly PayloadFile[] {
  return [...new Set([...Object.keys(registries), ...credentials.registries])]
    .sort()
    .map((registry) => ({
      path: [registryConfigDir[os], registryFolder(os, registry), "hosts.toml"].join(os === "windows" ? "\\" : "/"),
      content: [
        ...serverLines(registry),
        ...hostsOf(registries, credentials, registry).flatMap((url) =>
          hostLines(url, loginFor(credentials, registry, url)),
        ),
        "",
      ].join("\n"),
    }));
}

/** URLs that containerd asks for a registry's images before it asks the registry without a login, in order. */
function hostsOf(
  registries: RegistryMirrorArgs["registries"],
  credentials: Credentials,
  registry: string,
): readonly string[] {
  const itself = `https://${apiHost(registry)}`;
  const mirror = mirrorOf(registries, registry);
  if (mirror !== undefined && new URL(mirror).host === apiHost(registry)) return [registries[registry] ?? itself];
  return [...(mirror === undefined ? [] : [mirror]), ...(credentials.registries.includes(registry) ? [itself] : [])];
}

/** Placeholder of the login that a host wants; `undefined` when it wants none. */
function loginFor(credentials: Credentials, registry: string, url: string): string | undefined {
  const itself = url === `https://${apiHost(registry)}` && credentials.registries.includes(registry);
  const host = itself ? registry : loginHost(credentials, url);
  return host === undefined ? undefined : `@${registryLogin(host)}@`;
}

/** No Windows folder has a colon: containerd looks for `host_port_` there (containerd: docs/hosts.md). */
function registryFolder(os: "linux" | "windows", registry: string): string {
  return os === "windows" ? registry.replace(/:(\d+)$/, "_$1_") : registry;
}

function hostLines(url: string, login: string | undefined): readonly string[] {
  const { pathname } = new URL(url);
  const host = `host."${url.replace(/\/+$/, "")}"`;
  return [
    `[${host}]`,
    'capabilities = ["pull", "resolve"]',
    ...(/^\/v2\/./.test(pathname) ? ["override_path = true"] : []),
    ...(login === undefined ? [] : [`[${host}.header]`, `Authorization = "Basic ${login}"`]),
  ];
}

/** The upstream tried after the mirror; for all registries it is containerd's default, the one that the image names. */
function serverLines(registry: string): readonly string[] {
  if (registry === defaultRegistry) return [];
  return [`server = "https://${apiHost(registry)}"`, ""];
}

/** Docker Hub's API has another host name than its image references. */
function apiHost(registry: string): string {
  return registry === "docker.io" ? "registry-1.docker.io" : registry;
}
