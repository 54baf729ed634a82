import type * as inputs from "@pulumi/azure-native/types/input.js";
import { cloudFacts } from "../model/cloudFacts/cloudFacts.ts";
import type { PoolSpec } from "../model/pools.ts";

/**
 * How a scale set's machines are bought, as part of its profile: licence, reserved capacity, spot. A spot machine gets no notice of its
 * end.
 */
export function purchase(
  pool: PoolSpec,
): Pick<
  inputs.compute.VirtualMachineScaleSetVMProfileArgs,
  "licenseType" | "capacityReservation" | "priority" | "evictionPolicy" | "billingProfile" | "scheduledEventsProfile"
> {
  return {
    ...(pool.hybridBenefit ? { licenseType: "Windows_Server" } : {}),
    ...(pool.capacityReservation === undefined
      ? {}
      : { capacityReservation: { capacityReservationGroup: { id: pool.capacityReservation } } }),
    ...(pool.spot
      ? { priority: "Spot", evictionPolicy: "Delete", billingProfile: { maxPrice: pool.spotMaxPrice ?? -1 } }
      : {
          priority: "Regular",
          scheduledEventsProfile: {
            terminateNotificationProfile: { enable: true, notBeforeTimeout: `PT${cloudFacts.azure.timings.termination[pool.os] / 60}M` },
          },
        }),
  };
}
