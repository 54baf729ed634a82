import { z } from "zod";
import { joinSeconds } from "../model/timings.ts";

const minutes = (least: number) => z.int().min(least).max(1440);

/** When machines of pools are replaced by themselves, and the brakes on it. The same on both clouds. */
export const repairSchema = z
  .strictObject({
    notReadyAfter: minutes(5).default(20).meta({ description: "Minutes that a node is not Ready before its machine is replaced." }),
    joinWithin: z
      .strictObject({
        linux: minutes(5)
          .default(joinSeconds.linux / 60)
          .meta({ description: "Minutes that a Linux machine has to join." }),
        windows: minutes(10)
          .default(joinSeconds.windows / 60)
          .meta({ description: "Minutes that a Windows machine has to join." }),
      })
      .prefault({})
      .meta({ description: "How long a machine may take to join before it is replaced." }),
    maxUnhealthy: z
      .int()
      .min(0)
      .max(100)
      .default(20)
      .meta({
        description:
          "Percent of a pool, and of its machines in one zone, that may be unhealthy: above it, and above one, nothing is replaced there.",
      }),
    perHour: z.int().min(0).max(100).default(2).meta({ description: "Machines replaced in an hour, at most. 0: none." }),
  })
  .meta({ description: "When the machines of pools are replaced by themselves." });
