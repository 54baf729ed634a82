import type { Ask } from "../question.ts";
import { azureSender } from "./client.ts";

export const sender = () => azureSender(() => undefined);

/** What is left of a scale set's roll: its update answers after it, and what it left out keeps the older model. */
export async function rollProblems(ask: Ask, id: string): Promise<readonly string[]> {
  const at = `${id}/virtualMachines?api-version=2024-07-01`;
  const found = await ask("Microsoft.Compute/virtualMachineScaleSets/virtualMachines/read", at);
  return found
    .list("value")
    .filter((each) => each.is("properties.latestModelApplied", false))
    .map((each) => `machine ${each.text("instanceId")} has an older model`);
}
