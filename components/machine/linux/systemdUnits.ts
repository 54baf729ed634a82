/** Text of a systemd unit: sections in order, each a list of `key=value`. */
type Sections = Readonly<Record<string, readonly string[]>>;

function unit(sections: Sections): string {
  return Object.entries(sections)
    .map(([name, lines]) => [`[${name}]`, ...lines, ""].join("\n"))
    .join("\n");
}

/** systemd sets no HOME for services of the system (systemd.exec(5)); kubectl would keep its cache of the API in `/.kube`. */
const home = "Environment=HOME=/root";

/** How a job runs beside everything else. */
export interface JobSettings {
  /** Seconds after which a run that failed is repeated. Default: not before the timer's next turn. */
  readonly retrySeconds?: number;
  /** Gets processor and disk only when nobody else wants them. Default: an equal share. */
  readonly background?: boolean;
}

/** A job that runs once each time it is started; it fails visibly. */
export function jobUnit(description: string, command: string, settings: JobSettings = {}): string {
  const { retrySeconds, background = false } = settings;
  return unit({
    Unit: [`Description=Fenestra: ${description}`, "Wants=network-online.target", "After=network-online.target"],
    Service: [
      "Type=oneshot",
      home,
      `ExecStart=${command}`,
      ...(background ? ["Nice=19", "IOSchedulingClass=idle"] : []),
      ...(retrySeconds === undefined ? [] : ["Restart=on-failure", `RestartSec=${retrySeconds}`]),
    ],
  });
}

/** When a job runs: first after a while, then in intervals, both in seconds. Machines do not all start at the same moment. */
export function timerUnit(description: string, firstSeconds: number, intervalSeconds: number): string {
  return unit({
    Unit: [`Description=Fenestra: ${description}`],
    Timer: [
      `OnActiveSec=${firstSeconds}`,
      `OnUnitActiveSec=${intervalSeconds}`,
      `RandomizedDelaySec=${Math.floor(intervalSeconds / 20)}`,
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
