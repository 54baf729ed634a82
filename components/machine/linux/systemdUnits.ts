/** Text of a systemd unit: sections in order, each a list of `key=value`. */
type Sections = Readonly<Record<string, readonly string[]>>;

function unit(sections: Sections): string {
  return Object.entries(sections)
    .map(([name, lines]) => [`[${name}]`, ...lines, ""].join("\n"))
    .join("\n");
}

/** systemd sets no HOME for system services (systemd.exec(5)); kubectl would keep its API cache in `/.kube`. */
const home = "Environment=HOME=/root";

/** How a job runs relative to other services. */
export interface JobSettings {
  /** Seconds after which a failed run is repeated. Default: not before the timer's next run. */
  readonly retrySeconds?: number;
  /** Gets CPU and disk time only when they are otherwise idle. Default: an equal share. */
  readonly background?: boolean;
  /** Seconds after which a run that hangs is ended; a oneshot has no limit of its own (systemd.service(5)). Default 900. */
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

/** When a job runs: first after a delay, then at intervals, both in seconds, randomised so that machines do not all start at once. */
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
