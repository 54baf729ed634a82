import type * as inputs from "@pulumi/azure-native/types/input.js";
import { windowsExtensionCommand } from "../machine/windows/userData.ts";
import type { PoolSpec } from "../model/pools.ts";
import { ports } from "../model/ports.ts";
import { joinSeconds } from "../model/timings.ts";

type Extension = inputs.compute.VirtualMachineScaleSetExtensionArgs;

/**
 * Health check of a machine: something listens on the kubelet's port, which is so as soon as the node has joined. Version 2.0 of the
 * extension has a grace period, in which a joining machine counts as starting and not as unhealthy. By HTTP it expects its own answer format,
 * which the kubelet's /healthz does not have, and every machine would be replaced for ever (Azure documentation, application health extension).
 */
function health({ os }: PoolSpec): Extension {
  return {
    name: "health",
    publisher: "Microsoft.ManagedServices",
    type: os === "windows" ? "ApplicationHealthWindows" : "ApplicationHealthLinux",
    typeHandlerVersion: "2.0",
    autoUpgradeMinorVersion: true,
    settings: {
      protocol: "tcp",
      port: ports.kubelet,
      intervalInSeconds: 15,
      numberOfProbes: 3,
      gracePeriod: joinSeconds[os],
    },
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
