/** Every duration that two places must agree on: a node and its cloud, both clouds, a script and the gate that waits for it. */

/**
 * Seconds that a machine of a pool has to join, from its launch. Windows boots, installs features and reboots once. After that the group
 * replaces it, the pool's gate gives up, and an update of a scale set counts on it.
 */
export const joinSeconds = { linux: 900, windows: 2400 } as const;

/**
 * Age in seconds at which a machine has joined or was given up by its group: first certificates are for younger ones. Longer than
 * `joinSeconds` of both systems.
 */
export const newMachineSeconds = 3600;

/**
 * Minutes that the cluster autoscaler waits for the node of a machine that it asked for. A Windows node needs about ten minutes and a reboot,
 * so the autoscaler's default of 15 would give up.
 */
export const provisionMinutes = 30;

/**
 * Seconds that a node takes to evict its pods. Below `terminationSeconds` of its cloud. A spot machine goes two minutes after the notice on
 * AWS, half a minute on Azure (documentation of both, spot interruption notice and terminate notification).
 */
export const drainSeconds = {
  linux: { aws: 600, azure: 270 },
  windows: { aws: 600, azure: 600 },
  spot: { linux: { aws: 90, azure: 20 }, windows: { aws: 100, azure: 20 } },
} as const;

/** Seconds between two looks at the cloud's notice of termination. */
export const noticeSeconds = 5;

/** Seconds between two signs of a draining node to the hook that waits for it: a third of `terminationSeconds`, so that one may be lost. */
export const heartbeatSeconds = 300;

/**
 * Seconds that the cloud keeps a machine that is to go; then it goes all the same. AWS: the hook of the group. Azure takes 5 to 15 minutes
 * (Azure documentation, terminate notification); on Windows it outlasts the drain by a minute.
 */
export const terminationSeconds = {
  aws: { linux: 900, windows: 900 },
  azure: { linux: 300, windows: drainSeconds.windows.azure + 60 },
} as const;

/** Seconds that the token of a join secret can be used. */
export const joinTokenSeconds = 7200;

/** Seconds between two join secrets: half a token's life, so that a missed turn does no harm. */
export const joinSecretSeconds = 3600;

/** Hours between two snapshots of etcd that a control-plane machine sends. */
export const snapshotHours = 4;

/** Days that a snapshot of etcd is kept. */
export const snapshotDays = { development: 7, production: 30 } as const;

/** Minutes for a workload on Windows to be there: an image of several GB is pulled before the first pod is Ready. */
export const windowsWorkloadMinutes = 40;
