import { attempt } from "./partial.ts";
import type { Problem } from "./problem.ts";
import type { Rule } from "./rule.ts";

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

/** What the options of add-ons ask of each other and of the pools. */
export const addOnRules: readonly Rule[] = [shareNames];
