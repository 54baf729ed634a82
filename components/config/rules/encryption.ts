import { kmsFacts } from "../../model/kms.ts";
import { firstEncryptionKey } from "../../model/secretsEncryption.ts";
import type { Problem } from "../problem.ts";
import { type Rule, rule } from "./rule.ts";

const key = (path: string): string => `config.fenestra:secretsEncryption.${path}`;

/** Values that stand in the list before. */
function repeated(values: readonly string[], path: (index: number) => string): readonly Problem[] {
  return values.flatMap((value, index) =>
    values.indexOf(value) === index ? [] : [{ path: path(index), value, message: "is listed twice", allowed: "each key once" }],
  );
}

const names = rule(["secretsEncryption"], ({ secretsEncryption: { keys = [], kms = [] } = {} }) => [
  ...repeated(keys, (index) => key(`keys[${index}]`)),
  ...repeated(
    kms.map(({ name }) => name),
    (index) => key(`kms[${index}].name`),
  ),
  ...kms.flatMap(({ name }, index): Problem[] => {
    const path = key(`kms[${index}].name`);
    if (name === firstEncryptionKey)
      return [{ path, value: name, message: "is the name of the key in the secret store", allowed: "another name" }];
    return keys.includes(name)
      ? []
      : [
          {
            path,
            value: name,
            message: "is not among secretsEncryption.keys, so nothing uses it",
            allowed: "a key that is listed there",
          },
        ];
  }),
]);

const kmsKeys = rule(["cloud", "secretsEncryption"], ({ cloud, secretsEncryption: { kms = [], plugin } = {} }) => {
  const { pattern, allowed, program } = kmsFacts[cloud];
  return [
    ...kms.flatMap((each, index): Problem[] =>
      pattern.test(each.key) ? [] : [{ path: key(`kms[${index}].key`), value: each.key, message: "is no key of this cloud", allowed }],
    ),
    ...(kms.length > 0 && plugin === undefined
      ? [
          {
            path: key("plugin"),
            value: undefined,
            message: "is missing: nobody publishes the program for machines",
            allowed: `url and sha256 of your build of ${program}`,
          },
        ]
      : []),
  ];
});

/** The rules on the encryption of Secrets. */
export const encryptionRules: readonly Rule[] = [names, kmsKeys];
