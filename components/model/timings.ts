/**
 * Every duration that two places must agree on: a node and its cloud, both clouds, a script and the gate that waits for
 * it.
 */

/**
 * Seconds that a pool's machine has to join, from its launch. Windows boots, installs features and reboots once. After
 * that the group replaces it and the pool's gate gives up; a scale set's updates are timed by it too.
 */
export const joinSeconds = { linux: 900, windows: 2400 } as const;

/**
 * Minutes that the cluster autoscaler waits for the node of a machine it requested. A Windows node needs about ten
 * minutes and a reboot, so the autoscaler's default of 15 would give up.
 */
export const provisionMinutes = 30;

/**
 * Seconds for which a node may be not Ready before its machine counts as unhealthy: a kubelet that starts over, a
 * control plane that is being updated. `every` is between looks.
 */
export const healthSeconds = { patience: 300, every: 15 } as const;

/** Seconds between polls of the cloud's termination notice. */
export const noticeSeconds = 5;

/** Seconds after which a drained machine that was to be taken away, and is still there, looks whether it still is. */
export const takenAwaySeconds = 900;

/**
 * Seconds between heartbeats of a draining node to the hook that waits for it: a third of the termination's delay, so
 * that one may be lost.
 */
export const heartbeatSeconds = 300;

/** Lifetime in seconds of the token in a join secret. */
export const joinTokenSeconds = 7200;

/** Seconds between join secrets: half a token's lifetime, so that a missed run does no harm. */
export const joinSecretSeconds = 3600;

/**
 * Limits around etcd, seconds, of which each must know the others (`tests/model/timings.test.ts`): what may take how
 * long, and who ends it.
 */
export const etcdSeconds = {
  /** Of a whole disk at the base rate of a small one: 8 GiB at 27 MB/s. The member answers nobody meanwhile. */
  defragmentation: 300,
  /** Each machine has a slot of this length, in turn by the clock. A renewal takes about two minutes. */
  turn: 900,
  /** Until the kubelet ends etcd: failures of its probe, at least a period apart; one that hangs takes longer. */
  liveness: { period: 10, failures: 33 },
  /** A job that waits for its machine's turn. */
  job: 7200,
} as const;

/**
 * Seconds for which an API server that ends still answers: its load balancer has looked often enough by then
 * (`facts.balancerLooks`, tests/model/timings.test.ts).
 */
export const apiShutdownSeconds = 20;

/** Hours between the etcd snapshots that a control-plane machine uploads, at most. */
export const snapshotHours = 4;

/**
 * Age in hours at which the last snapshot is late: two in a row have failed. The hour is for the delay of the timer and
 * the upload.
 */
export const lateSnapshotHours = 2 * snapshotHours + 1;

/** Days that a snapshot of etcd is kept, unless the stack file says otherwise. */
export const snapshotDays = { development: 7, production: 30 } as const;

/**
 * Minutes for a workload on Windows to become available: an image of several GB is pulled before the first pod is
 * Ready.
 */
export const windowsWorkloadMinutes = 40;
