import { isIPv4 } from "node:net";
import { cloudFacts } from "../../model/cloudFacts/cloudFacts.ts";
import { accountKey, statementsDocument } from "../../model/cloudFacts/identities.ts";
import { dnsZone, iamLimits, policyLength } from "../../model/cloudFacts/ids.ts";
import { firstServiceAccountKey } from "../../model/keyLists.ts";
import { credentialsDocument } from "../../model/nodeSettings.ts";
import { childPath, type Problem, problem, refuse } from "../../model/problem.ts";
import { encryptedText } from "../stackFile.ts";
import { key, type Rules, repeated, rule } from "./rule.ts";

const accessKey = (path: string): string => `config.fenestra:access.${path}`;

/** A host name of at least two labels. */
const hostName = /^(?=.{1,253}$)(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/;

/** What ends in a number is an address, or nothing (WHATWG URL, "ends in a number"). */
const isName = (text: string): boolean => hostName.test(text) && !/\.\d+$/.test(text);

export const identityRules: Rules = {
  names: rule(["access.names"], ({ "access.names": all = [] }) =>
    all.flatMap((value, index) => {
      const path = accessKey(`names[${index}]`);
      if (!isName(value) && !isIPv4(value))
        return refuse(path, value, "is no host name", "lower-case names with a dot, or IPv4 addresses; no *");
      return all.indexOf(value) === index ? [] : refuse(path, value, "is listed twice", "each name once");
    }),
  ),
  dns: rule(["cloud", "access.dns"], ({ cloud, "access.dns": own }) => {
    if (own === undefined) return [];
    const path = accessKey("dns.name");
    if (!isName(own.name)) return refuse(path, own.name, "is no host name", "a lower-case name with a dot");
    const { dnsZone: form } = cloudFacts[cloud].access;
    return own.zone === undefined || form.pattern.test(own.zone)
      ? []
      : refuse(accessKey("dns.zone"), own.zone, "is a zone of the other cloud", form.words);
  }),
  /** A zone's resource id names it and its subscription. */
  zone: rule(["cloud", "accountId", "access.dns"], ({ cloud, accountId, "access.dns": own }) => {
    const { pattern } = cloudFacts[cloud].access.dnsZone;
    if (own?.zone === undefined || !own.zone.startsWith("/") || !pattern.test(own.zone) || !isName(own.name)) return [];
    const [path, zonePath] = [accessKey("dns.name"), accessKey("dns.zone")];
    const zone = dnsZone(own.zone);
    return [
      ...(own.name.endsWith(`.${zone.name.toLowerCase()}`)
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
    repeated(names, (index) => accessKey(`serviceAccountKeys[${index}]`), "each key once"),
  ),
  serviceAccounts: rule(
    ["cloud", "access.workloadIdentity"],
    ({ cloud, "access.workloadIdentity": workloadIdentity }) => {
      const all = workloadIdentity?.serviceAccounts ?? [];
      const own = cloudFacts[cloud].access.rights;
      const at = (index: number) => accessKey(`workloadIdentity.serviceAccounts[${index}]`);
      const problems = all.flatMap((account, index) => {
        const { namespace } = account;
        const path = at(index);
        return [
          ...(own.every((field) => account[field].length === 0)
            ? refuse(path, accountKey(account), "has no rights", own.join(" or "))
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
        ];
      });
      return [...problems, ...repeated(all.map(accountKey), at, "each service account once")];
    },
  ),
  signingKey: rule(
    ["cloud", "access.workloadIdentity", "access.serviceAccountKeys"],
    ({ cloud, "access.workloadIdentity": workloadIdentity, "access.serviceAccountKeys": keys }) =>
      cloudFacts[cloud].access.rsaTokens && workloadIdentity !== undefined && keys[0] === firstServiceAccountKey
        ? refuse(
            accessKey("serviceAccountKeys[0]"),
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
      const path = accessKey(`signIn[${index}]`);
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
        // Kubernetes API, names of path segments; the binding would come last of all, and be refused.
        ...names.flatMap((role) =>
          /[/%]/.test(role)
            ? refuse(childPath(`${path}.roles`, role), role, "is no name of a ClusterRole", "names without / and %")
            : [],
        ),
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
            accessKey("workloadIdentity.issuer"),
            workloadIdentity.issuer,
            "is an issuer of access.signIn too",
            "another URL",
          )
        : [],
  ),
};

/**
 * Bytes of a standard parameter (AWS Systems Manager documentation, "Managing parameter tiers"); Key Vault takes 25 kB.
 */
const largestSecret = 4096;

/** A registry as images and URLs name it, or containerd's word for all others. containerd knows Docker Hub as docker.io. */
export const registryHost = /^(?!index\.docker\.io)(_default|[a-z0-9]([a-z0-9.-]*[a-z0-9])?(:[1-9]\d{0,4})?)$/;

export const credentialRules: Rules = {
  withoutProxy: rule(["proxyCredentials", "httpProxy"], ({ proxyCredentials, httpProxy }) =>
    proxyCredentials === undefined || httpProxy !== undefined
      ? []
      : refuse(key("proxyCredentials"), "a login", "is a login without a proxy", "nothing without httpProxy"),
  ),
  hosts: rule(["registryCredentials", "mirror"], ({ registryCredentials = {}, mirror }) => {
    const mirrors = [mirror.artifacts, ...Object.values(mirror.registries)].filter((url) => url !== undefined);
    return Object.keys(registryCredentials).flatMap((value) => {
      const path = childPath(key("registryCredentials"), value);
      if (!registryHost.test(value) || value === "_default")
        return refuse(path, value, "is no host", "mirror.corp.example, mirror.corp.example:5000 or docker.io");
      if (/:(443|80)$/.test(value)) {
        return refuse(path, value, "names the scheme's own port, which URLs do without", value.replace(/:\d+$/, ""));
      }
      const open = mirrors.find((url) => url.startsWith("http:") && new URL(url).host === value);
      return open === undefined
        ? []
        : refuse(
            path,
            value,
            `would send its login unencrypted to ${open}`,
            "hosts whose URLs in mirror begin with https",
          );
    });
  }),
  length: rule(["proxyCredentials", "registryCredentials"], (settings) => {
    const bytes = Buffer.byteLength(credentialsDocument(settings) ?? "");
    return bytes <= largestSecret
      ? []
      : refuse(
          key(settings.registryCredentials === undefined ? "proxyCredentials" : "registryCredentials"),
          `${bytes} bytes`,
          "is too long for a parameter of AWS, in which all logins are kept together",
          `logins of at most ${largestSecret} bytes, encoded`,
        );
  }),
};

const logins = ["proxyCredentials", "registryCredentials"] as const;

/**
 * Passwords in clear text in the stack file, open to whoever may read the repository.
 *
 * @param values the config's values, keys without the project's prefix
 * @param isEncrypted whether something in a key's value is encrypted. Pulumi does not tell which part.
 */
export function plainPasswords(
  values: Readonly<Record<string, unknown>>,
  isEncrypted: (key: string) => boolean,
): readonly Problem[] {
  return logins.flatMap((name) =>
    isEncrypted(name)
      ? []
      : passwordsIn(values[name], [name])
          .filter(({ text }) => text !== encryptedText)
          .map(({ path }) =>
            problem(
              path.reduce(childPath, "config"),
              "***",
              "is a password in clear text",
              "an encrypted value",
              `${encryptCommand(path)}; then change the password, which the repository's history may hold`,
            ),
          ),
  );
}

export function encryptCommand([name = "", ...rest]: readonly string[]): string {
  const path = rest.reduce(childPath, `fenestra:${name}`);
  return `pulumi config set --secret --path ${/[["]/.test(path) ? `'${path}'` : path}`;
}

function passwordsIn(
  value: unknown,
  path: readonly string[],
): readonly { readonly path: readonly string[]; readonly text: string }[] {
  // A list is refused as such: positions are no hosts.
  if (typeof value !== "object" || value === null || Array.isArray(value)) return [];
  return Object.entries(value).flatMap(([key, part]) =>
    key === "password" && typeof part === "string"
      ? [{ path: [...path, key], text: part }]
      : passwordsIn(part, [...path, key]),
  );
}
