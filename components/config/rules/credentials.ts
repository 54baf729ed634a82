import { credentialsDocument } from "../../model/credentials.ts";
import { childPath, type Problem, problem, refuse } from "../../model/problem.ts";
import { encryptedText } from "../encrypted.ts";
import { key, type Rules, rule } from "./rule.ts";

/**
 * Bytes of a standard parameter (AWS Systems Manager documentation, "Managing parameter tiers"); Key Vault takes 25 kB.
 */
const largestSecret = 4096;

/** A registry as images and URLs name it, or containerd's word for all others. */
export const registryHost = /^(_default|[a-z0-9]([a-z0-9.-]*[a-z0-9])?(:\d{1,5})?)$/;

export const credentialRules: Rules = {
  withoutProxy: rule(["proxyCredentials", "httpProxy"], ({ proxyCredentials, httpProxy }) =>
    proxyCredentials === undefined || httpProxy !== undefined
      ? []
      : refuse(key("proxyCredentials"), "a login", "is a login without a proxy", "nothing without httpProxy"),
  ),
  hosts: rule(["registryCredentials", "mirror"], ({ registryCredentials = {}, mirror }) => {
    const mirrors = [mirror.artifacts, ...Object.values(mirror.registries)].filter((url) => url !== undefined);
    return Object.keys(registryCredentials).flatMap((value) => {
      const path = childPath(key("registryCredentials"), value);
      if (!registryHost.test(value) || value === "_default")
        return refuse(path, value, "is no host", "mirror.corp.example or mirror.corp.example:5000");
      if (/:(443|80)$/.test(value)) {
        const allowed = value.replace(/:\d+$/, "");
        return refuse(path, value, "names the scheme's own port, which URLs do without", allowed);
      }
      const open = mirrors.find((url) => url.startsWith("http:") && new URL(url).host === value);
      return open === undefined
        ? []
        : refuse(
            path,
            value,
            `would send its login unencrypted to ${open}`,
            "hosts whose URLs in mirror begin with https",
          );
    });
  }),
  length: rule(["proxyCredentials", "registryCredentials"], (settings) => {
    const bytes = Buffer.byteLength(credentialsDocument(settings) ?? "");
    return bytes <= largestSecret
      ? []
      : refuse(
          key(settings.registryCredentials === undefined ? "proxyCredentials" : "registryCredentials"),
          `${bytes} bytes`,
          "is too long for a parameter of AWS, in which all logins are kept together",
          `logins of at most ${largestSecret} bytes, encoded`,
        );
  }),
};

const logins = ["proxyCredentials", "registryCredentials"] as const;

/**
 * Passwords in clear text in the stack file, open to whoever may read the repository.
 *
 * @param values the config's values, keys without the project's prefix
 * @param isEncrypted whether something in a key's value is encrypted. Pulumi does not tell which part.
 */
export function plainPasswords(
  values: Readonly<Record<string, unknown>>,
  isEncrypted: (key: string) => boolean,
): readonly Problem[] {
  return logins.flatMap((name) =>
    isEncrypted(name)
      ? []
      : passwordsIn(values[name], [name])
          .filter(({ text }) => text !== encryptedText)
          .map(({ path }) =>
            problem(
              path.reduce(childPath, "config"),
              "***",
              "is a password in clear text",
              "an encrypted value",
              `${encryptCommand(path)}; then change the password, which the repository's history may hold`,
            ),
          ),
  );
}

export function encryptCommand([name = "", ...rest]: readonly string[]): string {
  const path = rest.reduce(childPath, `fenestra:${name}`);
  return `pulumi config set --secret --path ${/[["]/.test(path) ? `'${path}'` : path}`;
}

function passwordsIn(
  value: unknown,
  path: readonly string[],
): readonly { readonly path: readonly string[]; readonly text: string }[] {
  // A list is refused as such: positions are no hosts.
  if (typeof value !== "object" || value === null || Array.isArray(value)) return [];
  return Object.entries(value).flatMap(([key, part]) =>
    key === "password" && typeof part === "string"
      ? [{ path: [...path, key], text: part }]
      : passwordsIn(part, [...path, key]),
  );
}
