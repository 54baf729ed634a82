import * as pulumi from "@pulumi/pulumi";
import type { Cloud } from "../components/config/schema.ts";
import { type CiSpec, loadCiConfig } from "./config.ts";

/** Variables of an environment on GitHub. None of them is a secret. */
export type Variables = Readonly<Record<string, pulumi.Output<string>>>;

/** What this program exports: the variables to set, by environment. */
export interface CiOutputs {
  readonly environments: Readonly<Record<string, Variables>>;
}

const clouds: Readonly<Record<Cloud, () => Promise<(spec: CiSpec) => CiOutputs>>> = {
  aws: async () => (await import("./aws.ts")).setUpAws,
  azure: async () => (await import("./azure.ts")).setUpAzure,
};

/** The program: a place for the state of each stack, and an identity for each environment that handles it. */
export default async function fenestraCi(): Promise<CiOutputs> {
  const spec = loadCiConfig(pulumi.runtime.allConfig());
  const setUp = await clouds[spec.cloud]();
  return setUp(spec);
}
