import { cloudFacts } from "../../model/cloudFacts/cloudFacts.ts";
import { ccgKeys, ccgPlugins, ccgSecretForms, ccgSecrets, registryFacts } from "../../model/cloudFacts/identities.ts";
import { refuse } from "../../model/problem.ts";
import { poolRule, type Rules, repeated, rule } from "./rule.ts";

/** StorageClasses of the add-on `storage`. */
const diskClassNames: readonly string[] = ["linux", "windows"];

const gmsaPath = "config.fenestra:addons.gmsa";

const registryPath = "config.fenestra:registryAccess";

const path = "config.fenestra:addons.logs";

const destinations = ["cloudwatch", "azureMonitor", "otlp"] as const;

export const addOnRules: Rules = {
  shareNames: rule(["addons.smb", "addons.storage"], ({ "addons.smb": smb, "addons.storage": storage }) =>
    (smb?.shares ?? []).flatMap(({ name }, index) => {
      const path = `config.fenestra:addons.smb.shares[${index}].name`;
      if (storage && diskClassNames.includes(name)) {
        const message = "is the StorageClass of the cloud's disks";
        return refuse(path, name, message, `a name other than ${diskClassNames.join(" and ")}`);
      }
      return smb?.shares.findIndex((other) => other.name === name) === index
        ? []
        : refuse(path, name, "is listed twice", "each name once");
    }),
  ),
  snapshotsOfDisks: rule(["addons.storage", "addons.volumeSnapshots"], (given) =>
    given["addons.storage"] || !given["addons.volumeSnapshots"]
      ? []
      : refuse(
          "config.fenestra:addons.volumeSnapshots",
          true,
          "has no disks without addons.storage",
          "false",
          "switch addons.storage on",
        ),
  ),
  accountNames: rule(["addons.gmsa"], ({ "addons.gmsa": gmsa }) => {
    const names = gmsa?.credentialSpecs.map(({ name }) => name) ?? [];
    return repeated(names, (index) => `${gmsaPath}.credentialSpecs[${index}].name`, "each name once");
  }),
  secrets: rule(["cloud", "addons.gmsa"], ({ cloud, "addons.gmsa": gmsa }) =>
    (gmsa?.credentialSpecs ?? []).flatMap(({ secret, kmsKey }, index) => {
      const path = `${gmsaPath}.credentialSpecs[${index}]`;
      const { pattern, allowed } = ccgSecretForms[cloud];
      const allowedKey = "a key only where secret names one of Secrets Manager";
      if (secret === undefined)
        return kmsKey === undefined ? [] : refuse(`${path}.kmsKey`, kmsKey, "is the key of no secret", allowedKey);
      return pattern.test(secret) ? [] : refuse(`${path}.secret`, secret, "is not the name of a secret", allowed);
    }),
  ),
  unreadSecrets: rule(["addons.gmsa", "pools"], ({ "addons.gmsa": gmsa, pools }) =>
    (gmsa?.credentialSpecs ?? []).flatMap(({ secret }, index) =>
      secret === undefined || pools.some(({ ccgPlugin }) => ccgPlugin)
        ? []
        : refuse(
            `${gmsaPath}.credentialSpecs[${index}].secret`,
            secret,
            "is read by no node",
            "a secret only where a pool has ccgPlugin",
            "set ccgPlugin on the Windows pools that run pods with this account",
          ),
    ),
  ),
  plugins: poolRule(
    ["os", "ccgPlugin", "image"],
    ["addons.gmsa", "cloud"],
    (pool, poolPath, { "addons.gmsa": gmsa, cloud }) => {
      const path = `${poolPath}.ccgPlugin`;
      if (!pool.ccgPlugin || pool.os === "linux") return [];
      if (ccgSecrets(gmsa).length === 0) {
        const allowed = "true only where an account of addons.gmsa.credentialSpecs has a secret";
        return refuse(path, true, "needs at least one gMSA account with a secret", allowed);
      }
      // The newest image of the cloud is plain Windows Server.
      return ccgPlugins[cloud].install === undefined && pool.image === "latest"
        ? refuse(
            path,
            true,
            "has no plug-in to install, and the image latest has none",
            "true only with an image that has the plug-in, which AWS publishes in its own images alone",
            "pin an image of your own that has the plug-in",
          )
        : [];
    },
  ),
  registryResources: rule(["cloud", "registryAccess"], ({ cloud, registryAccess: access }) =>
    (access?.resources ?? []).flatMap((value, index) => {
      const { pattern, allowed } = registryFacts[cloud];
      return pattern.test(value)
        ? []
        : refuse(`${registryPath}.resources[${index}]`, value, "is no registry of this cloud", allowed);
    }),
  ),
  roomForLists: rule(["cloud", "registryAccess", "addons.gmsa"], ({ cloud, registryAccess, "addons.gmsa": gmsa }) => {
    const { room } = registryFacts[cloud];
    const [secrets, keys] = [ccgSecrets(gmsa), ccgKeys(gmsa)];
    return Object.entries({
      [`${registryPath}.resources`]: registryAccess?.resources ?? [],
      // The right to use keys names the secrets again.
      [`${gmsaPath}.credentialSpecs`]: keys.length === 0 ? secrets : [...secrets, ...secrets, ...keys],
    }).flatMap(([at, list]) => {
      const { length } = JSON.stringify(list);
      const allowed = `names of ${room} characters, which a policy has room for: share secrets, write * in ARNs`;
      return length <= room ? [] : refuse(at, `${length} characters`, "is too long a list", allowed);
    });
  }),
  oneDestination: rule(["cloud", "addons.logs"], ({ cloud, "addons.logs": logs }) => {
    if (logs === undefined) return [];
    const named = destinations.filter((name) => logs[name] !== undefined);
    if (named.length === 1) return [];
    const allowed = `one of ${cloudFacts[cloud].access.logs} and otlp`;
    return refuse(path, named, named.length === 0 ? "names no destination" : "names two", allowed);
  }),
  /** Collectors never use their node's identity, which has the machine's rights. */
  ownIdentity: rule(
    ["cloud", "addons.logs", "access.workloadIdentity"],
    ({ cloud, "addons.logs": logs, "access.workloadIdentity": workloadIdentity }) => {
      const service = cloudFacts[cloud].access.logs;
      if (logs?.[service] === undefined || workloadIdentity !== undefined) return [];
      return refuse(
        `${path}.${service}`,
        logs[service],
        "needs an identity of the collectors' own",
        `${service} only with access.workloadIdentity`,
        "add access.workloadIdentity: {}, or send to an endpoint of otlp with headers",
      );
    },
  ),
  headerNames: rule(["addons.logs"], ({ "addons.logs": logs }) => {
    const names = logs?.otlp?.headers.map(({ name }) => name) ?? [];
    const lower = names.map((name) => name.toLowerCase());
    return names.flatMap((name, index) =>
      lower.indexOf(name.toLowerCase()) === index
        ? []
        : refuse(`${path}.otlp.headers[${index}].name`, name, "is listed twice", "each name once"),
    );
  }),
};
