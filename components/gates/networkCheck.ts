import * as pulumi from "@pulumi/pulumi";
import { z } from "zod";
import { ConfigError, problem } from "../model/problem.ts";
import { resolvedValue } from "./waitFor.ts";

/** What the stack file says, or the cluster needs, of a network that exists already. */
export interface NetworkFact {
  readonly path: string;
  /** What is compared, as the beginning of a sentence: `the zone of subnet-1`. */
  readonly what: string;
  readonly wanted: string;
  readonly found: pulumi.Input<string>;
  /** How to bring both together, unless the stack file is to follow the cloud. */
  readonly remedy?: string | undefined;
}

type KnownFact = NetworkFact & { readonly found: string };

/**
 * What a cloud leaves out of its answer because it is empty is not known in a preview (@pulumi/pulumi: runtime/rpc.js,
 * resolveProperties): no text, so it is compared in the update.
 */
const state = z.object({
  input: z.array(
    z.object({
      path: z.string(),
      what: z.string(),
      wanted: z.string(),
      found: z.unknown(),
      remedy: z.string().optional(),
    }),
  ),
});

interface NetworkCheckArgs {
  /** Facts that are kept, so that a change on either side is compared again. */
  readonly facts: readonly NetworkFact[];
  /** Facts that hold before the first machine only, such as free addresses: compared in the first update alone. */
  readonly atFirst?: readonly NetworkFact[];
}

/**
 * The gate before everything that uses an existing network compares the stack file with the cloud, already in the
 * preview, since the engine reads existing resources there too (pulumi/pulumi: pkg/resource/deploy/step.go, ReadStep).
 */
export function networkCheck(name: string, args: NetworkCheckArgs, opts: pulumi.CustomResourceOptions): pulumi.Stash {
  const { facts, atFirst = [] } = args;
  const hook = new pulumi.ResourceHook(name, ({ newInputs }) => refuse(kept(newInputs)), { onDryRun: true });
  const first = new pulumi.ResourceHook(`${name}-first`, async () => {
    refuse(await Promise.all(atFirst.map(async (fact) => ({ ...fact, found: await resolvedValue(fact.found) }))));
  });
  return new pulumi.Stash(
    name,
    { input: facts },
    { ...opts, hooks: { beforeCreate: [hook, first], beforeUpdate: [hook] } },
  );
}

function kept(inputs: unknown): readonly KnownFact[] {
  const parsed = state.safeParse(inputs);
  if (!parsed.success) throw new Error("what the cloud says about the existing network cannot be read");
  return parsed.data.input.flatMap(({ found, ...fact }) => {
    if (typeof found === "string") return [{ ...fact, found }];
    // An object is what a preview does not know.
    const isUnknown = typeof found === "object" && found !== null && !Array.isArray(found);
    if (isUnknown && !pulumi.Output.isInstance(found)) return [];
    throw new Error(`what the cloud says of ${fact.what} (${fact.path}) cannot be read`);
  });
}

function refuse(facts: readonly KnownFact[]): void {
  const problems = facts
    .filter(({ wanted, found }) => wanted !== found)
    .map(({ path, what, wanted, found, remedy }) => {
      const message = `${what} is ${found === "" ? "not set" : found} in the cloud, and not ${wanted}`;
      return problem(path, wanted, message, remedy === undefined ? found : wanted, remedy);
    });
  if (problems.length > 0) throw new ConfigError(problems);
}
