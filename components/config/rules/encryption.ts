import { type Problem, refuse } from "../problem.ts";
import { type Rule, rule } from "./rule.ts";

const names = rule(["secretsEncryption"], ({ secretsEncryption: { keys = [] } = {} }) =>
  keys.flatMap((value, index): readonly Problem[] =>
    keys.indexOf(value) === index
      ? []
      : refuse(`config.fenestra:secretsEncryption.keys[${index}]`, value, "is listed twice", "each key once"),
  ),
);

export const encryptionRules: readonly Rule[] = [names];
