import type { OutputMode } from "../../plan/program/engine.ts";
import { type Recorded, runStack } from "../support/mocks.ts";

/** Config values to replace: scalars as text, structures as JSON text. */
export type Changes = Readonly<Record<string, string>>;

/** The program of a stack on Azure with some config values replaced. */
export function runAzure(stack: string, changes: Changes = {}, mode: OutputMode = "known-outputs"): Promise<Recorded> {
  return runStack(stack, changes, mode);
}

/** Type of an Azure resource: `network:Subnet` stands for `azure-native:network:Subnet`. */
export function azureType(short: string): string {
  return `azure-native:${short}`;
}
