import { isIPv4 } from "node:net";
import { cloudFacts } from "../../model/cloudFacts/cloudFacts.ts";
import { iamLimits, policyLength } from "../../model/cloudFacts/iamLimits.ts";
import { dnsZone } from "../../model/dnsZone.ts";
import { refuse } from "../../model/problem.ts";
import { firstServiceAccountKey } from "../../model/serviceAccountKeys.ts";
import { statementsDocument } from "../../model/workloadIdentity.ts";
import { type Rules, repeated, rule } from "./rule.ts";

const key = (path: string): string => `config.fenestra:access.${path}`;

/** A host name of at least two labels. */
const hostName = /^(?=.{1,253}$)(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/;

/** What ends in a number is an address, or nothing (WHATWG URL, "ends in a number"). */
const isName = (text: string): boolean => hostName.test(text) && !/\.\d+$/.test(text);

export const identityRules: Rules = {
  names: rule(["access.names"], ({ "access.names": all = [] }) =>
    all.flatMap((value, index) => {
      const path = key(`names[${index}]`);
      if (!isName(value) && !isIPv4(value))
        return refuse(path, value, "is no host name", "lower-case names with a dot, or IPv4 addresses; no *");
      return all.indexOf(value) === index ? [] : refuse(path, value, "is listed twice", "each name once");
    }),
  ),
  dns: rule(["cloud", "access.dns"], ({ cloud, "access.dns": own }) => {
    if (own === undefined) return [];
    const path = key("dns.name");
    if (!isName(own.name)) return refuse(path, own.name, "is no host name", "a lower-case name with a dot");
    const { dnsZone: form } = cloudFacts[cloud].access;
    return own.zone === undefined || form.pattern.test(own.zone)
      ? []
      : refuse(key("dns.zone"), own.zone, "is a zone of the other cloud", form.words);
  }),
  /** A zone's resource id names it and its subscription. */
  zone: rule(["cloud", "accountId", "access.dns"], ({ cloud, accountId, "access.dns": own }) => {
    const { pattern } = cloudFacts[cloud].access.dnsZone;
    if (own?.zone === undefined || !own.zone.startsWith("/") || !pattern.test(own.zone) || !isName(own.name)) return [];
    const [path, zonePath] = [key("dns.name"), key("dns.zone")];
    const zone = dnsZone(own.zone);
    return [
      ...(own.name.endsWith(`.${zone.name}`)
        ? []
        : refuse(path, own.name, `is not in the zone ${zone.name}`, `a name that ends with .${zone.name}`)),
      ...(accountId === undefined || accountId === zone.subscription
        ? []
        : refuse(
            zonePath,
            own.zone,
            "is in another subscription, which the program does not touch",
            "a zone of the stack's subscription",
            "leave the zone out, and make the record by your own means",
          )),
    ];
  }),
  serviceAccountKeys: rule(["access.serviceAccountKeys"], ({ "access.serviceAccountKeys": names }) =>
    repeated(names, (index) => key(`serviceAccountKeys[${index}]`), "each key once"),
  ),
  serviceAccounts: rule(
    ["cloud", "access.workloadIdentity"],
    ({ cloud, "access.workloadIdentity": workloadIdentity }) => {
      const all = workloadIdentity?.serviceAccounts ?? [];
      const own = cloudFacts[cloud].access.rights;
      return all.flatMap((account, index) => {
        const { namespace, name } = account;
        const path = key(`workloadIdentity.serviceAccounts[${index}]`);
        return [
          ...(own.every((field) => account[field].length === 0)
            ? refuse(path, `${namespace}/${name}`, "has no rights", own.join(" or "))
            : []),
          ...(policyLength(JSON.stringify(statementsDocument(account.statements))) > iamLimits.inline
            ? refuse(
                `${path}.statements`,
                `${account.statements.length} statements`,
                "is more than the inline policies of a role may have",
                `at most ${iamLimits.inline} characters of JSON`,
                "make a policy of your own, and name it in policies",
              )
            : []),
          // Pods there run the cluster, and a policy on them could keep it from starting.
          ...(/^(kube|fenestra)-/.test(namespace)
            ? refuse(
                `${path}.namespace`,
                namespace,
                "is a namespace of the system",
                "a namespace whose name begins with neither kube- nor fenestra-",
              )
            : []),
          ...(all.findIndex((other) => other.namespace === namespace && other.name === name) === index
            ? []
            : refuse(path, `${namespace}/${name}`, "is listed twice", "each service account once")),
        ];
      });
    },
  ),
  signingKey: rule(
    ["cloud", "access.workloadIdentity", "access.serviceAccountKeys"],
    ({ cloud, "access.workloadIdentity": workloadIdentity, "access.serviceAccountKeys": keys }) =>
      cloudFacts[cloud].access.rsaTokens && workloadIdentity !== undefined && keys[0] === firstServiceAccountKey
        ? refuse(
            key("serviceAccountKeys[0]"),
            keys[0],
            "signs with P-256, which Entra ID refuses (AADSTS5002738)",
            "an RSA key in first place while access.workloadIdentity is there",
            "begin a new cluster with [rsa-1]; replace the key of one that runs first, as docs/operations/keys.md says, and then set access.workloadIdentity",
          )
        : [],
  ),
  /** What the API server would take, and nobody's token would fit. */
  signIn: rule(["access.signIn"], ({ "access.signIn": all }) =>
    all.flatMap(({ issuer, groupsClaim, roles }, index) => {
      const path = key(`signIn[${index}]`);
      const names = Object.keys(roles);
      return [
        ...(names.length > 0 && groupsClaim === undefined
          ? refuse(
              `${path}.roles`,
              names,
              "are for groups, and no claim tells a person's",
              "nothing without groupsClaim",
              "set groupsClaim to that of the issuer, mostly groups",
            )
          : []),
        ...(/\/\.well-known\//.test(issuer)
          ? refuse(
              `${path}.issuer`,
              issuer,
              "is the address of the issuer's document",
              "the issuer itself, as its tokens have it in iss",
              `write ${issuer.replace(/\/\.well-known\/.*/, "")}`,
            )
          : []),
        ...(/^https:\/\/(login\.microsoftonline\.|sts\.windows\.net)[^/]*\/(common|organizations|consumers)(\/|$)/.test(
          issuer,
        )
          ? refuse(
              `${path}.issuer`,
              issuer,
              "is Entra's word for several tenants, which no token has in iss",
              "the URL with the id of your tenant",
            )
          : []),
      ];
    }),
  ),
  /** The API server refuses to start with an issuer for people in whose name it issues tokens itself. */
  ownIssuer: rule(
    ["access.workloadIdentity", "access.signIn"],
    ({ "access.workloadIdentity": workloadIdentity, "access.signIn": signIn }) =>
      workloadIdentity?.issuer !== undefined && signIn.some(({ issuer }) => issuer === workloadIdentity.issuer)
        ? refuse(
            key("workloadIdentity.issuer"),
            workloadIdentity.issuer,
            "is an issuer of access.signIn too",
            "another URL",
          )
        : [],
  ),
};
