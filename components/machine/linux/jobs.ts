import { joinSecretSeconds } from "../../model/timings.ts";
import type { JobSettings } from "./systemdUnits.ts";

export interface Job {
  readonly name: string;
  readonly does: string;
  /** Script below `linux/`. */
  readonly file: string;
  /** Seconds until the first run and between runs. */
  readonly first: number;
  readonly interval: number;
  readonly settings?: JobSettings;
}

const hour = 3600;

/**
 * What the timers of a control-plane machine start.
 *
 * @param snapshotsEvery hours between snapshots of etcd; none without it.
 */
export function scheduledJobs(snapshotsEvery: number | undefined): readonly Job[] {
  return [
    {
      name: "fenestra-join-secret",
      does: "publishes a fresh join secret",
      file: "publish-join-secret.sh",
      first: joinSecretSeconds,
      interval: joinSecretSeconds,
      // After an outage, machines waiting to join must not wait for the next run.
      settings: { retrySeconds: 30 },
    },
    ...(snapshotsEvery !== undefined
      ? [
          {
            name: "fenestra-etcd-snapshot",
            does: "sends a snapshot of etcd away",
            file: "etcd-snapshot.sh",
            first: hour / 2,
            interval: snapshotsEvery * hour,
            settings: { retrySeconds: 600, background: true, limitSeconds: hour },
          },
        ]
      : []),
    {
      name: "fenestra-etcd-defrag",
      does: "gives back room in etcd's database, and tells of its alarms",
      file: "etcd-defrag.sh",
      first: 2 * hour,
      interval: 24 * hour,
      // Until it has run, a full etcd takes no writes.
      settings: { retrySeconds: 600, limitSeconds: hour },
    },
    {
      name: "fenestra-certificates",
      does: "renews the certificates of the control plane",
      file: "renew-certificates.sh",
      // Those of a machine that was off for long may have ended.
      first: 120,
      interval: 24 * hour,
      // One that was cut off has left a component waiting.
      settings: { retrySeconds: 60, limitSeconds: hour },
    },
  ];
}
