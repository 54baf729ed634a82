import type { IssuerConfig } from "../config/schema.ts";

/** Prefix of an issuer's user and group names in Kubernetes. */
export function signInPrefix({ name }: Pick<IssuerConfig, "name">): string {
  return `${name}:`;
}

/** Group of the administrators' kubeconfig: the next generation takes all earlier ones' rights. */
export const administratorsGroup = (generation: number): string => `fenestra:administrators-${generation}`;
