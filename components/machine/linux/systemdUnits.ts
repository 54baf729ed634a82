import { etcdSeconds } from "../../model/timings.ts";

type Sections = Readonly<Record<string, readonly string[]>>;

function unit(sections: Sections): string {
  return Object.entries(sections)
    .map(([name, lines]) => [`[${name}]`, ...lines, ""].join("\n"))
    .join("\n");
}

/** systemd sets no HOME for system services (systemd.exec(5)); kubectl would keep its API cache in `/.kube`. */
const home = "Environment=HOME=/root";

interface JobSettings {
  /** Seconds after which a failed run is repeated. Default: not before the timer's next run. */
  readonly retrySeconds?: number;
  /** Gets CPU and disk time only when they are idle. Default false. */
  readonly background?: boolean;
  /** Seconds after which a run is ended; a oneshot has no limit of its own (systemd.service(5)). Default 900. */
  readonly limitSeconds?: number;
}

/** A job that runs once each time it is started; its unit fails when it does. */
export function jobUnit(description: string, command: string, settings: JobSettings = {}): string {
  const { retrySeconds, background = false, limitSeconds = 900 } = settings;
  return unit({
    Unit: [`Description=Fenestra: ${description}`, "Wants=network-online.target", "After=network-online.target"],
    Service: [
      "Type=oneshot",
      home,
      `ExecStart=${command}`,
      `TimeoutStartSec=${limitSeconds}`,
      ...(background ? ["Nice=19", "IOSchedulingClass=idle"] : []),
      ...(retrySeconds === undefined ? [] : ["Restart=on-failure", `RestartSec=${retrySeconds}`]),
    ],
  });
}

/**
 * When a job runs: after a delay, then at intervals, both in seconds, at random so that machines do not start at once.
 */
export function timerUnit(description: string, firstSeconds: number, intervalSeconds: number): string {
  return unit({
    Unit: [`Description=Fenestra: ${description}`],
    Timer: [
      `OnActiveSec=${firstSeconds}`,
      `OnUnitActiveSec=${intervalSeconds}`,
      `RandomizedDelaySec=${Math.floor(Math.min(firstSeconds, intervalSeconds) / 20)}`,
      "AccuracySec=1",
    ],
    Install: ["WantedBy=timers.target"],
  });
}

/** A program that runs as long as the machine does. */
export function daemonUnit(description: string, command: string): string {
  return unit({
    Unit: [`Description=Fenestra: ${description}`, "After=kubelet.service", "StartLimitIntervalSec=0"],
    Service: [home, `ExecStart=${command}`, "Restart=always", "RestartSec=10"],
    Install: ["WantedBy=multi-user.target"],
  });
}

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
 * @param snapshotsEvery hours between snapshots of etcd
 */
export function scheduledJobs(snapshotsEvery: number): readonly Job[] {
  return [
    {
      name: "fenestra-join-secret",
      does: "publishes fresh join secrets",
      file: "publish-join-secret.sh",
      // A new pool's machines must not wait for it longer than they take to boot.
      first: 60,
      interval: 60,
    },
    {
      name: "fenestra-etcd-snapshot",
      does: "sends a snapshot of etcd away",
      file: "etcd-snapshot.sh",
      first: hour / 2,
      interval: snapshotsEvery * hour,
      settings: { retrySeconds: 600, background: true, limitSeconds: hour },
    },
    {
      name: "fenestra-etcd-defrag",
      does: "gives back room in etcd's database, and tells of its alarms",
      file: "etcd-defrag.sh",
      first: 2 * hour,
      interval: 24 * hour,
      // Until it has run, a full etcd takes no writes.
      settings: { retrySeconds: 600, limitSeconds: etcdSeconds.job },
    },
    {
      name: "fenestra-certificates",
      does: "renews the certificates of the control plane",
      file: "renew-certificates.sh",
      // Those of a machine that was off for long may have ended.
      first: 120,
      interval: 24 * hour,
      // One that was cut off has left a component waiting.
      settings: { retrySeconds: 60, limitSeconds: etcdSeconds.job },
    },
  ];
}
