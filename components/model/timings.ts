/** Every duration that two places must agree on: node and cloud, both clouds, a script and its gate. */

/**
 * Seconds that a pool's machine has to join, from its launch; Windows installs features and reboots once. Later the
 * group replaces it and the pool's gate gives up; a scale set's updates are timed by it too.
 */
export const joinSeconds = { linux: 900, windows: 2400 } as const;

/**
 * Minutes that the cluster autoscaler waits for a requested machine's node. Windows needs about ten and a reboot, more
 * than the default of 15.
 */
export const provisionMinutes = 30;

/**
 * Seconds for which a node may be not Ready before its machine counts as unhealthy, enough for a restart of its kubelet
 * or an update of the control plane. `every` is between looks.
 */
export const healthSeconds = { patience: 300, every: 15 } as const;

/** Seconds between polls of the cloud's termination notice. */
export const noticeSeconds = 5;

/** Seconds after which a drained machine that should be gone looks whether it is still to go. */
export const takenAwaySeconds = 900;

/**
 * Seconds between a draining node's heartbeats to the waiting hook: a third of the termination's delay, so that one may
 * be lost.
 */
export const heartbeatSeconds = 300;

/** Lifetime of a join secret's token in seconds. */
export const joinTokenSeconds = 7200;

/** Twice the age at which a join secret is renewed, in seconds: half a token's lifetime, so that runs may fail. */
export const joinSecretSeconds = 3600;

/** Limits around etcd in seconds, which depend on each other (`tests/model/timings.test.ts`). */
export const etcdSeconds = {
  /** A whole disk at a small one's base rate: 8 GiB at 27 MB/s. The member answers nobody meanwhile. */
  defragmentation: 300,
  /** Each machine's slot, in turn by the clock. A renewal takes about two minutes. */
  turn: 900,
  /** Until the kubelet ends etcd: failed probes, at least a period apart; hanging ones take longer. */
  liveness: { period: 10, failures: 33 },
  /** A job that waits for its machine's turn. */
  job: 7200,
} as const;

/**
 * Seconds for which an ending API server still answers, until its load balancer has looked often enough
 * (`facts.balancerLooks`, tests/model/timings.test.ts).
 */
export const apiShutdownSeconds = 20;

/** Most hours between etcd snapshots of a machine. */
export const snapshotHours = 4;

/** Age in hours at which the last snapshot is late: two in a row have failed; an hour is for timer and upload. */
export const lateSnapshotHours = 2 * snapshotHours + 1;

/** Days that an etcd snapshot is kept by default. */
export const snapshotDays = { development: 7, production: 30 } as const;

/** Minutes for a Windows workload to become available, after pulling an image of several GB. */
export const windowsWorkloadMinutes = 40;
