import type * as pulumi from "@pulumi/pulumi";

/** What a workflow does with a stack, each with its own environment on GitHub and so its own identity in the cloud. */
export const purposes = ["preview", "deploy", "drift"] as const;

export type Purpose = (typeof purposes)[number];

/** Environment on GitHub in which a workflow handles a stack. */
export function environmentName(purpose: Purpose, stack: string): string {
  return purpose === "deploy" ? stack : `${purpose}-${stack}`;
}

/** A repository on GitHub, by name and, where subjects are immutable, by number. */
export interface Repository {
  /** `OWNER/NAME`. */
  readonly name: string;
  /** Numbers of owner and repository; none for a repository from before 15 July 2026 that has not opted in. */
  readonly ids?: { readonly owner: string; readonly repository: string } | undefined;
}

/** Who signs the tokens of GitHub's runs. */
export const issuer = "https://token.actions.githubusercontent.com";

/**
 * Subject of the token of GitHub's runs in an environment. Repositories made after 15 July 2026 carry their numbers, so
 * that an abandoned name gives no rights (GitHub documentation, "OpenID Connect reference", immutable subject claims).
 */
export function subject({ name, ids }: Repository, environment: string): string {
  const [owner = "", repository = ""] = name.split("/");
  const full = ids === undefined ? name : `${owner}@${ids.owner}/${repository}@${ids.repository}`;
  // A colon would end the part (same page, "Filtering for metadata containing :").
  return `repo:${full}:environment:${environment.replaceAll(":", "%3A")}`;
}

/** Variables of an environment on GitHub; none is secret. */
export type Variables = Readonly<Record<string, pulumi.Output<string>>>;

/** What this program exports: the variables to set, by environment. */
export interface CiOutputs {
  readonly environments: Readonly<Record<string, Variables>>;
}
