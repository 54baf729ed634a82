import { X509Certificate } from "node:crypto";
import { cidr, contains, parseCidr } from "../../model/cidr.ts";
import { cloudFacts } from "../../model/cloudFacts/cloudFacts.ts";
import { childPath, type Problem, refuse } from "../../model/problem.ts";
import { notANetwork, reservedRanges } from "./addresses.ts";
import { encryptCommand, registryHost } from "./credentials.ts";
import { whereNodesHaveRanges } from "./podNetworks.ts";
import { key, type Rule, type Rules, rule } from "./rule.ts";

/**
 * Nodes take every address of these ranges for a pod or a Service, so nothing else there is reached, or gets an answer.
 */
const taken = (range: "kubernetes.podCidr" | "kubernetes.serviceCidr"): Rule =>
  rule([range, "network.dns", "httpProxy", "mirror", "access.private"], (settings) => {
    const { "network.dns": dns, httpProxy, mirror, "access.private": callers } = settings;
    const urls = [
      ["httpProxy", httpProxy],
      ["mirror.artifacts", mirror.artifacts],
    ] as const;
    const hosts = urls.map(([at, url]) => [key(at), url, `${URL.parse(url ?? "")?.hostname}/32`] as const);
    const registries = Object.entries(mirror.registries).map(
      ([host, url]) => [childPath(key("mirror.registries"), host), url, `${URL.parse(url)?.hostname}/32`] as const,
    );
    const servers = (dns?.servers ?? []).map(
      (server, index) => [key(`network.dns.servers[${index}]`), server, `${server}/32`] as const,
    );
    const networks = (callers?.allow ?? []).map(
      (network, index) => [key(`access.private.allow[${index}]`), network, network] as const,
    );
    const whole = parseCidr(settings[range]);
    return [...hosts, ...registries, ...servers, ...networks].flatMap(([at, value, network]) => {
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
  return /^https?:\/\/[A-Za-z0-9.-]+(:\d{1,5})?(\/[A-Za-z0-9._~/-]*)?$/.test(text)
    ? []
    : refuse(
        path,
        text,
        "has a query, a fragment or characters that are not used",
        "scheme, host, port and a plain path only",
      );
}

function loginAt(path: string, url: string): readonly string[] {
  return path === key("httpProxy") ? ["proxyCredentials"] : ["registryCredentials", URL.parse(url)?.host ?? "HOST"];
}

/** What Go's programs and curl take in NO_PROXY: a host, a domain with a dot before it, an address or a network. */
const noProxyEntry = /^(?:\.?[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?(?::\d{1,5})?|(?:\d{1,3}\.){3}\d{1,3}\/\d{1,2})$/;

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
  access: rule(["access.public", "access.private", "network.cidr", "network.existing"], (settings) => {
    const own = [settings["network.cidr"], ...(settings["network.existing"]?.moreCidrs ?? [])];
    return (["public", "private"] as const).flatMap((way) => {
      const allow = settings[`access.${way}`]?.allow ?? [];
      return allow.flatMap((value, index) => {
        const path = key(`access.${way}.allow[${index}]`);
        const network = parseCidr(value);
        if (network === undefined)
          return refuse(path, value, notANetwork(value), "an IPv4 network whose host bits are zero");
        const { prefix } = network;
        const reserved = reservedRanges.find(({ range }) => contains(cidr(range), network));
        if (reserved !== undefined)
          return refuse(path, value, `is in ${reserved.range}, ${reserved.reason}`, "networks that callers come from");
        // On Azure the rule for callers from inside also admits them by the public balancer, which keeps their
        // addresses.
        if (way === "private" && prefix < 8)
          return refuse(path, value, "is more than a network of yours", "networks of /8 to /32");
        if (way === "private" && own.includes(value))
          return refuse(path, value, "is the cluster's own network, which is let in anyway", "others");
        return allow.indexOf(value) === index ? [] : refuse(path, value, "is listed twice", "each network once");
      });
    });
  }),
  registries: rule(["mirror.registries"], (settings) =>
    Object.keys(settings["mirror.registries"]).flatMap((host) => {
      const path = childPath(key("mirror.registries"), host);
      return registryHost.test(host)
        ? []
        : refuse(
            path,
            host,
            "is not a registry's host name",
            "a host name with an optional port, such as registry.k8s.io, or _default",
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
            "mirror.corp.example, .corp.example or 10.20.0.0/16; no scheme, no *",
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
