import { CheckFailure, expect } from "../../checks/check.ts";
import { ports } from "../../checks/facts.ts";
import { NotYet, until } from "../../checks/poll.ts";
import { messageOf } from "../../components/gates/messageOf.ts";
import type { VerifyCheck } from "../check.ts";
import type { NodeGroup } from "../nodes.ts";

const kubelet = `kubectl get csr (the kubelet's serving certificate); and whether the control plane reaches port ${ports.kubelet} of the node`;

/** `kubectl logs` works for pods of the group. */
export function logsCheck(group: NodeGroup): VerifyCheck {
  return {
    id: `logs/${group.id}`,
    title: `kubectl logs shows what a container on each node of ${group.id} that was tried has written`,
    run: async ({ api, probePods, namespace, signal }) => {
      for (const { pod, node } of await probePods.ready(group, signal)) {
        await until(`the log of pod ${pod} on node ${node}`, { signal, intervalMs: 2_000, lookAt: kubelet }, async () => {
          const log = await api.core.readNamespacedPodLog({ namespace, name: pod, container: "probe" });
          // The test image says on which port it serves.
          if (!/^.*serving on port/i.test(log)) throw new NotYet(`it reads "${log.slice(0, 200)}"`);
        });
      }
    },
  };
}

/** `kubectl exec` works for pods of the group, and reports how a command ended. */
export function execCheck(group: NodeGroup): VerifyCheck {
  const shell = (line: string): readonly string[] => (group.os === "windows" ? ["cmd.exe", "/c", line] : ["sh", "-c", line]);
  return {
    id: `exec/${group.id}`,
    title: `kubectl exec runs commands in containers on ${group.id} and reports their exit code`,
    run: async ({ probePods, signal }) => {
      for (const probePod of await probePods.ready(group, signal)) {
        const run = async (line: string) =>
          await probePods.run(probePod, shell(line)).catch((error: unknown) => {
            throw new CheckFailure(`node ${probePod.node}: ${messageOf(error)}`, kubelet);
          });
        const said = await run("echo fenestra");
        expect(
          said.code === 0 && said.stdout.trim() === "fenestra",
          `node ${probePod.node}: echo ended with ${said.code} and "${said.stdout.trim()}"`,
          kubelet,
        );
        const ended = await run("exit 7");
        expect(ended.code === 7, `node ${probePod.node}: a command that ends with 7 ended with ${ended.code}`, kubelet);
      }
    },
  };
}
