import type { OutputMode } from "../../plan/program/engine.ts";
import { deployAzure } from "../../stacks/azure.ts";
import { type Recorded, specOf, withMocks } from "../support/mocks.ts";

/** Config values to replace: scalars as text, structures as JSON text. */
export type Changes = Readonly<Record<string, string>>;

/** The program of a stack on Azure with some config values replaced. */
export function runAzure(stack: string, changes: Changes = {}, mode: OutputMode = "known-outputs"): Promise<Recorded> {
  return withMocks(() => deployAzure(specOf(stack, changes)), { mode, region: "westeurope" });
}

/** Type of an Azure resource: `network:Subnet` stands for `azure-native:network:Subnet`. */
export function azureType(short: string): string {
  return `azure-native:${short}`;
}
