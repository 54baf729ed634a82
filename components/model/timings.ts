/** Every duration that two places must agree on: a node and its cloud, both clouds, a script and the gate that waits for it. */

/**
 * Seconds that a pool's machine has to join, from its launch. Windows boots, installs features and reboots once. After that the group replaces
 * it and the pool's gate gives up; a scale set's updates are timed by it too.
 */
export const joinSeconds = { linux: 900, windows: 2400 } as const;

/**
 * Age in seconds at which a machine has either joined or been replaced by its group: only younger ones get a first certificate. Longer than
 * `joinSeconds` of both systems.
 */
export const newMachineSeconds = 3600;

/**
 * Minutes that the cluster autoscaler waits for the node of a machine it requested. A Windows node needs about ten minutes and a reboot, so the
 * autoscaler's default of 15 would give up.
 */
export const provisionMinutes = 30;

/**
 * Seconds that a node has to evict its pods. Less than `terminationSeconds` of its cloud. A spot machine is gone two minutes after the notice on
 * AWS, half a minute on Azure (documentation of both, spot interruption notice and terminate notification).
 */
export const drainSeconds = {
  linux: { aws: 600, azure: 270 },
  windows: { aws: 600, azure: 600 },
  spot: { linux: { aws: 90, azure: 20 }, windows: { aws: 100, azure: 20 } },
} as const;

/** Seconds between polls of the cloud's termination notice. */
export const noticeSeconds = 5;

/** Seconds between heartbeats of a draining node to the hook that waits for it: a third of `terminationSeconds`, so that one may be lost. */
export const heartbeatSeconds = 300;

/**
 * Seconds that the cloud delays a termination, at most. AWS: the group's lifecycle hook. Azure allows 5 to 15 minutes (Azure documentation,
 * terminate notification); on Windows it outlasts the drain by a minute.
 */
export const terminationSeconds = {
  aws: { linux: 900, windows: 900 },
  azure: { linux: 300, windows: drainSeconds.windows.azure + 60 },
} as const;

/** Lifetime in seconds of the token in a join secret. */
export const joinTokenSeconds = 7200;

/** Seconds between join secrets: half a token's lifetime, so that a missed run does no harm. */
export const joinSecretSeconds = 3600;

/** Hours between the etcd snapshots that a control-plane machine uploads, at most. */
export const snapshotHours = 4;

/** Age in hours at which the last snapshot is late: two in a row have failed. The hour is for the delay of the timer and the upload. */
export const lateSnapshotHours = 2 * snapshotHours + 1;

/** Days that a snapshot of etcd is kept, unless the stack file says otherwise. */
export const snapshotDays = { development: 7, production: 30 } as const;

/** Minutes for a workload on Windows to become available: an image of several GB is pulled before the first pod is Ready. */
export const windowsWorkloadMinutes = 40;
