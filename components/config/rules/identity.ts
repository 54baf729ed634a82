import type { Problem } from "../problem.ts";
import { type Rule, rule } from "./rule.ts";

const key = (path: string): string => `config.fenestra:access.${path}`;

const serviceAccountKeys = rule(["access.serviceAccountKeys"], ({ "access.serviceAccountKeys": names }) =>
  names.flatMap((name, index): Problem[] =>
    names.indexOf(name) === index
      ? []
      : [
          {
            path: key(`serviceAccountKeys[${index}]`),
            value: name,
            message: "is listed twice",
            allowed: "each key once",
          },
        ],
  ),
);

/** The rules on keys and identities of service accounts. */
export const identityRules: readonly Rule[] = [serviceAccountKeys];
