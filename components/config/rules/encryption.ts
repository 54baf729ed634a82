import type { Problem } from "../problem.ts";
import { type Rule, rule } from "./rule.ts";

const keys = rule(["secretsEncryption"], ({ secretsEncryption }) => {
  const names = secretsEncryption?.keys ?? [];
  return names.flatMap((name, index): Problem[] =>
    names.indexOf(name) === index
      ? []
      : [
          {
            path: `config.fenestra:secretsEncryption.keys[${index}]`,
            value: name,
            message: "is listed twice",
            allowed: "each key once",
          },
        ],
  );
});

/** The rules on the encryption of Secrets. */
export const encryptionRules: readonly Rule[] = [keys];
