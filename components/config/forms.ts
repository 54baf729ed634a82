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

const ipv4Cidr = /^(\d{1,3}\.){3}\d{1,3}\/\d{1,2}$/;

/** An IPv4 network. */
export const cidr = z
  .string()
  .regex(ipv4Cidr, "is not an IPv4 network in CIDR notation")
  .meta({ patternErrorMessage: "four numbers with dots, a slash and the prefix length", examples: ["10.0.0.0/16"] });

/** Certificates in PEM. */
export const certificate = (): z.ZodString =>
  z.string().regex(/^-----BEGIN CERTIFICATE-----\r?\n[\s\S]+-----END CERTIFICATE-----\s*$/, "is not a certificate in PEM");

/** What stands for a {@link certificate} in messages. */
export const exampleCertificate = "-----BEGIN CERTIFICATE-----\n...\n-----END CERTIFICATE-----";
