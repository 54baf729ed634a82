import type * as pulumi from "@pulumi/pulumi";

/** What reads and what changes a cloud, each with its own environment on GitHub and identity. */
export const purposes = ["preview", "deploy"] as const;

export type Purpose = (typeof purposes)[number];

/** Name of the environment on GitHub in which a workflow handles a stack. */
export function environmentName(purpose: Purpose, stack: string): string {
  return purpose === "deploy" ? stack : `${purpose}-${stack}`;
}

/** A repository by its name and, where subjects are immutable, by numbers. */
export interface Repository {
  /** `OWNER/NAME`. */
  readonly name: string;
  /** Numbers of owner and repository; none for a repository from before 15 July 2026 that has not opted in. */
  readonly ids?: { readonly owner: string; readonly repository: string } | undefined;
}

/** Issuer of GitHub's tokens. */
export const issuer = "https://token.actions.githubusercontent.com";

/**
 * Subject of a token for an environment. Those of repositories made after 15 July 2026 carry numbers, so that an
 * abandoned name gives no rights (GitHub documentation, "OpenID Connect reference", immutable subject claims).
 */
export function subject({ name, ids }: Repository, environment: string): string {
  const [owner = "", repository = ""] = name.split("/");
  const full = ids === undefined ? name : `${owner}@${ids.owner}/${repository}@${ids.repository}`;
  // A colon would end the part (same page, "Filtering for metadata containing :").
  return `repo:${full}:environment:${environment.replaceAll(":", "%3A")}`;
}

/** Variables of an environment on GitHub; none is secret. */
export type Variables = Readonly<Record<string, pulumi.Output<string>>>;

/** Variables to set, by environment. */
export interface CiOutputs {
  readonly environments: Readonly<Record<string, Variables>>;
}
