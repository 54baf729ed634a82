import path from "node:path";
import * as pulumi from "@pulumi/pulumi";
import type { Cloud } from "../../components/config/schema.ts";
import { type CiSpec, loadCiConfig } from "./config.ts";
import type { CiOutputs } from "./environments.ts";

const clouds: Readonly<Record<Cloud, () => Promise<(spec: CiSpec) => CiOutputs>>> = {
  aws: async () => (await import("./aws.ts")).setUpAws,
  azure: async () => (await import("./azure.ts")).setUpAzure,
};

/** A place for each stack's state, and an identity for each environment that handles it. */
export default async function fenestraCi(): Promise<CiOutputs> {
  const root = pulumi.getRootDirectory();
  const spec = loadCiConfig(pulumi.runtime.allConfig(), path.isAbsolute(root) ? root : undefined);
  const setUp = await clouds[spec.cloud]();
  return setUp(spec);
}
