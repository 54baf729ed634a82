import { readFileSync } from "node:fs";
import path from "node:path";
import { parse } from "yaml";
import { z } from "zod";
import type { Cloud } from "../../components/config/schema.ts";
import { UsageError } from "../exit.ts";
import { accountLine, ownPlace, type Place } from "./places.ts";
import { runLine } from "./shell.ts";

const projectShape = z.looseObject({
  name: z.string(),
  requiredPulumiVersion: z.string().default(""),
  backend: z.looseObject({ url: z.string() }).optional(),
});

/** Pulumi.yaml, as far as it is read here. */
type ProjectSettings = z.output<typeof projectShape>;

export const readProject = (folder: string): ProjectSettings =>
  projectShape.parse(parse(readFileSync(path.join(folder, "Pulumi.yaml"), "utf8")));

const secretsShape = z.looseObject({ secretsprovider: z.string().optional(), encryptedkey: z.string().optional() });

/** What the stack's file says of its secrets. */
export type StackSecrets = z.output<typeof secretsShape>;

export const readSecrets = (file: string): StackSecrets => secretsShape.parse(parse(readFileSync(file, "utf8")));

interface PlaceQuestion {
  readonly cloud: Cloud;
  readonly region: string;
  /** `accountId` of the stack file. */
  readonly accountId: string | undefined;
  readonly project: ProjectSettings;
  readonly secrets: StackSecrets;
  readonly passphrase: boolean;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly signal: AbortSignal;
}

/**
 * Where the state is: what the environment or Pulumi.yaml names, else the place of the account, which is asked where the
 * stack file does not say it.
 *
 * @throws UsageError where its secrets would hang on a passphrase, or another account is signed in
 */
export async function placeOfState(question: PlaceQuestion): Promise<Place> {
  const { cloud, region, accountId, project, secrets, passphrase, env, signal } = question;
  if (passphrase)
    throw new UsageError(
      "the stack's secrets, the keys of its authorities among them, hang on a passphrase (encryptionsalt in its file); allowed: a key of the cloud. pulumi stack change-secrets-provider takes one: docs/ci.md, Roles",
    );
  const backend = env.PULUMI_BACKEND_URL ?? project.backend?.url;
  if (backend !== undefined) {
    const value = env.PULUMI_SECRETS_PROVIDER ?? secrets.secretsprovider;
    return { backend, provider: value === undefined ? undefined : { value }, things: [], remove: [] };
  }
  const account = await runLine(accountLine[cloud], signal);
  if (accountId !== undefined && accountId !== account)
    throw new UsageError(`you are signed in to ${account}; allowed: ${accountId}, the accountId of the stack file`);
  return ownPlace({ cloud, region, account });
}
