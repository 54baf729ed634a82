import { enableCompileCache } from "node:module";
import type { StackOutputs } from "./stacks/outputs.ts";

// Keeps what Node compiled for the next run, also under the Pulumi CLI, where NODE_COMPILE_CACHE is not set. It serves
// only what is loaded from here on, so this module imports nothing else before.
enableCompileCache();

/** The program as Pulumi starts it. */
export default async function fenestra(): Promise<StackOutputs> {
  return (await import("./stacks/program.ts")).deployStack();
}
