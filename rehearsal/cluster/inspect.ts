import { z } from "zod";
import { ports } from "../../components/model/ports.ts";
import type { LinuxMachine } from "../machines/linuxMachine.ts";
import type { Cluster } from "./cluster.ts";

/** Who created each Node, by the audit logs of the API servers. */
export async function creators(cluster: Cluster): Promise<ReadonlyMap<string, string>> {
  const found = new Map<string, string>();
  for (const machine of cluster.machines.values()) {
    const { stdout } = await machine.run([
      "bash",
      "-c",
      'cat /var/log/kubernetes/audit/*.log 2>/dev/null | grep \'"verb":"create"\' | grep \'"resource":"nodes"\' || true',
    ]);
    for (const line of stdout.split("\n").filter((text) => text.startsWith("{"))) {
      const event = auditEvent.safeParse(JSON.parse(line));
      if (!event.success || event.data.responseStatus.code !== 201) continue;
      found.set(
        event.data.objectRef.name ?? event.data.user.username.replace("system:node:", ""),
        event.data.user.username,
      );
    }
  }
  return found;
}

const auditEvent = z.looseObject({
  objectRef: z.looseObject({ name: z.string().optional() }),
  user: z.looseObject({ username: z.string() }),
  responseStatus: z.looseObject({ code: z.number() }),
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
