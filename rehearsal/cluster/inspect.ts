import { z } from "zod";
import { limitsMs } from "../host/limits.ts";
import type { LinuxMachine } from "../machines/linuxMachine.ts";

/** Linux machines by id, as a cluster has them. */
export interface Machines {
  readonly machines: ReadonlyMap<string, Pick<LinuxMachine, "run">>;
}

/** What a second run of a machine's bootstrap did. */
export interface RepeatedBootstrap {
  readonly name: string;
  readonly code: number;
  readonly output: string;
  /** Stages that are done once, by the machine's own table, in its order. */
  readonly once: readonly string[];
}

/** Lines that a shell command prints in the Linux machines; a machine in which it fails has none. */
export async function inMachines(cluster: Machines, command: string): Promise<readonly string[]> {
  const outputs = await Promise.all(
    [...cluster.machines.values()].map(({ run }) => run(["bash", "-c", `${command} 2>/dev/null || true`])),
  );
  return outputs.flatMap(({ stdout }) => stdout.split("\n").filter((line) => line !== ""));
}

/** Who created each Node, by the audit logs of the API servers: node name to user. */
export async function creators(cluster: Machines): Promise<ReadonlyMap<string, string>> {
  const created = `grep --text --no-filename '"verb":"create"' ${auditLogs} | grep --text '"resource":"nodes"'`;
  return creatorsIn(await inMachines(cluster, created));
}

/**
 * Who created each Node, by lines of audit logs.
 *
 * An answer of 201 says it for certain. A busy API server can also create a Node and answer with an error of its own
 * (etcd's leader changed, the time of the request was over); the kubelet repeats the request and gets 409 then
 * (tryRegisterWithAPIServer in pkg/kubelet/kubelet_node_status.go, 1.36.3). What was refused created nothing.
 */
export function creatorsIn(lines: readonly string[]): ReadonlyMap<string, string> {
  const events = lines
    .map(auditEventOf)
    .map(({ objectRef, user: { username }, responseStatus }) => ({
      node: objectRef?.name ?? username.replace("system:node:", ""),
      username,
      code: responseStatus?.code ?? 500,
    }));
  const possible = events.filter(({ code }) => code === 409 || code >= 500);
  const certain = events.filter(({ code }) => code === 201);
  return new Map([...possible, ...certain].map(({ node, username }) => [node, username]));
}

/** Where the API servers write their audit logs, as a shell pattern. */
export const auditLogs = "/var/log/kubernetes/audit/*.log";

/** User agent, as audit logs have it, of requests that a check makes in the name of identities that lie on a worker. */
export const hostileAgent = "hostile-worker";

const auditEvent = z.looseObject({
  verb: z.string(),
  userAgent: z.string().default(""),
  /** Nobody in the event of a request whose credentials were refused. */
  user: z.looseObject({ username: z.string().default("") }),
  objectRef: z
    .looseObject({
      apiGroup: z.string().optional(),
      resource: z.string().optional(),
      subresource: z.string().optional(),
      name: z.string().optional(),
    })
    .optional(),
  responseStatus: z.looseObject({ code: z.number().optional() }).optional(),
});

/** The event of a line of an audit log. @throws Error when the line is none */
export function auditEventOf(line: string): z.output<typeof auditEvent> {
  return auditEvent.parse(JSON.parse(line));
}

/** Whether a machine reaches a TCP port of its own by the name localhost; a machine that does not run does not. */
export async function listensOnItself(machine: LinuxMachine | undefined, port: number): Promise<boolean> {
  const connected = await machine?.run(["bash", "-c", `exec 3<>/dev/tcp/localhost/${port}`]);
  return connected?.code === 0;
}

/** Runs the bootstrap once more on every machine. */
export async function repeatBootstrap(machines: readonly LinuxMachine[]): Promise<readonly RepeatedBootstrap[]> {
  return await Promise.all(
    machines.map(async ({ name, run }) => {
      const { stdout: table } = await run(["cat", "/etc/fenestra/stages.tsv"]);
      const once = table.split("\n").flatMap((line) => {
        const [stage = "", , , mode] = line.split("\t");
        return mode === "once" ? [stage] : [];
      });
      const { code, stdout, stderr } = await run(["/opt/fenestra/bootstrap.sh"], { timeoutMs: limitsMs.program });
      return { name, code, output: stdout + stderr, once };
    }),
  );
}
