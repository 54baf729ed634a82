import { ccgPlugins, ccgSecretForms, ccgSecrets } from "../model/ccgPlugin.ts";
import { attempt } from "./partial.ts";
import type { Problem } from "./problem.ts";
import type { Rule } from "./rule.ts";
import type { StackConfig } from "./schema.ts";

type Account = NonNullable<StackConfig["addons"]["gmsa"]>["credentialSpecs"][number];

/** StorageClasses of the cloud's disks, which the add-on `storage` makes. */
const diskClassNames: readonly string[] = ["linux", "windows"];

/** A StorageClass has its name to itself. */
const shareNames: Rule = ({ addons: { smb, storage } }) =>
  [...(smb?.shares.keys() ?? [])].flatMap((index) =>
    attempt((): Problem[] => {
      const name = smb?.shares[index]?.name ?? "";
      const path = `config.fenestra:addons.smb.shares[${index}].name`;
      if (storage && diskClassNames.includes(name)) {
        const message = "is the StorageClass of the cloud's disks";
        return [{ path, value: name, message, allowed: `a name other than ${diskClassNames.join(" and ")}` }];
      }
      return [...(smb?.shares.keys() ?? [])].some((other) => other < index && smb?.shares[other]?.name === name)
        ? [{ path, value: name, message: "is listed twice", allowed: "each name once" }]
        : [];
    }),
  );

const gmsaPath = "config.fenestra:addons.gmsa";
/** Goes over the accounts one by one, so that one the schema refused ends only its own check. */
function eachAccount(
  { addons: { gmsa } }: StackConfig,
  check: (account: Account, path: string, index: number) => readonly Problem[],
): readonly Problem[] {
  return [...(gmsa?.credentialSpecs.keys() ?? [])].flatMap((index) =>
    attempt(() => {
      const account = gmsa?.credentialSpecs[index];
      return account === undefined ? [] : check(account, `${gmsaPath}.credentialSpecs[${index}]`, index);
    }),
  );
}

const accountNames: Rule = (config) =>
  eachAccount(config, ({ name }, path, index) =>
    config.addons.gmsa?.credentialSpecs.findIndex((other) => other.name === name) === index
      ? []
      : [{ path: `${path}.name`, value: name, message: "is listed twice", allowed: "each name once" }],
  );

const secrets: Rule = (config) =>
  eachAccount(config, ({ secret, kmsKey }, path) => {
    const { pattern, allowed } = ccgSecretForms[config.cloud];
    const problems: Problem[] = [];
    if (secret !== undefined && !pattern.test(secret)) {
      problems.push({ path: `${path}.secret`, value: secret, message: "is not the name of a secret", allowed });
    }
    if (kmsKey !== undefined && (config.cloud === "azure" || secret === undefined)) {
      problems.push({
        path: `${path}.kmsKey`,
        value: kmsKey,
        message: config.cloud === "azure" ? "is an option of AWS" : "is the key of no secret",
        allowed: "a key only where secret names one of Secrets Manager",
      });
    }
    if (secret !== undefined && !config.pools.some(({ ccgPlugin }) => ccgPlugin)) {
      problems.push({
        path: `${path}.secret`,
        value: secret,
        message: "is read by no node",
        allowed: "a secret only where a pool has ccgPlugin",
        remedy: "set ccgPlugin on the Windows pools that run pods with this account",
      });
    }
    return problems;
  });

const pluginPools: Rule = ({ pools, addons: { gmsa } }) =>
  [...pools.keys()].flatMap((index) =>
    attempt((): Problem[] => {
      const pool = pools[index];
      if (pool === undefined || !pool.ccgPlugin) return [];
      const path = `config.fenestra:pools[${index}].ccgPlugin`;
      if (pool.os === "linux") {
        return [{ path, value: true, message: "is meant for Windows pools", allowed: "false on Linux" }];
      }
      if (ccgSecrets(gmsa).length === 0) {
        const allowed = "true only where an account of addons.gmsa.credentialSpecs has a secret";
        return [{ path, value: true, message: "has no account to fetch", allowed }];
      }
      // The newest image of the cloud is plain Windows Server.
      return gmsa?.plugin === undefined && pool.image === "latest"
        ? [
            {
              path,
              value: true,
              message: "has no plug-in to install, and the image latest has none",
              allowed: "true only with the plug-in's archive or an image that has the plug-in",
              remedy: "name the archive in addons.gmsa.plugin, or pin an image of your own",
            },
          ]
        : [];
    }),
  );

const archive: Rule = ({ cloud, pools, addons: { gmsa } }) => {
  if (gmsa?.plugin === undefined) return [];
  const path = `${gmsaPath}.plugin`;
  const unused = attempt((): Problem[] =>
    pools.some(({ ccgPlugin }) => ccgPlugin)
      ? []
      : [
          {
            path: `${path}.url`,
            value: gmsa.plugin?.url,
            message: "is installed on no node",
            allowed: "an archive only where a pool has ccgPlugin",
          },
        ],
  );
  return [
    ...unused,
    ...attempt((): Problem[] =>
      gmsa.plugin?.dll === undefined && ccgPlugins[cloud].dll === undefined
        ? [
            {
              path: `${path}.dll`,
              value: undefined,
              message: "is missing",
              allowed: "the name of the library in the archive, which AWS does not tell",
            },
          ]
        : [],
    ),
  ];
};

/** What the options of add-ons ask of each other and of the pools. */
export const addOnRules: readonly Rule[] = [shareNames, accountNames, secrets, pluginPools, archive];
