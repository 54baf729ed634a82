import { X509Certificate } from "node:crypto";
import { largestNetwork } from "../../model/addressPlan.ts";
import { addressCount, type Cidr, cidr, contains, overlaps, parseCidr } from "../../model/cidr.ts";
import { cloudFacts } from "../../model/cloudFacts/cloudFacts.ts";
import { poolGroups } from "../../model/pools.ts";
import { childPath, type Problem, problem, refuse } from "../../model/problem.ts";
import type { StackConfig } from "../schema.ts";
import { roomInSubnets } from "./existingNetwork.ts";
import { encryptCommand, registryHost } from "./identity.ts";
import { whereNodesHaveRanges } from "./podNetworks.ts";
import { anyNetwork, key, type Rule, type Rules, rule, type Settings } from "./rule.ts";

const hostOf = (url: string | undefined): string => `${URL.parse(url ?? "")?.hostname}/32`;

/** What nodes must reach, or answer, by an address: its setting, its value there, and its network. */
function reached({
  "network.dns": dns,
  httpProxy,
  mirror,
  "access.private": callers,
}: Pick<Settings, "network.dns" | "httpProxy" | "mirror" | "access.private">) {
  return [
    [key("httpProxy"), httpProxy, hostOf(httpProxy)],
    [key("mirror.artifacts"), mirror.artifacts, hostOf(mirror.artifacts)],
    ...Object.entries(mirror.registries).map(
      ([host, url]) => [childPath(key("mirror.registries"), host), url, hostOf(url)] as const,
    ),
    ...(dns?.servers ?? []).map(
      (server, index) => [key(`network.dns.servers[${index}]`), server, `${server}/32`] as const,
    ),
    ...(callers?.allow ?? []).map(
      (network, index) => [key(`access.private.allow[${index}]`), network, network] as const,
    ),
  ] as const;
}

/**
 * Nodes take every address of these ranges for a pod or a Service, so nothing else there is reached, or gets an answer.
 */
const taken = (range: "kubernetes.podCidr" | "kubernetes.serviceCidr"): Rule =>
  rule([range, "network.dns", "httpProxy", "mirror", "access.private"], (settings) => {
    const whole = parseCidr(settings[range]);
    return reached(settings).flatMap(([at, value, network]) => {
      const inside = parseCidr(network);
      return whole === undefined || inside === undefined || !contains(whole, inside)
        ? []
        : refuse(
            at,
            value,
            `is in ${key(range)}, ${settings[range]}: nodes never reach it`,
            "addresses outside of it",
            `move ${range}`,
          );
    });
  });

/** URLs end up in files on the machines: no password, no shell metacharacters. */
function urlProblems(path: string, text: string | undefined): readonly Problem[] {
  if (text === undefined) return [];
  if (/^[a-z]+:\/\/[^/]*@/i.test(text)) {
    return refuse(
      path,
      text,
      "carries a user name or a password, which would be written to every machine in clear text",
      "a URL without credentials",
      `${encryptCommand([...loginAt(path, text), "password"])}, and the name as username`,
    );
  }
  const [, host] = /^https?:\/\/([A-Za-z0-9.-]+)(:[1-9]\d{0,4})?(\/[A-Za-z0-9._~/-]*)?$/.exec(text) ?? [];
  // Of 010.0.0.5 each program makes another address, or a name.
  if (host === undefined || host.toLowerCase() !== URL.parse(text)?.hostname)
    return refuse(
      path,
      text,
      "has a query, a fragment, zeros in front or characters that are not used",
      "scheme, host, port and a plain path only",
    );
  return path === key("httpProxy") && /^http:[^:]*$/.test(text)
    ? refuse(path, text, "has no port: curl takes 1080 then, other programs 80", "host and port", "add its port")
    : [];
}

function loginAt(path: string, url: string): readonly string[] {
  return path === key("httpProxy") ? ["proxyCredentials"] : ["registryCredentials", URL.parse(url)?.host ?? "HOST"];
}

/** For Go's programs and curl, which heeds no port: a host, a domain with a dot before it, an address or a network. */
const noProxyEntry = /^(?:\.?[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?|(?:\d{1,3}\.){3}\d{1,3}\/\d{1,2})$/;

function authorityProblem(pem: string, earlier: readonly string[]): string | undefined {
  if (/PRIVATE KEY/.test(pem)) return "holds a private key, which would be written to every machine";
  if (pem.split("-----BEGIN ").length !== 2) return "holds more than one certificate";
  if (earlier.some((other) => other.trim() === pem.trim())) return "is listed twice";
  const certificate = certificateIn(pem);
  if (certificate === undefined) return unreadable;
  return certificate.ca ? undefined : "is no certificate of an authority: it may not sign others";
}

const unreadable = "cannot be read as a certificate";

/** Of several the first one. */
function certificateIn(pem: string): X509Certificate | undefined {
  try {
    return new X509Certificate(pem);
  } catch {
    return undefined;
  }
}

/** Why callers of the API cannot come from a network, and which they may come from. */
function callersRefusal(
  way: "public" | "private",
  value: string,
  own: readonly string[],
): readonly [message: string, allowed: string] | undefined {
  const network = parseCidr(value);
  if (network === undefined) return [notANetwork(value), anyNetwork];
  const reserved = reservedRanges.find(({ range }) => contains(cidr(range), network));
  if (reserved !== undefined) return [`is in ${reserved.range}, ${reserved.reason}`, "networks that callers come from"];
  if (way === "public") return undefined;
  // On Azure the rule for callers from inside also admits them by the public balancer, which keeps their addresses.
  if (network.prefix < 8) return ["is more than a network of yours", "networks of /8 to /32"];
  return own.includes(value) ? ["is the cluster's own network, which is let in anyway", "others"] : undefined;
}

export const networkRules: Rules = {
  restrictedNetwork: rule(
    ["cloud", "network.nat", "mirror", "httpProxy"],
    ({ cloud, "network.nat": nat, mirror, httpProxy }) => {
      if (nat !== "none") return [];
      const { natRefusal } = cloudFacts[cloud].network;
      if (natRefusal !== undefined) return [{ path: key("network.nat"), value: nat, ...natRefusal }];
      if (httpProxy !== undefined) return [];
      const missing = [
        ...(mirror.artifacts === undefined ? ["mirror.artifacts"] : []),
        ...(Object.keys(mirror.registries).length === 0 ? ["mirror.registries"] : []),
      ];
      return missing.length === 0
        ? []
        : refuse(
            key("network.nat"),
            nat,
            `leaves the machines without a source for artifacts and images; missing: ${missing.join(", ")}`,
            "none together with httpProxy, or with mirror.artifacts and mirror.registries; else single or perZone",
            "set fenestra:httpProxy or fenestra:mirror, or choose another nat",
          );
    },
  ),
  takenByPods: whereNodesHaveRanges(taken("kubernetes.podCidr")),
  takenByServices: taken("kubernetes.serviceCidr"),
  access: rule(["cloud", "access.public", "access.private", "network.cidr", "network.existing"], (settings) => {
    const own = [settings["network.cidr"], ...(settings["network.existing"]?.moreCidrs ?? [])];
    const open = settings["access.public"]?.allow.length ?? 0;
    const room =
      cloudFacts[settings.cloud].network.mostCallers - own.length - (settings["access.private"]?.allow.length ?? 0);
    const path = key("access.public.allow");
    if (open > room) return refuse(path, open, "are more networks than a security group takes", `at most ${room}`);
    return (["public", "private"] as const).flatMap((way) => {
      const allow = settings[`access.${way}`]?.allow ?? [];
      return allow.flatMap((value, index) => {
        const twice = allow.indexOf(value) === index ? undefined : (["is listed twice", "each network once"] as const);
        const wrong = callersRefusal(way, value, own) ?? twice;
        return wrong === undefined ? [] : refuse(key(`access.${way}.allow[${index}]`), value, ...wrong);
      });
    });
  }),
  registries: rule(["mirror.registries"], (settings) =>
    Object.keys(settings["mirror.registries"]).flatMap((host) => {
      return registryHost.test(host)
        ? []
        : refuse(
            childPath(key("mirror.registries"), host),
            host,
            "is not a registry's host name",
            "a host name with an optional port, such as registry.k8s.io or docker.io, or _default",
          );
    }),
  ),
  noProxy: rule(["httpProxy", "noProxy"], ({ httpProxy, noProxy: entries = [] }) => {
    const path = key("noProxy");
    if (httpProxy === undefined && entries.length > 0)
      return refuse(path, entries, "needs a proxy to make exceptions from", "nothing without httpProxy");
    return entries.flatMap((value, index) =>
      noProxyEntry.test(value) &&
      (!/[.]\d+$|\//.test(value) || parseCidr(value.includes("/") ? value : `${value}/32`) !== undefined)
        ? []
        : refuse(
            `${path}[${index}]`,
            value,
            "is no host, domain or network",
            "mirror.corp.example, .corp.example or 10.20.0.0/16; no scheme, no port, no *",
          ),
    );
  }),
  /** Each entry is one authority's certificate: anything else would be trusted without effect, or not at all. */
  authorities: rule(["certificateAuthorities"], ({ certificateAuthorities: all = [] }) =>
    all.flatMap((pem, index) => {
      const message = authorityProblem(pem, all.slice(0, index));
      return message === undefined
        ? []
        : refuse(
            key(`certificateAuthorities[${index}]`),
            `${pem.length} characters`,
            message,
            "one certificate of an authority in PEM, each once; a chain is several entries",
          );
    }),
  ),
  /** With a text that is no certificate the API server does not start, and collectors send nothing. */
  otherAuthorities: rule(["access.signIn", "addons.logs"], ({ "access.signIn": people, "addons.logs": logs }) =>
    [
      ...people.map((each, index) => [`access.signIn[${index}]`, each.certificateAuthority] as const),
      ["addons.logs.otlp", logs?.otlp?.certificateAuthority] as const,
    ].flatMap(([path, pem]) =>
      pem === undefined || certificateIn(pem) !== undefined
        ? []
        : refuse(key(`${path}.certificateAuthority`), `${pem.length} characters`, unreadable, "certificates in PEM"),
    ),
  ),
  proxyUrl: rule(["httpProxy"], ({ httpProxy }) => urlProblems(key("httpProxy"), httpProxy)),
  artifactsUrl: rule(["mirror.artifacts"], (settings) =>
    urlProblems(key("mirror.artifacts"), settings["mirror.artifacts"]),
  ),
  registryUrls: rule(["mirror.registries"], (settings) =>
    Object.entries(settings["mirror.registries"]).flatMap(([host, url]) =>
      urlProblems(childPath(key("mirror.registries"), host), url),
    ),
  ),
};

/** Ranges that no network of a cluster overlaps, and from which nobody calls. */
const reservedRanges = [
  { range: "0.0.0.0/8", reason: "addresses that mean this host" },
  { range: "127.0.0.0/8", reason: "the loopback range" },
  { range: "168.63.129.16/32", reason: "Azure's platform address" },
  { range: "169.254.0.0/16", reason: "the link-local range of metadata services" },
  { range: "224.0.0.0/3", reason: "multicast and reserved addresses" },
] as const;

/** A network of the config: its setting, and the shortest and longest prefix in bits. */
interface NetworkField {
  readonly setting: "network.cidr" | "kubernetes.podCidr" | "kubernetes.serviceCidr";
  readonly least: number;
  /** `cloud`: the limit of the cloud. */
  readonly most: number | "cloud";
}

const machines: NetworkField = { setting: "network.cidr", least: largestNetwork, most: "cloud" };

/** The first range of an existing network is not divided; its subnets have their own rules. */
const existingMachines: NetworkField = { setting: "network.cidr", least: 8, most: 28 };

/**
 * Each node takes a /24; the controller manager splits a range by at most 16 bits (kubernetes/kubernetes,
 * node-cidr-mask-size).
 */
const pods: NetworkField = { setting: "kubernetes.podCidr", least: 8, most: 22 };

/** The API server takes at most 20 host bits (kubernetes/kubernetes, service-cluster-ip-range). */
const services: NetworkField = { setting: "kubernetes.serviceCidr", least: 12, most: 24 };

/** The network of a field if its size is allowed, else what is wrong with it. */
function sized(field: NetworkField, value: string, cloud: StackConfig["cloud"]): Cidr | Problem {
  const { setting, least, most: limit } = field;
  const path = key(setting);
  const most = typeof limit === "number" ? limit : cloudFacts[cloud].network.smallest;
  const parsed = parseCidr(value);
  const allowed = `${anyNetwork}, /${least} to /${most}`;
  if (parsed === undefined) return problem(path, value, notANetwork(value), allowed);
  if (parsed.prefix >= least && parsed.prefix <= most) return parsed;
  return problem(path, value, `is too ${parsed.prefix < least ? "large" : "small"} a network`, allowed);
}

function fieldOf(field: NetworkField, existing: StackConfig["network"]["existing"]): NetworkField {
  return existing !== undefined && field === machines ? existingMachines : field;
}

/** Distinguishes a network with host bits set from text that is no network at all. */
function notANetwork(value: string): string {
  const [address, prefix] = value.split("/");
  const parts = (address ?? "").split(".").map(Number);
  return parts.every((part) => part <= 255) && Number(prefix) <= 32
    ? "has host bits that are not zero"
    : "is not a network";
}

const isNetwork = (found: Cidr | Problem): found is Cidr => "prefix" in found;

const oneNetwork = (own: NetworkField): Rule =>
  rule(["cloud", own.setting, "network.existing"], (settings) => {
    const value = settings[own.setting];
    const found = sized(fieldOf(own, settings["network.existing"]), value, settings.cloud);
    if (!isNetwork(found)) return [found];
    return reservedRanges
      .filter(({ range }) => overlaps(found, cidr(range)))
      .map(({ range, reason }) =>
        problem(
          key(own.setting),
          value,
          `overlaps ${range}, ${reason}`,
          "a range that touches no reserved one, such as a part of 10.0.0.0/8, 172.16.0.0/12 or 192.168.0.0/16",
        ),
      );
  });

const disjoint = (a: NetworkField, b: NetworkField): Rule =>
  rule(["cloud", a.setting, b.setting, "network.existing"], (settings) => {
    const [first, second] = [a, b].map((field) =>
      sized(fieldOf(field, settings["network.existing"]), settings[field.setting], settings.cloud),
    );
    if (first === undefined || second === undefined) return [];
    if (!isNetwork(first) || !isNetwork(second) || !overlaps(first, second)) return [];
    return refuse(
      key(b.setting),
      settings[b.setting],
      `overlaps ${key(a.setting)}, ${settings[a.setting]}`,
      "three networks without a common address",
      "move one of the two",
    );
  });

/** Most machines of the pools at once, with one more per group while it rolls. */
function mostMachines(pools: StackConfig["pools"], zones: readonly string[]): number {
  return pools
    .map((pool) => {
      const groups = pool.perZone ? poolGroups(pool, zones).length : 1;
      const wanted = pool.autoscale === undefined ? (pool.count ?? 1) : pool.autoscale.max * groups;
      return wanted === 0 ? 0 : wanted + groups;
    })
    .reduce((sum, most) => sum + most, 0);
}

/** A network of the wrong size is reported by its own rule only. */
function tooFew(
  field: NetworkField,
  value: string,
  cloud: StackConfig["cloud"],
  wanted: number,
  capacity: (prefix: number) => number,
): readonly Problem[] {
  const network = sized(field, value, cloud);
  if (!isNetwork(network) || wanted <= capacity(network.prefix)) return [];
  return refuse(
    key(field.setting),
    value,
    `has room for ${capacity(network.prefix)} machines, but the pools may grow to ${wanted}`,
    "a range with room for every machine, control plane and one more per group for replacements included",
    "choose a larger range, or lower count or autoscale.max",
  );
}

export const addressRules: Rules = {
  ofMachines: oneNetwork(machines),
  ofPods: whereNodesHaveRanges(oneNetwork(pods)),
  ofServices: oneNetwork(services),
  machinesAndPods: whereNodesHaveRanges(disjoint(machines, pods)),
  machinesAndServices: disjoint(machines, services),
  podsAndServices: whereNodesHaveRanges(disjoint(pods, services)),
  /**
   * Every node takes a /24 of the pod range and every machine an address of a private subnet. When either runs out,
   * nodes come up without a pod network or not at all.
   */
  roomForPods: whereNodesHaveRanges(
    rule(["cloud", "kubernetes.podCidr", "controlPlane.replicas", "pools", "network.zones"], (settings) =>
      tooFew(
        pods,
        settings["kubernetes.podCidr"],
        settings.cloud,
        mostMachines(settings.pools, settings["network.zones"]) + settings["controlPlane.replicas"],
        (prefix) => 2 ** (24 - prefix),
      ),
    ),
  ),
  /** A private subnet is a quarter of the network; the clouds, load balancers and endpoints take some addresses. */
  roomForMachines: rule(["cloud", "network.cidr", "network.existing", "network.zones", "pools"], (settings) => {
    const zones = settings["network.zones"];
    const existing = settings["network.existing"];
    const wanted = mostMachines(settings.pools, zones);
    if (existing !== undefined) {
      const room = roomInSubnets(existing);
      return wanted <= room
        ? []
        : refuse(
            key("network.existing.subnets"),
            room,
            `has room for ${room} machines in private subnets, but the pools may grow to ${wanted}`,
            "subnets with room for every machine, and one more per group for replacements",
            "name larger subnets, or lower count or autoscale.max",
          );
    }
    return tooFew(
      machines,
      settings["network.cidr"],
      settings.cloud,
      wanted,
      (prefix) => zones.length * (addressCount(prefix + 2) - 30),
    );
  }),
};
