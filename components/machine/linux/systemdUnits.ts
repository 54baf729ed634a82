/** Text of a systemd unit: sections in order, each a list of `key=value`. */
type Sections = Readonly<Record<string, readonly string[]>>;

function unit(sections: Sections): string {
  return Object.entries(sections)
    .map(([name, lines]) => [`[${name}]`, ...lines, ""].join("\n"))
    .join("\n");
}

/** systemd sets no HOME for services of the system (systemd.exec(5)); kubectl would keep its cache of the API in `/.kube`. */
const home = "Environment=HOME=/root";

/** Runs the bootstrap at each boot, and again after a pause that grows from 5 s to 2 minutes when a stage has failed. */
export function bootstrapUnit(entry: string): string {
  return unit({
    Unit: [
      "Description=Fenestra: turns this machine into a node",
      "Wants=network-online.target",
      "After=network-online.target",
      "StartLimitIntervalSec=0",
    ],
    Service: [
      "Type=oneshot",
      "RemainAfterExit=yes",
      home,
      `ExecStart=${entry}`,
      // The serial console, which both clouds show without access to the machine, tells the last stage.
      "StandardOutput=journal+console",
      "Restart=on-failure",
      "RestartSec=5",
      "RestartSteps=6",
      "RestartMaxDelaySec=120",
      "TimeoutStartSec=infinity",
    ],
    Install: ["WantedBy=multi-user.target"],
  });
}

/** containerd as its own project starts it (containerd/containerd: containerd.service). */
export function containerdUnit(): string {
  return unit({
    Unit: ["Description=containerd container runtime", "After=network.target local-fs.target"],
    Service: [
      "Type=notify",
      "EnvironmentFile=-/etc/fenestra/proxy.env",
      "ExecStart=/usr/local/bin/containerd",
      "Delegate=yes",
      "KillMode=process",
      "Restart=always",
      "RestartSec=5",
      "LimitNPROC=infinity",
      "LimitCORE=infinity",
      "TasksMax=infinity",
      "OOMScoreAdjust=-999",
    ],
    Install: ["WantedBy=multi-user.target"],
  });
}

/**
 * The kubelet. `requiresMount` is a mount point without which it must not start: etcd would begin anew in an empty folder on the system
 * disk.
 */
export function kubeletUnit(requiresMount?: string): string {
  return unit({
    Unit: [
      "Description=Kubernetes node agent",
      "Wants=network-online.target containerd.service",
      "After=network-online.target containerd.service",
      "StartLimitIntervalSec=0",
      ...(requiresMount === undefined ? [] : [`RequiresMountsFor=${requiresMount}`]),
    ],
    Service: [
      "EnvironmentFile=/var/lib/kubelet/kubelet.env",
      "ExecStart=/usr/local/bin/kubelet $KUBELET_ARGS",
      "Restart=always",
      "RestartSec=10",
      "KillMode=process",
    ],
    Install: ["WantedBy=multi-user.target"],
  });
}

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

/** Rules of the packet filter, in force before any pod runs. */
export function metadataGuardUnit(command: string): string {
  return unit({
    Unit: ["Description=Fenestra: keeps pods away from the metadata service", "Before=kubelet.service"],
    Service: ["Type=oneshot", "RemainAfterExit=yes", `ExecStart=${command}`],
    Install: ["WantedBy=multi-user.target"],
  });
}
