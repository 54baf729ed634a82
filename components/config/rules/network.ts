import { X509Certificate } from "node:crypto";
import { networkPrefixes } from "../../model/addressPlan.ts";
import { addressCount, type Cidr, cidr, overlaps, parseCidr } from "../../model/cidr.ts";
import { poolGroups } from "../../model/pools.ts";
import { podNetworkRules, whereNodesHaveRanges } from "../../podNetworks/rules.ts";
import { childPath, type Problem } from "../problem.ts";
import type { StackConfig } from "../schema.ts";
import { encryptCommand, registryHost } from "./credentials.ts";
import { roomInSubnets } from "./existingNetwork.ts";
import { type Rule, rule } from "./rule.ts";

const key = (path: string): string => `config.fenestra:${path}`;

/** Ranges that a cluster's networks must not overlap, with the reason. */
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
  readonly most: number | Readonly<Record<StackConfig["cloud"], number>>;
}

const machines: NetworkField = {
  setting: "network.cidr",
  least: networkPrefixes.largest,
  most: networkPrefixes.smallest,
};
/** The first range of an existing network is not divided; its subnets have rules of their own. */
const existingMachines: NetworkField = { setting: "network.cidr", least: 8, most: 28 };
/** Each node takes a /24; the controller manager splits a range by at most 16 bits (kubernetes/kubernetes, node-cidr-mask-size). */
const pods: NetworkField = { setting: "kubernetes.podCidr", least: 8, most: 22 };
/** The API server takes at most 20 host bits (kubernetes/kubernetes, service-cluster-ip-range). */
const services: NetworkField = { setting: "kubernetes.serviceCidr", least: 12, most: 24 };

/** The network of a field if its size is allowed, else what is wrong with it. */
function sized(field: NetworkField, value: string, cloud: StackConfig["cloud"]): Cidr | Problem {
  const { setting, least, most: limit } = field;
  const path = key(setting);
  const most = typeof limit === "number" ? limit : limit[cloud];
  const parsed = parseCidr(value);
  const allowed = `an IPv4 network whose host bits are zero, /${least} to /${most}`;
  if (parsed === undefined) return { path, value, message: notANetwork(value), allowed };
  if (parsed.prefix >= least && parsed.prefix <= most) return parsed;
  return { path, value, message: `is too ${parsed.prefix < least ? "large" : "small"} a network`, allowed };
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
      .map(({ range, reason }) => ({
        path: key(own.setting),
        value,
        message: `overlaps ${range}, ${reason}`,
        allowed: "a range that touches no reserved one, such as a part of 10.0.0.0/8, 172.16.0.0/12 or 192.168.0.0/16",
      }));
  });

const disjoint = (a: NetworkField, b: NetworkField): Rule =>
  rule(["cloud", a.setting, b.setting, "network.existing"], (settings) => {
    const [first, second] = [a, b].map((field) =>
      sized(fieldOf(field, settings["network.existing"]), settings[field.setting], settings.cloud),
    );
    if (first === undefined || second === undefined) return [];
    if (!isNetwork(first) || !isNetwork(second) || !overlaps(first, second)) return [];
    return [
      {
        path: key(b.setting),
        value: settings[b.setting],
        message: `overlaps ${key(a.setting)}, ${settings[a.setting]}`,
        allowed: "three networks without a common address",
        remedy: "move one of the two",
      },
    ];
  });

/** Most machines that the pools may have at once, including the extra one of a rolling replacement. */
function mostMachines(pools: StackConfig["pools"], zones: readonly string[]): number {
  return pools
    .map((pool) => {
      const groups = pool.perZone ? poolGroups(pool, zones).length : 1;
      const wanted = pool.autoscale === undefined ? (pool.count ?? 1) : pool.autoscale.max * groups;
      return wanted === 0 ? 0 : wanted + groups;
    })
    .reduce((sum, most) => sum + most, 0);
}

/**
 * Every node takes a /24 of the pod range and every machine an address of a private subnet. When either runs out, nodes come up without a pod
 * network or not at all, so it is checked here.
 */
const roomForPods = rule(
  ["cloud", "kubernetes.podCidr", "controlPlane.replicas", "pools", "network.zones"],
  (settings) =>
    tooFew(
      pods,
      settings["kubernetes.podCidr"],
      settings.cloud,
      mostMachines(settings.pools, settings["network.zones"]) + settings["controlPlane.replicas"],
      (prefix) => 2 ** (24 - prefix),
    ),
);

/** A private subnet is a quarter of the network; the clouds reserve five addresses, and load balancers and endpoints take some. */
const roomForMachines = rule(["cloud", "network.cidr", "network.existing", "network.zones", "pools"], (settings) => {
  const zones = settings["network.zones"];
  const existing = settings["network.existing"];
  const wanted = mostMachines(settings.pools, zones);
  if (existing !== undefined) {
    const room = roomInSubnets(existing);
    return wanted <= room
      ? []
      : [
          {
            path: key("network.existing.subnets"),
            value: room,
            message: `has room for ${room} machines in private subnets, but the pools may grow to ${wanted}`,
            allowed: "subnets with room for every machine, and one more per group for replacements",
            remedy: "name larger subnets, or lower count or autoscale.max",
          },
        ];
  }
  return tooFew(
    machines,
    settings["network.cidr"],
    settings.cloud,
    wanted,
    (prefix) => zones.length * (addressCount(prefix + 2) - 30),
  );
});

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
  return [
    {
      path: key(field.setting),
      value,
      message: `has room for ${capacity(network.prefix)} machines, but the pools may grow to ${wanted}`,
      allowed: "a range with room for every machine, control plane and one more per group for replacements included",
      remedy: "choose a larger range, or lower count or autoscale.max",
    },
  ];
}

/** `NAT: none` requires another source for everything that machines fetch. */
const restrictedNetwork = rule(["cloud", "network.nat", "mirror"], ({ cloud, "network.nat": nat, mirror }) => {
  if (nat !== "none") return [];
  if (cloud === "azure") {
    // Azure's resource manager supports private access only for whole management groups (Azure documentation, private link for Azure Resource
    // Manager).
    return [
      {
        path: key("network.nat"),
        value: nat,
        message: "cuts the cloud controller, the disk driver and the autoscaler off from Azure's resource manager",
        allowed: "single or perZone on Azure",
        remedy:
          "choose single; the security of the machines does not rest on it, since nothing comes in by a NAT gateway",
      },
    ];
  }
  const missing = [
    ...(mirror.artifacts === undefined ? ["mirror.artifacts"] : []),
    ...(Object.keys(mirror.registries).length === 0 ? ["mirror.registries"] : []),
  ];
  return missing.length === 0
    ? []
    : [
        {
          path: key("network.nat"),
          value: nat,
          message: `leaves the machines without a source for artifacts and images; missing: ${missing.join(", ")}`,
          allowed: "none together with mirror.artifacts and mirror.registries, else single or perZone",
          remedy: "set fenestra:mirror, or choose another nat",
        },
      ];
});

const access = rule(["access.public", "access.private", "network.cidr", "network.existing"], (settings) => {
  const own = [settings["network.cidr"], ...(settings["network.existing"]?.moreCidrs ?? [])];
  return (["public", "private"] as const).flatMap((way) => {
    const allow = settings[`access.${way}`]?.allow ?? [];
    return allow.flatMap((value, index): Problem[] => {
      const path = key(`access.${way}.allow[${index}]`);
      const prefix = parseCidr(value)?.prefix;
      if (prefix === undefined)
        return [{ path, value, message: notANetwork(value), allowed: "an IPv4 network whose host bits are zero" }];
      // On Azure the rule for callers from inside lets them in by the public balancer too, which keeps their addresses.
      if (way === "private" && prefix < 8)
        return [{ path, value, message: "is more than a network of yours", allowed: "networks of /8 to /32" }];
      if (way === "private" && own.includes(value))
        return [{ path, value, message: "is the cluster's own network, which is let in anyway", allowed: "others" }];
      return allow.indexOf(value) === index
        ? []
        : [{ path, value, message: "is listed twice", allowed: "each network once" }];
    });
  });
});

const registries = rule(["mirror.registries"], (settings) =>
  Object.keys(settings["mirror.registries"]).flatMap((host) => {
    const path = childPath(key("mirror.registries"), host);
    return registryHost.test(host)
      ? []
      : [
          {
            path,
            value: host,
            message: "is not a registry's host name",
            allowed: "a host name with an optional port, such as registry.k8s.io, or _default",
          },
        ];
  }),
);

/** URLs end up in files on the machines, so they may contain neither a password nor shell metacharacters. */
function urlProblems(path: string, text: string | undefined): readonly Problem[] {
  if (text === undefined) return [];
  if (/^[a-z]+:\/\/[^/]*@/i.test(text)) {
    return [
      {
        path,
        value: text,
        message: "carries a user name or a password, which would be written to every machine in clear text",
        allowed: "a URL without credentials",
        remedy: `${encryptCommand([...loginAt(path, text), "password"])}, and the name as username`,
      },
    ];
  }
  return /^https?:\/\/[A-Za-z0-9.-]+(:\d{1,5})?(\/[A-Za-z0-9._~/-]*)?$/.test(text)
    ? []
    : [
        {
          path,
          value: text,
          message: "has parts that are not used",
          allowed: "scheme, host, port and a plain path only",
        },
      ];
}

/** The setting for the login of a URL at a path. */
function loginAt(path: string, url: string): readonly string[] {
  return path === key("httpProxy") ? ["proxyCredentials"] : ["registryCredentials", URL.parse(url)?.host ?? "HOST"];
}

/** What Go's programs and curl take in NO_PROXY: a host, a domain with a dot before it, an address or a network. */
const noProxyEntry = /^(?:\.?[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?(?::\d{1,5})?|(?:\d{1,3}\.){3}\d{1,3}\/\d{1,2})$/;

const noProxy = rule(["httpProxy", "noProxy"], ({ httpProxy, noProxy: entries = [] }) => {
  const path = key("noProxy");
  if (httpProxy === undefined && entries.length > 0)
    return [
      { path, value: entries, message: "needs a proxy to make exceptions from", allowed: "nothing without httpProxy" },
    ];
  return entries.flatMap((value, index): Problem[] =>
    noProxyEntry.test(value) && (!value.includes("/") || parseCidr(value) !== undefined)
      ? []
      : [
          {
            path: `${path}[${index}]`,
            value,
            message: "is no host, domain or network",
            allowed: "mirror.corp.example, .corp.example or 10.20.0.0/16; no scheme, no *",
          },
        ],
  );
});

/** Each entry is one certificate of an authority: what is none would be trusted without effect, or not at all. */
const authorities = rule(["certificateAuthorities"], ({ certificateAuthorities: all = [] }) =>
  all.flatMap((pem, index): Problem[] => {
    const message = authorityProblem(pem, all.slice(0, index));
    return message === undefined
      ? []
      : [
          {
            path: key(`certificateAuthorities[${index}]`),
            value: `${pem.length} characters`,
            message,
            allowed: "one certificate of an authority in PEM, each once; a chain is several entries",
          },
        ];
  }),
);

function authorityProblem(pem: string, earlier: readonly string[]): string | undefined {
  if (/PRIVATE KEY/.test(pem)) return "holds a private key, which would be written to every machine";
  if (pem.split("-----BEGIN ").length !== 2) return "holds more than one certificate";
  if (earlier.some((other) => other.trim() === pem.trim())) return "is listed twice";
  try {
    return new X509Certificate(pem).ca ? undefined : "is no certificate of an authority: it may not sign others";
  } catch {
    return "cannot be read as a certificate";
  }
}

/** The rules on addresses and on what machines can reach. */
export const networkRules: readonly Rule[] = [
  oneNetwork(machines),
  whereNodesHaveRanges(oneNetwork(pods)),
  oneNetwork(services),
  whereNodesHaveRanges(disjoint(machines, pods)),
  disjoint(machines, services),
  whereNodesHaveRanges(disjoint(pods, services)),
  whereNodesHaveRanges(roomForPods),
  ...podNetworkRules,
  roomForMachines,
  restrictedNetwork,
  access,
  registries,
  noProxy,
  authorities,
  rule(["httpProxy"], ({ httpProxy }) => urlProblems(key("httpProxy"), httpProxy)),
  rule(["mirror.artifacts"], (settings) => urlProblems(key("mirror.artifacts"), settings["mirror.artifacts"])),
  rule(["mirror.registries"], (settings) =>
    Object.entries(settings["mirror.registries"]).flatMap(([host, url]) =>
      urlProblems(childPath(key("mirror.registries"), host), url),
    ),
  ),
];
