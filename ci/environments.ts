import type * as pulumi from "@pulumi/pulumi";

/**
 * What a run of a workflow does with a stack. Each has its own environment on GitHub, and so its own identity in the
 * cloud.
 */
export const purposes = ["preview", "deploy", "drift"] as const;

/** One of `purposes`. */
export type Purpose = (typeof purposes)[number];

/** Name of the environment on GitHub in which a workflow handles a stack. */
export function environmentName(purpose: Purpose, stack: string): string {
  return purpose === "deploy" ? stack : `${purpose}-${stack}`;
}

/** A repository on GitHub, by name and, in a repository with immutable subjects, by number. */
export interface Repository {
  /** `OWNER/NAME`. */
  readonly name: string;
  /**
   * Numbers of owner and repository. Default: none, for a repository that was made before 15 July 2026 and has not
   * opted in.
   */
  readonly ids?: { readonly owner: string; readonly repository: string } | undefined;
}

/** Who signs the tokens of GitHub's runs. */
export const issuer = "https://token.actions.githubusercontent.com";

/**
 * Subject of the token that GitHub gives to a run in an environment. Repositories that were made after 15 July 2026
 * carry their numbers in it, so that taking over an abandoned name gives no rights (GitHub documentation, "OpenID
 * Connect reference", immutable subject claims).
 */
export function subject({ name, ids }: Repository, environment: string): string {
  const [owner = "", repository = ""] = name.split("/");
  const full = ids === undefined ? name : `${owner}@${ids.owner}/${repository}@${ids.repository}`;
  // A colon would end the part (same page, "Filtering for metadata containing :").
  return `repo:${full}:environment:${environment.replaceAll(":", "%3A")}`;
}

/** Variables of an environment on GitHub. None of them is a secret. */
export type Variables = Readonly<Record<string, pulumi.Output<string>>>;

/** What this program exports: the variables to set, by environment. */
export interface CiOutputs {
  readonly environments: Readonly<Record<string, Variables>>;
}
