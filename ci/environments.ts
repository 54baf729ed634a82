import type * as pulumi from "@pulumi/pulumi";

/** Each has its own environment on GitHub and identity in the cloud. */
export const purposes = ["preview", "deploy", "drift"] as const;

export type Purpose = (typeof purposes)[number];

/** Name of the environment on GitHub in which a workflow handles a stack. */
export function environmentName(purpose: Purpose, stack: string): string {
  return purpose === "deploy" ? stack : `${purpose}-${stack}`;
}

/** By name and, where subjects are immutable, by number. */
export interface Repository {
  /** `OWNER/NAME`. */
  readonly name: string;
  /** Of owner and repository; none for one from before 15 July 2026 that has not opted in. */
  readonly ids?: { readonly owner: string; readonly repository: string } | undefined;
}

/** Of GitHub's tokens. */
export const issuer = "https://token.actions.githubusercontent.com";

/**
 * Of a token for an environment. Repositories made after 15 July 2026 carry numbers, so that an abandoned name gives no
 * rights (GitHub documentation, "OpenID Connect reference", immutable subject claims).
 */
export function subject({ name, ids }: Repository, environment: string): string {
  const [owner = "", repository = ""] = name.split("/");
  const full = ids === undefined ? name : `${owner}@${ids.owner}/${repository}@${ids.repository}`;
  // A colon would end the part (same page, "Filtering for metadata containing :").
  return `repo:${full}:environment:${environment.replaceAll(":", "%3A")}`;
}

/** On GitHub; none is secret. */
export type Variables = Readonly<Record<string, pulumi.Output<string>>>;

/** By environment: variables to set. */
export interface CiOutputs {
  readonly environments: Readonly<Record<string, Variables>>;
}
