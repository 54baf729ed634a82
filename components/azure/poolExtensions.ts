import type * as inputs from "@pulumi/azure-native/types/input.js";
import { windowsExtensionCommand } from "../machine/windows/userData.ts";
import type { PoolSpec } from "../model/pools.ts";
import { ports } from "../model/ports.ts";
import { joinSeconds } from "../model/timings.ts";

type Extension = inputs.compute.VirtualMachineScaleSetExtensionArgs;

/** Looks after which a machine's health counts, and seconds between them: minutes, since a roll stops for a machine that is unhealthy. */
const looks = { numberOfProbes: 3, intervalInSeconds: 60 } as const;

/** Minutes until a machine that has joined is healthy. */
export const healthyAfter = (looks.numberOfProbes * looks.intervalInSeconds) / 60;

/**
 * Health check of a machine: its own port is open, which is so while its node is Ready. The kubelet's port is open within a second of its
 * start, and a roll by that one would delete working machines for others that never join. Version 2.0 of the extension has a grace period,
 * in which a joining machine counts as starting and not as unhealthy. By HTTP it expects its own answer format (Azure documentation,
 * application health extension).
 */
function health({ os }: PoolSpec): Extension {
  return {
    name: "health",
    publisher: "Microsoft.ManagedServices",
    type: os === "windows" ? "ApplicationHealthWindows" : "ApplicationHealthLinux",
    typeHandlerVersion: "2.0",
    autoUpgradeMinorVersion: true,
    settings: { protocol: "tcp", port: ports.joined, ...looks, gracePeriod: joinSeconds[os] },
  };
}

/**
 * Starts the bootstrap of a Windows machine, whose custom data is not run automatically. The command is the same for all pools and holds no
 * secret; as a protected setting it is not shown in the portal either.
 */
function bootstrap(): Extension {
  return {
    name: "bootstrap",
    publisher: "Microsoft.Compute",
    type: "CustomScriptExtension",
    typeHandlerVersion: "1.10",
    autoUpgradeMinorVersion: true,
    protectedSettings: { commandToExecute: windowsExtensionCommand() },
  };
}

/** Extensions of a pool's machines. */
export function poolExtensions(pool: PoolSpec): readonly Extension[] {
  return pool.os === "windows" ? [bootstrap(), health(pool)] : [health(pool)];
}
