import type { IssuerConfig } from "../config/schema.ts";

/** Prefix of an issuer's user and group names in Kubernetes. */
export function signInPrefix({ name }: Pick<IssuerConfig, "name">): string {
  return `${name}:`;
}
