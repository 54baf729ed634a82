import { createHash } from "node:crypto";
import type { StackConfig } from "../config/schema.ts";
import type { AddressPlan } from "./addressPlan.ts";
import type { Artifact } from "./artifacts.ts";
import type { ClusterAddresses } from "./cidr.ts";
import type { CloudFacts } from "./cloudFacts/facts.ts";
import type { RegistryAccess, ServiceAccountName } from "./cloudFacts/identities.ts";
import type { PodNetwork } from "./podNetwork.ts";

export interface ClusterIdentity extends Readonly<Pick<StackConfig, "cloud" | "name" | "region">> {
  readonly facts: CloudFacts;
  readonly tags: Readonly<Record<string, string>>;
}

export interface NodeKubernetes extends ClusterAddresses {
  /** `1.36.4`. */
  readonly version: string;
  /** `1.36`. */
  readonly minor: string;
  readonly podNetwork: PodNetwork;
}

export interface DownloadSettings extends Readonly<Pick<StackConfig, "mirror" | "httpProxy">> {
  readonly artifacts: readonly Artifact[];
  readonly credentials: Credentials;
  /** Reached without the proxy, besides the cluster's networks. */
  readonly noProxy: readonly string[];
  /** Certificates trusted besides the public authorities', in PEM. */
  readonly certificateAuthorities: readonly string[];
  readonly network: Pick<AddressPlan, "cidrs" | "existing"> & Pick<StackConfig["network"], "nat">;
}

/**
 * What a pool's machines need to know about their cluster: plain data, the same for every pool, no secret. A
 * `ClusterSpec` contains it; a setting that is not here replaces no worker.
 */
export interface NodeSettings
  extends ClusterIdentity,
    DownloadSettings,
    Readonly<Pick<StackConfig, "encryptionAtHost" | "iam">> {
  readonly kubernetes: NodeKubernetes;
  /** Cloud registries that workers pull from with their identity, if any. */
  readonly registryAccess: RegistryAccess | undefined;
  /** Domain accounts, whose plug-in some nodes get, and log shipping, whose program Windows nodes get. */
  readonly addons: Pick<AddOns, "gmsa" | "logs">;
}

/**
 * Which logins machines need. The logins themselves are in no spec, payload or plan: machines read them from the
 * cloud's store of secrets by their identity.
 */
export interface Credentials {
  readonly proxy: boolean;
  /** Hosts of registries and mirrors that want a login, with ports other than the scheme's own, in order. */
  readonly registries: readonly string[];
}

type LoginSettings = Pick<StackConfig, "proxyCredentials" | "registryCredentials">;

type Login = NonNullable<StackConfig["proxyCredentials"]>;

export function credentialsOf({ proxyCredentials, registryCredentials = {} }: LoginSettings): Credentials {
  return { proxy: proxyCredentials !== undefined, registries: Object.keys(registryCredentials).sort() };
}

export function hasCredentials({ proxy, registries }: Credentials): boolean {
  return proxy || registries.length > 0;
}

/** Name of the proxy's login in the secret; between two `@` the placeholder in machines' files. */
export const proxyLogin = "LOGIN_PROXY";

/**
 * Name of a registry's login in the secret: the host's own, so that a machine with older files never sends it to
 * another host.
 */
export function registryLogin(host: string): string {
  return `LOGIN_${createHash("sha256").update(host).digest("hex").slice(0, 16).toUpperCase()}`;
}

/** The registry that a URL leads to; `undefined` when it needs no login. */
export function loginHost({ registries }: Credentials, url: string | undefined): string | undefined {
  const host = url === undefined ? undefined : new URL(url).host;
  return registries.find((registry) => registry === host);
}

/**
 * Content of the secret: logins by name, each in the form of machines' files, so that no machine encodes anything. JSON
 * in ASCII. `undefined` without logins.
 */
export function credentialsDocument(settings: LoginSettings): string | undefined {
  const { proxyCredentials: proxy, registryCredentials = {} } = settings;
  if (!hasCredentials(credentialsOf(settings))) return undefined;
  return JSON.stringify({
    ...(proxy !== undefined && { [proxyLogin]: userInfo(proxy) }),
    ...Object.fromEntries(
      Object.entries(registryCredentials).map(([host, login]) => [registryLogin(host), basic(login)]),
    ),
  });
}

/**
 * A login as part of a URL (RFC 3986, section 3.2.1), with every character encoded that a shell or systemd might
 * interpret.
 */
function userInfo({ username, password }: Login): string {
  const encoded = (text: string) =>
    encodeURIComponent(text).replaceAll(/[!'()*~]/g, (mark) => `%${mark.charCodeAt(0).toString(16).toUpperCase()}`);
  return `${encoded(username)}:${encoded(password)}`;
}

/** Basic authentication (RFC 7617, section 2). */
function basic({ username, password }: Login): string {
  return Buffer.from(`${username}:${password}`).toString("base64");
}

/** Add-ons whose default follows from the rest of the stack file. */
type Decided = "autoscaler" | "samples";

/** In-cluster add-ons with every default decided. */
export type AddOns = Readonly<Omit<StackConfig["addons"], Decided> & Record<Decided, boolean>>;

export function addOns({ addons, pools, environment }: Pick<StackConfig, "addons" | "environment" | "pools">): AddOns {
  return {
    ...addons,
    autoscaler: addons.autoscaler ?? pools.some((pool) => pool.autoscale !== undefined),
    samples: addons.samples ?? environment !== "production",
  };
}

/** Namespace of the node agents, privileged since they access the node itself. */
export const monitoringNamespace = "fenestra-monitoring";

/** Namespaces for HostProcess pods, pods with the host's namespaces and pods on control-plane machines. */
export function systemNamespaces(spec: {
  readonly kubernetes: { readonly podNetwork: Pick<PodNetwork, "namespace"> };
}): readonly string[] {
  const { namespace } = spec.kubernetes.podNetwork;
  return ["kube-system", ...(namespace === undefined ? [] : [namespace]), monitoringNamespace];
}

/** Service account of the collectors, the only one that may write the logs. */
export const logsAccount: ServiceAccountName = { namespace: "fenestra-monitoring", name: "log-collector" };

/** Collectors by their nodes, each with its own configuration, and a log stream of its name in CloudWatch. */
export const logCollectors = ["control-plane", "linux", "windows"] as const;

export type LogCollector = (typeof logCollectors)[number];

export type LogSettings = NonNullable<StackConfig["addons"]["logs"]>;

export function logGroupName(cluster: string): string {
  return `/fenestra/${cluster}`;
}
