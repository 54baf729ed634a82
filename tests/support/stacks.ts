import { fileURLToPath } from "node:url";
import { loadConfig } from "../../components/config/load.ts";
import { readStackFile } from "../../components/config/stackFile.ts";
import { type ClusterSpec, clusterSpec } from "../../components/model/clusterSpec.ts";

/** The examples: users' files in `stacks/` change no test's result. */
export const testStacks = new URL("../../examples/stacks/", import.meta.url);

export const stackDir = ["--stack-dir", fileURLToPath(testStacks)] as const;

/** An example's config values, as Pulumi passes them. */
export function stackConfig(stack: string): Readonly<Record<string, string>> {
  return readStackFile(stack, testStacks);
}

/** Config values as Pulumi passes them: bare text for scalars, else JSON. */
export function configTexts(values: Readonly<Record<string, unknown>>): Record<string, string> {
  const text = (value: unknown) => (typeof value === "string" ? value : JSON.stringify(value));
  return Object.fromEntries(Object.entries(values).map(([key, value]) => [`fenestra:${key}`, text(value)]));
}

export function exampleSpec(stack: "aws-dev" | "aws-prod" | "azure-dev" | "azure-prod"): ClusterSpec {
  return clusterSpec(loadConfig(stackConfig(stack)));
}
