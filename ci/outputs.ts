import type * as pulumi from "@pulumi/pulumi";

/** Variables of an environment on GitHub. None of them is a secret. */
export type Variables = Readonly<Record<string, pulumi.Output<string>>>;

/** What this program exports: the variables to set, by environment. */
export interface CiOutputs {
  readonly environments: Readonly<Record<string, Variables>>;
}
