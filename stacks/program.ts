import path from "node:path";
import * as pulumi from "@pulumi/pulumi";
import { loadConfig } from "../components/config/load.ts";
import type { Cloud, StackConfig } from "../components/config/schema.ts";
import { moreArtifacts, readProjectFile, transformsFile, transformsVariable } from "../components/config/stackFile.ts";
import type { MayStart } from "../components/gates/startGate.ts";
import { artifactsVariable } from "../components/model/artifacts.ts";
import { type ClusterSpec, clusterSpec } from "../components/model/clusterSpec.ts";
import { credentialsDocument } from "../components/model/nodeSettings.ts";
import { ConfigError } from "../components/model/problem.ts";
import type { ClusterOutputs } from "./outputs.ts";
import { registerTransforms, withoutTrace } from "./userTransforms.ts";

/** Makes a cluster's resources. `credentials` is the secret with its logins, if any. */
type Deploy = (spec: ClusterSpec, credentials: pulumi.Output<string> | undefined, mayStart: MayStart) => ClusterOutputs;

/** Only the chosen one is loaded: each SDK takes a good part of a second. */
const clouds: Readonly<Record<Cloud, () => Promise<Deploy>>> = {
  aws: async () => (await import("./aws.ts")).deployAws,
  azure: async () => (await import("./azure.ts")).deployAzure,
};

/** Loaded when a gate asks: the clouds' clients are large. */
const mayStart =
  (spec: ClusterSpec): MayStart =>
  async (...given) =>
    (await import("../components/gates/account/start.ts")).startCheck(spec)(...given);

/**
 * Reads the stack's config, deploys the cluster on its cloud, exports its outputs.
 *
 * From here on errors carry no stack trace unless `FENESTRA_STACK_TRACES=1`: the Pulumi SDK takes one for each of some
 * ten thousand promises (`runtime/debuggable`), 40 % of the time of a preview of 268 resources (SDK 3.270). Node then
 * writes that of each resource's position (`Resource.callsites`) in place of the launcher's source-map-support; since
 * Node strips types in place, positions are the same.
 */
export async function deployStack(): Promise<ClusterOutputs> {
  const root = pulumi.getRootDirectory();
  // No folder where another program runs this one and knows the project.
  const project = path.isAbsolute(root) ? readProjectFile(root) : undefined;
  if (project !== undefined) {
    process.env[artifactsVariable] = path.join(project.stacks, moreArtifacts);
    process.env[transformsVariable] = path.join(project.stacks, transformsFile);
  }
  const config = readConfig();
  const spec = clusterSpec(config);
  if (process.env.FENESTRA_STACK_TRACES !== "1") {
    Error.stackTraceLimit = 0;
    Reflect.deleteProperty(Error, "prepareStackTrace");
  }
  const deploy = await clouds[spec.cloud]();
  const credentials = credentialsDocument(config);
  await registerTransforms();
  return deploy(spec, credentials === undefined ? undefined : pulumi.secret(credentials), mayStart(spec));
}

/**
 * Keys of the config with an encrypted value, from Pulumi's language host (pulumi/pulumi,
 * sdk/nodejs/cmd/pulumi-language-nodejs); `undefined` where another program runs this one and knows better.
 */
function encryptedKeys(): readonly unknown[] | undefined {
  const text = process.env.PULUMI_CONFIG_SECRET_KEYS;
  const keys: unknown = text === undefined || text === "" ? undefined : JSON.parse(text);
  return Array.isArray(keys) ? keys : undefined;
}

/** Shows a mistake in the stack file without this program's stack trace. */
function readConfig(): StackConfig {
  try {
    const encrypted = encryptedKeys();
    return loadConfig(pulumi.runtime.allConfig(), undefined, (key) => encrypted?.includes(key) ?? true);
  } catch (error) {
    throw error instanceof ConfigError ? withoutTrace(error) : error;
  }
}
