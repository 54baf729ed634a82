/** What stands in a plan for a value that only Pulumi can decrypt (`secure:`), where no fake of the same form does. */
export const encryptedText = "[secret]";

/** Fakes of the settings that somebody may well encrypt. The host is reserved (RFC 2606, section 2). */
const fakes: Readonly<Record<string, string | { readonly aws: string; readonly azure: string }>> = {
  "fenestra:httpProxy": "http://secret.invalid:3128",
  "fenestra:accountId": { aws: "000000000000", azure: "00000000-0000-0000-0000-000000000000" },
};

/** What a plan takes for an encrypted value: a fake of the same form where there is one, so that it is planned as present. */
export function fakeOf(key: string, cloud: unknown): string {
  const fake = Object.hasOwn(fakes, key) ? fakes[key] : undefined;
  return typeof fake === "object" ? fake[cloud === "azure" ? "azure" : "aws"] : (fake ?? encryptedText);
}

/** Whether it is an encrypted value: `{ secure: CIPHERTEXT }`. */
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

/** Keys of config values that are fakes, or have one in them. */
export function encryptedKeys(config: Readonly<Record<string, string>>): readonly string[] {
  const isFake = (key: string, text: string): boolean =>
    text.includes(encryptedText) || [fakeOf(key, "aws"), fakeOf(key, "azure")].includes(text);
  return Object.entries(config).flatMap(([key, text]) => (isFake(key, text) ? [key] : []));
}
