import type { Problem } from "../problem.ts";
import { type Rule, rule } from "./rule.ts";

const names = rule(["secretsEncryption"], ({ secretsEncryption: { keys = [] } = {} }) =>
  keys.flatMap((value, index): Problem[] =>
    keys.indexOf(value) === index
      ? []
      : [{ path: `config.fenestra:secretsEncryption.keys[${index}]`, value, message: "is listed twice", allowed: "each key once" }],
  ),
);

export const encryptionRules: readonly Rule[] = [names];
