import { z } from "zod";
import { ports } from "../../components/model/ports.ts";
import type { LinuxMachine } from "../machines/linuxMachine.ts";
import type { Cluster } from "./cluster.ts";

/** Who created each Node, by the audit logs of the API servers: node name to user. */
export async function creators(cluster: Cluster): Promise<ReadonlyMap<string, string>> {
  const logs = await Promise.all(
    [...cluster.machines.values()].map(async ({ run }) => {
      const { stdout } = await run([
        "bash",
        "-c",
        'cat /var/log/kubernetes/audit/*.log 2>/dev/null | grep --text \'"verb":"create"\' | grep --text \'"resource":"nodes"\' || true',
      ]);
      return stdout.split("\n").filter((text) => text.startsWith("{"));
    }),
  );
  return creatorsIn(logs.flat());
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
    .map((line) => auditEvent.parse(JSON.parse(line)))
    .map(({ objectRef, user: { username }, responseStatus }) => ({
      node: objectRef.name ?? username.replace("system:node:", ""),
      username,
      code: responseStatus?.code ?? 500,
    }));
  const possible = events.filter(({ code }) => code === 409 || code >= 500);
  const certain = events.filter(({ code }) => code === 201);
  return new Map([...possible, ...certain].map(({ node, username }) => [node, username]));
}

const auditEvent = z.looseObject({
  objectRef: z.looseObject({ name: z.string().optional() }),
  /** Nobody in the event of a request whose credentials were refused. */
  user: z.looseObject({ username: z.string().default("") }),
  responseStatus: z.looseObject({ code: z.number() }).optional(),
});

/** What etcd of a machine holds under a key, as text. @throws Error when etcd does not answer */
export async function rawEtcd(machine: LinuxMachine, key: string): Promise<string> {
  const pki = "/etc/kubernetes/pki/etcd";
  const { code, stdout, stderr } = await machine.run([
    "etcdctl",
    `--endpoints=https://127.0.0.1:${ports.etcdClient}`,
    `--cacert=${pki}/ca.crt`,
    `--cert=${pki}/healthcheck-client.crt`,
    `--key=${pki}/healthcheck-client.key`,
    "get",
    key,
    "--print-value-only",
  ]);
  if (code !== 0) throw new Error(`etcdctl: ${stderr}`);
  return stdout;
}

/** Runs the bootstrap once more on every machine. */
export async function repeatBootstrap(
  machines: readonly LinuxMachine[],
): Promise<readonly { name: string; code: number; output: string }[]> {
  return await Promise.all(
    machines.map(async ({ name, run }) => {
      const { code, stdout, stderr } = await run(["/opt/fenestra/bootstrap.sh"], { timeoutMs: 100_000 });
      return { name, code, output: stdout + stderr };
    }),
  );
}
