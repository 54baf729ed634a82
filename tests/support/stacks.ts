import { fileURLToPath } from "node:url";
import { loadConfig } from "../../components/config/load.ts";
import { readStackFile } from "../../components/config/stackFile.ts";
import { type ClusterSpec, clusterSpec } from "../../components/model/clusterSpec.ts";

/** The examples: what users keep in `stacks/` changes no test's result. */
export const testStacks = new URL("../../examples/stacks/", import.meta.url);

/** Arguments with which a command reads the examples. */
export const stackDir = ["--stack-dir", fileURLToPath(testStacks)] as const;

/** Config values of one of the examples, as Pulumi hands them to a program. */
export function stackConfig(stack: string): Readonly<Record<string, string>> {
  return readStackFile(stack, testStacks);
}

/** Config values as Pulumi hands them to a program: bare text for scalars, JSON for what is structured. */
export function configTexts(values: Readonly<Record<string, unknown>>): Record<string, string> {
  const text = (value: unknown): string => (typeof value === "string" ? value : JSON.stringify(value));
  return Object.fromEntries(Object.entries(values).map(([key, value]) => [`fenestra:${key}`, text(value)]));
}

/** The cluster that one of the examples describes. */
export function exampleSpec(stack: "aws-dev" | "aws-prod" | "azure-dev" | "azure-prod"): ClusterSpec {
  return clusterSpec(loadConfig(stackConfig(stack)));
}
