import type { IssuerConfig } from "../config/schema.ts";

/** What names and groups of an issuer's people begin with in Kubernetes. */
export function signInPrefix({ name }: Pick<IssuerConfig, "name">): string {
  return `${name}:`;
}
