import type { NodeSettings } from "../../model/nodeSettings.ts";
import type { LinuxPool } from "../../model/pools.ts";
import { ports } from "../../model/ports.ts";
import { healthSeconds, heartbeatSeconds, noticeSeconds, takenAwaySeconds } from "../../model/timings.ts";
import type { PoolAccess } from "../cloudAccess.ts";
import { credentialFiles } from "../credentialProvider.ts";
import { fingerprinted, userFiles, type WorkerPayload, withTemplates } from "../payload.ts";
import { bootstrapKubeconfig } from "../placeholders.ts";
import { artifactTable } from "./artifacts.ts";
import { commonUnits, linuxFiles } from "./common.ts";
import { commonEnv, type MachineEnv, timeEnv } from "./machineEnv.ts";
import { linuxEntry, script, unitFile } from "./rootfs.ts";
import {
  stageTable,
  stageTablePath,
  userPaths,
  withCredentials,
  withPodNetwork,
  withTrust,
  workerStages,
} from "./stages.ts";
import { daemonUnit } from "./systemdUnits.ts";

interface LinuxWorkerPayloadArgs {
  readonly spec: NodeSettings;
  readonly pool: LinuxPool;
  readonly access: PoolAccess;
}

/** What runs as long as a worker does, by unit. */
const daemons = {
  "fenestra-drain.service": { does: "moves the pods before this machine is taken away", file: "drain.sh" },
  "fenestra-health.service": { does: "opens a port while the node is Ready", file: "health.sh" },
} as const;
const daemonUnits = Object.keys(daemons);

export function workerUnits({ cloud }: Pick<NodeSettings, "cloud">): readonly string[] {
  return [...commonUnits(cloud), ...daemonUnits];
}

export function linuxWorkerPayload({ spec, pool, access }: LinuxWorkerPayloadArgs): WorkerPayload {
  const env: MachineEnv = {
    ...commonEnv(spec, access.cloud, daemonUnits),
    ...lifecycleEnv(access),
    ...drainTimes(spec, pool),
    ...workerAttempts,
    HEALTH_PORT: ports.joined,
    HEALTH_PATIENCE: healthSeconds.patience,
    HEALTH_PAUSE: healthSeconds.every,
    ...timeEnv(pool),
  };
  const stages = withPodNetwork(withTrust(spec, withCredentials(spec, workerStages(pool))), spec.kubernetes.podNetwork);
  const files = withTemplates("linux", [
    ...linuxFiles({ spec, pool, stages, env }),
    ...Object.entries(daemons).flatMap(([unit, { does, file }]) => {
      const program = script(file);
      return [program, unitFile(unit, daemonUnit(does, program.path))];
    }),
    { path: "/etc/fenestra/artifacts.tsv", content: artifactTable(spec, "linux") },
    ...credentialFiles(spec, "linux", access),
    { path: "/etc/fenestra/bootstrap-kubelet.conf", content: bootstrapKubeconfig() },
    ...userFiles(pool, userPaths),
  ]);
  const table = { path: stageTablePath, content: stageTable(stages, files) };
  return fingerprinted({ kind: "linux", files: [...files, table], entry: linuxEntry }, spec, pool);
}

/** How long a worker waits for a fresh secret and for its node to be Ready. */
const workerAttempts = {
  JOIN_ATTEMPTS: 40,
  /** Seconds for which a join secret must still be valid. */
  JOIN_MARGIN: 60,
  NODE_ATTEMPTS: 900,
} as const;

/**
 * How long pods have to move. A heartbeat extends an Auto Scaling group's hook; a spot machine has nothing to extend.
 */
function drainTimes({ facts: { timings, machines } }: Pick<NodeSettings, "facts">, { spot }: LinuxPool): MachineEnv {
  return {
    DRAIN_SECONDS: (spot ? timings.spotDrain : timings.drain).linux,
    DRAIN_HEARTBEAT: timings.heartbeats && !spot ? heartbeatSeconds : 0,
    BALANCER_SECONDS: timings.balancerLeaves,
    LEAVING_EVENTS: machines.drainEvents.leaves.join(" "),
    RETURNING_EVENTS: machines.drainEvents.returns.join(" "),
    NOTICE_PAUSE: noticeSeconds,
    LEAVE_SECONDS: takenAwaySeconds,
  };
}

function lifecycleEnv({ lifecycle }: PoolAccess): MachineEnv {
  if (lifecycle === undefined) return {};
  return { SCALING_GROUP: lifecycle.group, LAUNCH_HOOK: lifecycle.launchHook, TERMINATE_HOOK: lifecycle.terminateHook };
}
