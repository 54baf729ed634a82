import { z } from "zod";
import type { LinuxMachine } from "../machines/linuxMachine.ts";

export interface Machines {
  readonly machines: ReadonlyMap<string, Pick<LinuxMachine, "run">>;
}

/** Lines that a shell command prints in the Linux machines where it succeeds. */
export async function inMachines(cluster: Machines, command: string): Promise<readonly string[]> {
  const outputs = await Promise.all(
    [...cluster.machines.values()].map(({ run }) => run(["bash", "-c", `${command} 2>/dev/null || true`])),
  );
  return outputs.flatMap(({ stdout }) => stdout.split("\n").filter((line) => line !== ""));
}

/** Who created each Node, by the API servers' audit logs: node name to user. */
export async function creators(cluster: Machines): Promise<ReadonlyMap<string, string>> {
  const created = `grep --text --no-filename '"verb":"create"' ${auditLogs} | grep --text '"resource":"nodes"'`;
  return creatorsIn(await inMachines(cluster, created));
}

/**
 * Who created each Node, by lines of audit logs.
 *
 * An answer of 201 is certain. A busy API server can also create a Node and answer with an error of its own (etcd's
 * leader changed, the request's time was over); the kubelet then repeats the request and gets 409
 * (tryRegisterWithAPIServer in pkg/kubelet/kubelet_node_status.go, 1.36.3).
 */
function creatorsIn(lines: readonly string[]): ReadonlyMap<string, string> {
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

/** The API servers' audit logs, as a shell pattern. */
const auditLogs = "/var/log/kubernetes/audit/*.log";

/** User agent in audit logs of requests that a check makes with identities of a worker. */
export const hostileAgent = "hostile-worker";

const auditEvent = z.looseObject({
  verb: z.string(),
  userAgent: z.string().default(""),
  /** Absent when the request's credentials were refused. */
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

/** The event in a line of an audit log. @throws Error when there is none */
function auditEventOf(line: string): z.output<typeof auditEvent> {
  return auditEvent.parse(JSON.parse(line));
}
