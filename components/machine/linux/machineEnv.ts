import type { NodeSettings } from "../../model/nodeSettings.ts";
import type { LinuxPool } from "../../model/pools.ts";
import { accessEnv, type CloudAccess } from "../cloudAccess.ts";

/** Variables of `/etc/fenestra/machine.env`, in the order they are written. */
export type MachineEnv = Readonly<Record<string, string | number>>;

/** How often stages retry before they fail; systemd then restarts the bootstrap, so no limit is final. */
const attempts = {
  /** Longest of the doubling pauses between attempts, in seconds. */
  RETRY_PAUSE_MAX: 15,
  /** Timeout of one request, in seconds. Downloads have ten minutes. */
  FETCH_TIMEOUT: 30,
  METADATA_ATTEMPTS: 20,
  SERVICE_ATTEMPTS: 30,
} as const;

/** Variables of every Linux machine. `timers` are the systemd units that the last stage starts. */
export function commonEnv(
  spec: Pick<NodeSettings, "name" | "kubernetes">,
  cloud: CloudAccess,
  timers: readonly string[],
): MachineEnv {
  return {
    CLUSTER: spec.name,
    KUBERNETES_VERSION: spec.kubernetes.version,
    POD_CIDR: spec.kubernetes.podCidr,
    ...accessEnv(cloud),
    TIMERS: timers.join(" "),
    ...attempts,
  };
}

/** The time zone, which `stages/before.sh` sets. */
export function timeEnv({ timeZone }: LinuxPool): MachineEnv {
  return timeZone === undefined ? {} : { TIME_ZONE: timeZone };
}
