import { X509Certificate } from "node:crypto";
import { parseCidr } from "../../model/cidr.ts";
import { cloudFacts } from "../../model/cloudFacts/cloudFacts.ts";
import { childPath, type Problem } from "../problem.ts";
import { addressRules, notANetwork } from "./addresses.ts";
import { encryptCommand, registryHost } from "./credentials.ts";
import { type Rule, rule } from "./rule.ts";

const key = (path: string): string => `config.fenestra:${path}`;

/** `NAT: none` requires another source for everything that machines fetch. */
const restrictedNetwork = rule(["cloud", "network.nat", "mirror"], ({ cloud, "network.nat": nat, mirror }) => {
  if (nat !== "none") return [];
  const { natRefusal } = cloudFacts[cloud].network;
  if (natRefusal !== undefined) return [{ path: key("network.nat"), value: nat, ...natRefusal }];
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
      if (prefix === undefined) return [{ path, value, message: notANetwork(value), allowed: "an IPv4 network whose host bits are zero" }];
      // On Azure the rule for callers from inside lets them in by the public balancer too, which keeps their addresses.
      if (way === "private" && prefix < 8)
        return [{ path, value, message: "is more than a network of yours", allowed: "networks of /8 to /32" }];
      if (way === "private" && own.includes(value))
        return [{ path, value, message: "is the cluster's own network, which is let in anyway", allowed: "others" }];
      return allow.indexOf(value) === index ? [] : [{ path, value, message: "is listed twice", allowed: "each network once" }];
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
          message: "has a query, a fragment or characters that are not used",
          allowed: "scheme, host, port and a plain path only",
        },
      ];
}

function loginAt(path: string, url: string): readonly string[] {
  return path === key("httpProxy") ? ["proxyCredentials"] : ["registryCredentials", URL.parse(url)?.host ?? "HOST"];
}

/** What Go's programs and curl take in NO_PROXY: a host, a domain with a dot before it, an address or a network. */
const noProxyEntry = /^(?:\.?[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?(?::\d{1,5})?|(?:\d{1,3}\.){3}\d{1,3}\/\d{1,2})$/;

const noProxy = rule(["httpProxy", "noProxy"], ({ httpProxy, noProxy: entries = [] }) => {
  const path = key("noProxy");
  if (httpProxy === undefined && entries.length > 0)
    return [{ path, value: entries, message: "needs a proxy to make exceptions from", allowed: "nothing without httpProxy" }];
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
  ...addressRules,
  restrictedNetwork,
  access,
  registries,
  noProxy,
  authorities,
  rule(["httpProxy"], ({ httpProxy }) => urlProblems(key("httpProxy"), httpProxy)),
  rule(["mirror.artifacts"], (settings) => urlProblems(key("mirror.artifacts"), settings["mirror.artifacts"])),
  rule(["mirror.registries"], (settings) =>
    Object.entries(settings["mirror.registries"]).flatMap(([host, url]) => urlProblems(childPath(key("mirror.registries"), host), url)),
  ),
];
