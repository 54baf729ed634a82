import { defaultSizes } from "../model/pools.ts";
import { attempt } from "./partial.ts";
import type { Problem } from "./problem.ts";
import type { Rule } from "./rule.ts";
import type { StackConfig } from "./schema.ts";

const key = (path: string): string => `config.fenestra:${path}`;

/**
 * Words that Azure refuses in the names of what has an endpoint: vaults, the storage account and the public name of the API, which begin with
 * the cluster's name (Azure documentation, "Resolve reserved resource name errors"). The account has it without hyphens.
 */
const reserved = /microsoft|windows|^login/;

const reservedName: Rule = ({ name }) =>
  reserved.test(name) || reserved.test(name.replaceAll("-", ""))
    ? [
        {
          path: key("name"),
          value: name,
          message: "makes names of a vault and a storage account that Azure refuses: ReservedResourceName",
          allowed: "a name without microsoft and windows, hyphens not counted, that does not begin with login",
          remedy: "choose a name such as win-lab",
        },
      ]
    : [];

/**
 * Most tags of a stack file: of zones of private DNS each has at most 15 (Azure documentation, tag resources, "Limitations"), and the program
 * adds two.
 */
const mostTags = 13;

const tags: Rule = ({ tags: all }) => {
  const count = Object.keys(all).length;
  if (count <= mostTags) return [];
  return [
    {
      path: key("tags"),
      value: count,
      message: "has too many tags for Azure's DNS zones",
      allowed: `at most ${mostTags}`,
    },
  ];
};

/** Letters after the number of a D, E or F size; `undefined` for other families. */
const sizeLetters = /^Standard_[DEF]\d+(?:-\d+)?([a-z]*)/;

function diskProblems(size: string, path: string): readonly Problem[] {
  const letters = sizeLetters.exec(size)?.[1];
  if (letters === undefined || letters.includes("s")) return [];
  return [
    {
      path,
      value: size,
      message: "cannot have Premium disks, which every machine of Fenestra has",
      allowed: "a size with an s after the number, such as Standard_D2s_v5",
    },
  ];
}

/** Capability LowPriorityCapable of these is false (Azure documentation, use Azure Spot Virtual Machines, "Limitations"). */
const neverSpot = /^Standard_B\d|_Promo$/i;

const sizes: Rule = ({ controlPlane, pools }) => [
  ...attempt(() => diskProblems(controlPlane.size ?? defaultSizes.azure, key("controlPlane.size"))),
  ...[...pools.keys()].flatMap((index) => attempt(() => poolSize(pools[index], key(`pools[${index}].size`)))),
];

function poolSize(pool: StackConfig["pools"][number] | undefined, path: string): readonly Problem[] {
  if (pool === undefined) return [];
  const size = pool.size ?? defaultSizes.azure;
  const problems = diskProblems(size, path);
  if (!pool.spot || !neverSpot.test(size)) return problems;
  return [
    ...problems,
    {
      path,
      value: size,
      message: "is never given as a spot machine",
      allowed: "a D, E or F size and no promotional one, or spot: false",
    },
  ];
}

const azureOnly =
  (rule: Rule): Rule =>
  (config, lock) =>
    config.cloud === "azure" ? rule(config, lock) : [];

/** What Azure refuses, and AWS does not. */
export const azureRules: readonly Rule[] = [reservedName, tags, sizes].map(azureOnly);
