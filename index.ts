import { enableCompileCache } from "node:module";
import type { ClusterOutputs } from "./stacks/outputs.ts";

// Keeps what Node compiles for the next run, also under the Pulumi CLI, where NODE_COMPILE_CACHE is not set. It serves
// only what is loaded later, so nothing else is imported here.
enableCompileCache();

export default async function fenestra(): Promise<ClusterOutputs> {
  return (await import("./stacks/program.ts")).deployStack();
}
