import { z } from "zod";
import { joinSeconds } from "../model/timings.ts";
import { described, section } from "./forms.ts";

const minutes = (least: number) => z.int().min(least).max(1440);

/** When machines of pools are replaced by themselves, and the brakes on it. The same on both clouds. */
export const repairSchema = section("When the machines of pools are replaced by themselves.", {
  notReadyAfter: described(minutes(5).default(20), "Minutes that a node is not Ready before its machine is replaced."),
  joinWithin: section("How long a machine may take to join before it is replaced.", {
    linux: described(minutes(5).default(joinSeconds.linux / 60), "Minutes that a Linux machine has to join."),
    windows: described(minutes(10).default(joinSeconds.windows / 60), "Minutes that a Windows machine has to join."),
  }).prefault({}),
  maxUnhealthy: described(
    z.int().min(0).max(100).default(20),
    "Percent of a pool, and of its machines in one zone, that may be unhealthy: above it, and above one, nothing is replaced there.",
  ),
  perHour: described(z.int().min(0).max(100).default(2), "Machines replaced in an hour, at most. 0: none."),
});
