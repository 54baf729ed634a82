import type { IssuerConfig } from "../config/schema.ts";

/** Prefix of an issuer's user and group names in Kubernetes. */
export function signInPrefix({ name }: Pick<IssuerConfig, "name">): string {
  return `${name}:`;
}

/** Group of the administrators' kubeconfig: a later generation takes the rights from every kubeconfig before it. */
export const administratorsGroup = (generation: number): string => `fenestra:administrators-${generation}`;
