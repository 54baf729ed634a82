import { createHash } from "node:crypto";
import { cloudFacts } from "../model/cloudFacts/cloudFacts.ts";
import { cloudNames } from "../model/cloudFacts/facts.ts";
import { configPrefix } from "../model/problem.ts";

/** What a plan has for a value that only Pulumi can decrypt (`secure:`), where there is no fake of the same form. */
export const encryptedText = "[secret]";

const encryptedLogin = JSON.stringify({ username: encryptedText, password: encryptedText });

/** Where a fake has a digest of the encrypted text, so that another text is another value. */
const digestPlace = "DIGEST";

/** Fakes of settings that may well be encrypted. The host is reserved (RFC 2606, section 2). */
const fakes: Readonly<Record<string, string>> = {
  "fenestra:httpProxy": `http://secret-${digestPlace}.invalid:3128`,
  "fenestra:proxyCredentials": encryptedLogin,
};

/**
 * What a plan takes for an encrypted value, `{ secure: CIPHERTEXT }`: a fake of the same form, if there is one, so that
 * it is planned as present.
 */
export function fakeOf(key: string, cloud: unknown, encrypted: unknown): string {
  const digest = createHash("sha256").update(JSON.stringify(encrypted)).digest("hex").slice(0, 8);
  return formOf(key, cloud).replace(digestPlace, digest);
}

function formOf(key: string, cloud: unknown): string {
  if (key === "fenestra:accountId")
    return cloudFacts[cloudNames.find((name) => name === cloud) ?? cloudNames[0]].account.fake;
  return (Object.hasOwn(fakes, key) ? fakes[key] : undefined) ?? encryptedText;
}

/** Whether it is `{ secure: CIPHERTEXT }`. */
export function isEncrypted(value: unknown): boolean {
  return typeof value === "object" && value !== null && !Array.isArray(value) && "secure" in value;
}

/** A structured value with its encrypted parts replaced. */
export function withoutEncrypted(value: unknown): unknown {
  if (isEncrypted(value)) return encryptedText;
  if (Array.isArray(value)) return value.map(withoutEncrypted);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, part]) => [key, withoutEncrypted(part)]));
}

/** Keys of our config values that are or have fakes. */
export function encryptedKeys(config: Readonly<Record<string, string>>): readonly string[] {
  const isFake = (key: string, text: string): boolean => {
    const form = text.replace(/(?<=^http:\/\/secret-)[0-9a-f]{8}(?=\.)/, digestPlace);
    return text.includes(encryptedText) || Object.keys(cloudFacts).some((cloud) => formOf(key, cloud) === form);
  };
  return Object.entries(config).flatMap(([key, text]) =>
    key.startsWith(configPrefix) && isFake(key, text) ? [key] : [],
  );
}
