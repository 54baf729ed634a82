import { registryAccess, registryFacts } from "../model/registryAccess.ts";
import { attempt } from "./partial.ts";
import type { Problem } from "./problem.ts";
import type { Rule } from "./rule.ts";

const path = "config.fenestra:registryAccess";

const resources: Rule = ({ cloud, registryAccess: access }) =>
  [...(access?.resources.keys() ?? [])].flatMap((index) =>
    attempt((): Problem[] => {
      const value = access?.resources[index] ?? "";
      const { pattern, allowed } = registryFacts[cloud];
      return pattern.test(value)
        ? []
        : [{ path: `${path}.resources[${index}]`, value, message: "is no registry of this cloud", allowed }];
    }),
  );

/** A kubelet does not start without the plug-in that its configuration names. */
const plugins: Rule = (config, lock) => {
  if (config.registryAccess === undefined) return [];
  const files = registryAccess(config, lock)?.plugin;
  const systems = new Set(config.pools.map(({ os }) => (os === "linux" ? ("linux" as const) : ("windows" as const))));
  const { artifact } = registryFacts[config.cloud];
  return [...systems].flatMap((os) =>
    files?.[os] !== undefined
      ? []
      : [
          {
            path: `${path}.plugin.${os}`,
            value: undefined,
            message: "is missing",
            allowed: `URL and SHA-256 of ${artifact.name} for ${os}, of which the lock file has no digest`,
            remedy:
              "fetch the program once, look at it, keep it where the machines reach it, and name it with its digest",
          },
        ],
  );
};

/** What pulls from the cloud's registries need. */
export const registryRules: readonly Rule[] = [resources, plugins];
