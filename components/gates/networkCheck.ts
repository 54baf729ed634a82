import * as pulumi from "@pulumi/pulumi";
import { z } from "zod";
import { ConfigError, type Problem } from "../config/problem.ts";
import { settled } from "./settled.ts";

const fact = z.object({
  /** Path in the stack file. */
  path: z.string(),
  /** What is compared, as the beginning of a sentence: `the zone of subnet-1`. */
  what: z.string(),
  wanted: z.string(),
  /** What the cloud says. */
  found: z.string(),
  /** How to bring both together, unless the stack file is to follow the cloud. */
  remedy: z.string().optional(),
});

/** Something that the stack file says, or that the cluster needs, about a network that exists already. */
export type NetworkFact = z.infer<typeof fact>;

const state = z.object({ input: z.array(fact) });

/** What `networkCheck` compares. */
export interface NetworkCheckArgs {
  /** Facts that stay as they are: they are kept, so a change on either part is compared again. */
  readonly facts: pulumi.Input<readonly NetworkFact[]>;
  /** Facts that hold before the first machine only, such as free addresses. */
  readonly atFirst?: pulumi.Input<readonly NetworkFact[]>;
}

/**
 * The gate before everything that uses an existing network: it compares what the stack file says with what the cloud says, in the preview
 * already, since the engine reads existing resources there too (pulumi/pulumi: pkg/resource/deploy/step.go, ReadStep).
 */
export function networkCheck(name: string, args: NetworkCheckArgs, opts: pulumi.CustomResourceOptions): pulumi.Stash {
  const first = new pulumi.ResourceHook(
    `${name}-first`,
    async ({ newInputs }) => refuse([...kept(newInputs), ...(await settled(args.atFirst ?? []))]),
    { onDryRun: true },
  );
  const later = new pulumi.ResourceHook(name, ({ newInputs }) => refuse(kept(newInputs)), { onDryRun: true });
  return new pulumi.Stash(
    name,
    { input: args.facts },
    { ...opts, hooks: { beforeCreate: [first], beforeUpdate: [later] } },
  );
}

function kept(inputs: unknown): readonly NetworkFact[] {
  const parsed = state.safeParse(inputs);
  if (!parsed.success) throw new Error("what the cloud says about the existing network cannot be read");
  return parsed.data.input;
}

/** Throws ConfigError with every difference. */
function refuse(facts: readonly NetworkFact[]): void {
  const problems = facts
    .filter(({ wanted, found }) => wanted !== found)
    .map(
      ({ path, what, wanted, found, remedy }): Problem => ({
        path,
        value: wanted,
        message: `${what} is ${found === "" ? "not set" : found} in the cloud, and not ${wanted}`,
        allowed: remedy === undefined ? found : wanted,
        ...(remedy === undefined ? {} : { remedy }),
      }),
    );
  if (problems.length > 0) throw new ConfigError(problems);
}
