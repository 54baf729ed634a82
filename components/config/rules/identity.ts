import { dnsZone } from "../../model/dnsZone.ts";
import { firstServiceAccountKey } from "../../model/serviceAccountKeys.ts";
import type { Problem } from "../problem.ts";
import { elsewhere, type Rule, rule } from "./rule.ts";

const key = (path: string): string => `config.fenestra:access.${path}`;

const serviceAccountKeys = rule(["access.serviceAccountKeys"], ({ "access.serviceAccountKeys": names }) =>
  names.flatMap((name, index): Problem[] =>
    names.indexOf(name) === index
      ? []
      : [
          {
            path: key(`serviceAccountKeys[${index}]`),
            value: name,
            message: "is listed twice",
            allowed: "each key once",
          },
        ],
  ),
);

/** A host name of at least two labels, or an IPv4 address: what a certificate may have. */
const hostName = /^(?=.{1,253}$)(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/;

const names = rule(["access.names"], ({ "access.names": all = [] }) =>
  all.flatMap((value, index): Problem[] => {
    const path = key(`names[${index}]`);
    if (!hostName.test(value))
      return [{ path, value, message: "is no host name", allowed: "lower-case names with a dot, or IPv4 addresses; no *" }];
    return all.indexOf(value) === index ? [] : [{ path, value, message: "is listed twice", allowed: "each name once" }];
  }),
);

const dns = rule(["cloud", "accountId", "access.dns"], ({ cloud, accountId, "access.dns": own }) => {
  if (own === undefined) return [];
  const path = key("dns.name");
  if (!hostName.test(own.name) || /^[0-9.]+$/.test(own.name))
    return [{ path, value: own.name, message: "is no host name", allowed: "a lower-case name with a dot" }];
  if (own.zone === undefined) return [];
  const zonePath = key("dns.zone");
  if (own.zone.startsWith("/") === (cloud === "aws"))
    return [
      {
        path: zonePath,
        value: own.zone,
        message: "is a zone of the other cloud",
        allowed: cloud === "aws" ? "the id of a hosted zone of Route 53" : "the resource id of a DNS zone",
      },
    ];
  if (cloud === "aws") return [];
  const zone = dnsZone(own.zone);
  return [
    ...(own.name.endsWith(`.${zone.name}`)
      ? []
      : [
          {
            path,
            value: own.name,
            message: `is not in the zone ${zone.name}`,
            allowed: `a name that ends with .${zone.name}`,
          },
        ]),
    ...(accountId === undefined || accountId === zone.subscription
      ? []
      : [
          {
            path: zonePath,
            value: own.zone,
            message: "is in another subscription, which the program does not touch",
            allowed: "a zone of the stack's subscription",
            remedy: "leave the zone out, and make the record by your own means",
          },
        ]),
  ];
});

/** Rights that a cloud knows, and the other cloud's. */
const rights = { aws: ["policies", "statements"], azure: ["roles"] } as const;

const serviceAccounts = rule(["cloud", "access.workloadIdentity"], ({ cloud, "access.workloadIdentity": workloadIdentity }) => {
  const all = workloadIdentity?.serviceAccounts ?? [];
  const other = cloud === "aws" ? "azure" : "aws";
  return all.flatMap((account, index): Problem[] => {
    const { namespace, name } = account;
    const path = key(`workloadIdentity.serviceAccounts[${index}]`);
    return [
      ...rights[other].flatMap((field) => elsewhere(other, account[field], `${path}.${field}`, rights[cloud].join(", "))),
      ...(rights[cloud].every((field) => account[field].length === 0)
        ? [{ path, value: `${namespace}/${name}`, message: "has no rights", allowed: rights[cloud].join(" or ") }]
        : []),
      // Pods there run the cluster itself, and a policy on them could keep it from starting.
      ...(/^(kube|fenestra)-/.test(namespace)
        ? [
            {
              path: `${path}.namespace`,
              value: namespace,
              message: "is a namespace of the system",
              allowed: "a namespace whose name begins with neither kube- nor fenestra-",
            },
          ]
        : []),
      ...(all.findIndex((other) => other.namespace === namespace && other.name === name) === index
        ? []
        : [{ path, value: `${namespace}/${name}`, message: "is listed twice", allowed: "each service account once" }]),
    ];
  });
});

const signingKey = rule(
  ["cloud", "access.workloadIdentity", "access.serviceAccountKeys"],
  ({ cloud, "access.workloadIdentity": workloadIdentity, "access.serviceAccountKeys": keys }) =>
    cloud === "azure" && workloadIdentity !== undefined && keys[0] === firstServiceAccountKey
      ? [
          {
            path: key("serviceAccountKeys[0]"),
            value: keys[0],
            message: "signs with P-256, which Entra ID refuses (AADSTS5002738)",
            allowed: "an RSA key in first place while access.workloadIdentity is there",
            remedy:
              "begin a new cluster with [rsa-1]; replace the key of one that runs first, as docs/operations.md says, and then set access.workloadIdentity",
          },
        ]
      : [],
);

/** The API server refuses to start with an issuer for people that it issues tokens for itself. */
const ownIssuer = rule(
  ["access.workloadIdentity", "access.signIn"],
  ({ "access.workloadIdentity": workloadIdentity, "access.signIn": signIn }) =>
    workloadIdentity?.issuer !== undefined && signIn.some(({ issuer }) => issuer === workloadIdentity.issuer)
      ? [
          {
            path: key("workloadIdentity.issuer"),
            value: workloadIdentity.issuer,
            message: "is an issuer of access.signIn too",
            allowed: "another URL",
          },
        ]
      : [],
);

/** The rules on keys and identities of service accounts. */
export const identityRules: readonly Rule[] = [names, dns, serviceAccountKeys, serviceAccounts, signingKey, ownIssuer];
