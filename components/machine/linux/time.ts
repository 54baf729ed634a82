import type { LinuxPool } from "../../model/pools.ts";
import type { MachineEnv } from "./machineEnv.ts";

/** The time zone, which `stages/before.sh` sets. The image's own chrony keeps the clock by that of the cloud. */
export function timeEnv({ timeZone }: LinuxPool): MachineEnv {
  return timeZone === undefined ? {} : { TIME_ZONE: timeZone };
}
