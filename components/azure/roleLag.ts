import { setTimeout as sleep } from "node:timers/promises";
import * as pulumi from "@pulumi/pulumi";

/** Attempts in all, 15 seconds apart: five minutes, by which a new role is known everywhere. */
const attempts = 20;

/**
 * Lets the creation of an assignment be tried again while Azure does not know its role yet, which was made a moment ago
 * (hashicorp/terraform-provider-azurerm#19916; "around 5m", #5038): azure-native tries once.
 *
 * @param pause waits between two attempts; tests do not
 */
export function untilRoleIsKnown(name: string, pause: () => Promise<void> = async () => sleep(15_000)): pulumi.ErrorHook {
  return new pulumi.ErrorHook(name, async ({ errors: [last = "", ...earlier] }) => {
    if (!last.includes("RoleDefinitionDoesNotExist") || earlier.length + 1 >= attempts) return false;
    await pause();
    return true;
  });
}
