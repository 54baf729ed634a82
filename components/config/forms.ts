import { z } from "zod";

/** Lower-case name as Kubernetes and both clouds accept it. */
export const dnsName = /^[a-z]([a-z0-9-]*[a-z0-9])?$/;

/** The rule in words: editors and our own messages show `patternErrorMessage` in place of the pattern. */
export const nameForm = {
  patternErrorMessage: "lower-case letters, digits and hyphens, a letter first, no hyphen last",
  examples: ["win2022"],
};

/** A {@link dnsName}. */
export const lowerCaseName = (): z.ZodString => z.string().regex(dnsName, "is not a lower-case name");

/** A file that is fetched: its https URL and its SHA-256, each with its description. */
export const pinnedFile = (url: { readonly description: string; readonly example: string }, digest: string) => ({
  url: z.url({ protocol: /^https$/ }).meta({
    patternErrorMessage: "an https URL",
    examples: [url.example],
    description: url.description,
  }),
  sha256: z
    .string()
    .regex(/^[0-9a-f]{64}$/, "is not a SHA-256")
    .meta({
      patternErrorMessage: "64 hexadecimal digits in lower case",
      examples: ["0".repeat(64)],
      description: digest,
    }),
});
