import { z } from "zod";
import { cidrForm } from "../model/cidr.ts";

/** A setting in words, for messages, editors and the manual; `more` is what they need of its form. */
export function described<T extends z.ZodType>(schema: T, description: string, more: z.core.GlobalMeta = {}): T {
  return schema.meta({ ...more, description });
}

/** A setting that few stacks have, because an organisation demands it. */
export function ofOrganisation<T extends z.ZodType>(setting: T): T {
  return setting.meta({ ...setting.meta(), group: "organisation" });
}

/** Settings that belong together, and no others. */
export const section = <T extends z.core.$ZodShape>(description: string, shape: T) =>
  described(z.strictObject(shape), description);

/** A text of that form; `refusal` says of another what it is not. */
export const matching = (form: RegExp, refusal: string): z.ZodString => z.string().regex(form, refusal);

export const switchOn = (description: string) => described(z.boolean().default(true), description);
export const switchOff = (description: string) => described(z.boolean().default(false), description);

/** Lower-case name as Kubernetes and both clouds accept it. */
export const dnsName = /^[a-z]([a-z0-9-]*[a-z0-9])?$/;

/** Editors and our messages show `patternErrorMessage` in place of the pattern. */
export const nameForm = {
  patternErrorMessage: "lower-case letters, digits and hyphens, a letter first, no hyphen last",
  examples: ["win2022"],
};

export const lowerCaseName = (): z.ZodString => matching(dnsName, "is not a lower-case name");

export const cidr = matching(cidrForm, "is not an IPv4 network in CIDR notation").meta({
  patternErrorMessage: "four numbers with dots, a slash and the prefix length",
  examples: ["10.0.0.0/16"],
});

export const certificate = (): z.ZodString =>
  matching(/^-----BEGIN CERTIFICATE-----\r?\n[\s\S]+-----END CERTIFICATE-----\s*$/, "is not a certificate in PEM");

/** What stands for a {@link certificate} in messages. */
export const exampleCertificate = "-----BEGIN CERTIFICATE-----\n...\n-----END CERTIFICATE-----";
