import { readdirSync } from "node:fs";
import type { PayloadFile } from "../payload.ts";
import { readScript } from "../script.ts";
import { script } from "./files.ts";
import { confinedUnit } from "./systemdUnits.ts";

/** The program that gives machines their certificates and looks after nodes, on every control-plane machine. */
export const nodeController = {
  unit: "fenestra-node-controller.service",
  folder: "/opt/fenestra/node-controller",
  /** Its user, for systemd and, by its certificate, for the API server. */
  user: "fenestra-nodes",
  /** Folder below `/run` with its certificate. */
  run: "fenestra-nodes",
  /** What node-exporter reads of it. */
  metrics: "/var/lib/fenestra/metrics/node-controller.prom",
} as const;

const source = new URL("../../nodeController/program/", import.meta.url);
const identity = "node-controller-identity.sh";

/** Its modules, and what issues its certificate. All of it is fetched on AWS, as scripts are. */
export function nodeControllerScripts(): readonly PayloadFile[] {
  const modules = readdirSync(source).filter((name) => name.endsWith(".py"));
  return [
    script(identity),
    ...modules
      .sort()
      .map((name) => ({ path: `${nodeController.folder}/${name}`, content: readScript(new URL(name, source)), mode: "0755" })),
  ];
}

/**
 * Its unit. It runs as a user of its own without the files of the control plane: before each start, root issues a certificate for it.
 * systemd ends it when it hangs or takes too much memory, and starts it again.
 */
export function nodeControllerUnit(): string {
  const { folder, user, run, metrics } = nodeController;
  return confinedUnit("gives machines their certificates, and looks after nodes", {
    before: `/opt/fenestra/${identity} /run/${run} ${metrics}`,
    command: `/usr/bin/python3 -I -S -B ${folder} /run/${run} ${metrics}`,
    user,
    run,
    environment: ["/etc/fenestra/machine.env", "/var/lib/fenestra/identity.env"],
    writable: metrics,
    hidden: ["/etc/kubernetes", "/var/lib/kubelet", "/var/lib/etcd-data"],
    watchdogSeconds: 300,
    memory: "256M",
  });
}
