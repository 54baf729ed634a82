import * as pulumi from "@pulumi/pulumi";
import { loadConfig } from "./components/config/load.ts";
import { ConfigError } from "./components/config/problem.ts";
import type { Cloud } from "./components/config/schema.ts";
import { type ClusterSpec, clusterSpec } from "./components/model/clusterSpec.ts";
import type { StackOutputs } from "./stacks/outputs.ts";

/** What each cloud deploys. Only the chosen one is loaded: each SDK costs a good part of a second. */
const clouds: Readonly<Record<Cloud, () => Promise<(spec: ClusterSpec) => StackOutputs>>> = {
  aws: async () => (await import("./stacks/aws.ts")).deployAws,
  azure: async () => (await import("./stacks/azure.ts")).deployAzure,
};

/** The program: reads the stack's config, deploys the cluster on the cloud it names, exports its outputs. */
export default async function fenestra(): Promise<StackOutputs> {
  const spec = readSpec();
  const deploy = await clouds[spec.cloud]();
  return deploy(spec);
}

/** A mistake in the stack file is shown as it is, without the stack trace of this program. */
function readSpec(): ClusterSpec {
  try {
    return clusterSpec(loadConfig(pulumi.runtime.allConfig()));
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    const shown = new pulumi.RunError(error.message);
    shown.cause = error;
    throw shown;
  }
}
