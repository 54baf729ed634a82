import { ccgPlugins, ccgSecretForms, ccgSecrets } from "../../model/ccgPlugin.ts";
import { leastNodes, poolGroups } from "../../model/pools.ts";
import { registryFacts } from "../../model/registryAccess.ts";
import type { Problem } from "../problem.ts";
import { elsewhere, poolRule, type Rule, rule } from "./rule.ts";

/** StorageClasses for the cloud's disks, created by the add-on `storage`. */
const diskClassNames: readonly string[] = ["linux", "windows"];

/** StorageClass names are unique. */
const shareNames = rule(["addons.smb", "addons.storage"], ({ "addons.smb": smb, "addons.storage": storage }) =>
  (smb?.shares ?? []).flatMap(({ name }, index): Problem[] => {
    const path = `config.fenestra:addons.smb.shares[${index}].name`;
    if (storage && diskClassNames.includes(name)) {
      const message = "is the StorageClass of the cloud's disks";
      return [{ path, value: name, message, allowed: `a name other than ${diskClassNames.join(" and ")}` }];
    }
    return smb?.shares.findIndex((other) => other.name === name) === index
      ? []
      : [{ path, value: name, message: "is listed twice", allowed: "each name once" }];
  }),
);

const gmsaPath = "config.fenestra:addons.gmsa";

const accountNames = rule(["addons.gmsa"], ({ "addons.gmsa": gmsa }) => {
  const names = gmsa?.credentialSpecs.map(({ name }) => name) ?? [];
  return names.flatMap((name, index) =>
    names.indexOf(name) === index
      ? []
      : [
          {
            path: `${gmsaPath}.credentialSpecs[${index}].name`,
            value: name,
            message: "is listed twice",
            allowed: "each name once",
          },
        ],
  );
});

const secrets = rule(["cloud", "addons.gmsa"], ({ cloud, "addons.gmsa": gmsa }) =>
  (gmsa?.credentialSpecs ?? []).flatMap(({ secret, kmsKey }, index) => {
    const path = `${gmsaPath}.credentialSpecs[${index}]`;
    const { pattern, allowed } = ccgSecretForms[cloud];
    const problems: Problem[] = [];
    if (secret !== undefined && !pattern.test(secret)) {
      problems.push({ path: `${path}.secret`, value: secret, message: "is not the name of a secret", allowed });
    }
    const allowedKey = "a key only where secret names one of Secrets Manager";
    const foreign = elsewhere("aws", cloud, kmsKey, `${path}.kmsKey`, allowedKey);
    problems.push(...foreign);
    if (foreign.length === 0 && kmsKey !== undefined && secret === undefined)
      problems.push({ path: `${path}.kmsKey`, value: kmsKey, message: "is the key of no secret", allowed: allowedKey });
    return problems;
  }),
);

const unreadSecrets = rule(["addons.gmsa", "pools"], ({ "addons.gmsa": gmsa, pools }) =>
  (gmsa?.credentialSpecs ?? []).flatMap(({ secret }, index) =>
    secret === undefined || pools.some(({ ccgPlugin }) => ccgPlugin)
      ? []
      : [
          {
            path: `${gmsaPath}.credentialSpecs[${index}].secret`,
            value: secret,
            message: "is read by no node",
            allowed: "a secret only where a pool has ccgPlugin",
            remedy: "set ccgPlugin on the Windows pools that run pods with this account",
          },
        ],
  ),
);

const linuxPlugin = poolRule(["os", "ccgPlugin"], [], (pool, path) =>
  pool.ccgPlugin && pool.os === "linux"
    ? [{ path: `${path}.ccgPlugin`, value: true, message: "is meant for Windows pools", allowed: "false on Linux" }]
    : [],
);

const plugins = poolRule(["os", "ccgPlugin", "image"], ["addons.gmsa", "cloud"], (pool, poolPath, { "addons.gmsa": gmsa, cloud }) => {
  const path = `${poolPath}.ccgPlugin`;
  if (!pool.ccgPlugin || pool.os === "linux") return [];
  if (ccgSecrets(gmsa).length === 0) {
    const allowed = "true only where an account of addons.gmsa.credentialSpecs has a secret";
    return [{ path, value: true, message: "needs at least one gMSA account with a secret", allowed }];
  }
  // The newest image of the cloud is plain Windows Server.
  return ccgPlugins[cloud].install === undefined && pool.image === "latest"
    ? [
        {
          path,
          value: true,
          message: "has no plug-in to install, and the image latest has none",
          allowed: "true only with an image that has the plug-in, which AWS publishes in its own images alone",
          remedy: "pin an image of your own that has the plug-in",
        },
      ]
    : [];
});

const registryPath = "config.fenestra:registryAccess";

const registryResources = rule(["cloud", "registryAccess"], ({ cloud, registryAccess: access }) =>
  (access?.resources ?? []).flatMap((value, index) => {
    const { pattern, allowed } = registryFacts[cloud];
    return pattern.test(value)
      ? []
      : [{ path: `${registryPath}.resources[${index}]`, value, message: "is no registry of this cloud", allowed }];
  }),
);

const limitsPath = "config.fenestra:addons.autoscalerLimits";

const autoscalerLimits = rule(
  ["addons.autoscaler", "addons.autoscalerLimits", "controlPlane.replicas", "network.zones", "pools"],
  ({ "addons.autoscaler": given, "addons.autoscalerLimits": limits, pools, ...stack }): Problem[] => {
    if (limits === undefined) return [];
    if (!(given ?? pools.some(({ autoscale }) => autoscale !== undefined)))
      return [
        {
          path: limitsPath,
          value: limits,
          message: given === false ? "limits an autoscaler that is switched off" : "limits no autoscaler: no pool has autoscale",
          allowed: "limits only with the autoscaler",
          remedy: "leave them out, give a pool autoscale, or set addons.autoscaler for pools of other programs",
        },
      ];
    const least = pools
      .map((pool) => leastNodes(pool, poolGroups(pool, stack["network.zones"]).length))
      .reduce<number>((sum, nodes) => sum + nodes, stack["controlPlane.replicas"]);
    return limits.nodes === undefined || limits.nodes > least
      ? []
      : [
          {
            path: `${limitsPath}.nodes`,
            value: limits.nodes,
            message: `lets no pool grow: control plane and the least numbers of the pools are ${least} nodes`,
            allowed: `more than ${least}, or no limit`,
          },
        ];
  },
);

/** The rules on add-ons: what their options require of each other and of the pools, and what pulls from the cloud's registries need. */
export const addOnRules: readonly Rule[] = [
  shareNames,
  accountNames,
  secrets,
  unreadSecrets,
  linuxPlugin,
  plugins,
  registryResources,
  autoscalerLimits,
];
