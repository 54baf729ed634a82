import { ports } from "../../components/model/ports.ts";
import { ifFound, messageOf } from "../api.ts";
import { CheckFailure, expect, type VerifyCheck } from "../check.ts";
import { executor } from "../exec.ts";
import { forGroup, stationImage, verifyPod } from "../manifests.ts";
import type { NodeGroup } from "../nodes.ts";
import { NotYet, until } from "../poll.ts";
import { podProblem } from "../workloads.ts";

const kubelet = `kubectl get csr (the kubelet's serving certificate); and whether the control plane reaches port ${ports.kubelet} of the node`;

/** `kubectl logs` works for pods of the group. */
export function logsCheck(group: NodeGroup): VerifyCheck {
  return {
    id: `logs/${group.id}`,
    title: `kubectl logs shows what a container on each node of ${group.id} that was tried has written`,
    run: async ({ api, stations, namespace, signal }) => {
      for (const { pod, node } of await stations.ready(group, signal)) {
        await until(
          `the log of pod ${pod} on node ${node}`,
          async () => {
            const log = await api.core.readNamespacedPodLog({ namespace, name: pod, container: "station" });
            // The test image says on which port it serves.
            if (!log.includes("netexec") && !/serving|started/i.test(log))
              throw new NotYet(`it reads "${log.slice(0, 200)}"`);
          },
          { signal, intervalMs: 2_000, lookAt: kubelet },
        );
      }
    },
  };
}

/** `kubectl exec` works for pods of the group, and tells how a command ended. */
export function execCheck(group: NodeGroup): VerifyCheck {
  const shell = (line: string): readonly string[] =>
    group.os === "windows" ? ["cmd.exe", "/c", line] : ["sh", "-c", line];
  return {
    id: `exec/${group.id}`,
    title: `kubectl exec runs commands in containers on ${group.id} and tells their exit code`,
    run: async ({ stations, signal }) => {
      for (const station of await stations.ready(group, signal)) {
        const run = async (line: string) =>
          await stations.run(station, shell(line)).catch((error: unknown) => {
            throw new CheckFailure(`node ${station.node}: ${messageOf(error)}`, kubelet);
          });
        const said = await run("echo fenestra");
        expect(
          said.code === 0 && said.stdout.trim() === "fenestra",
          `node ${station.node}: echo ended with ${said.code} and "${said.stdout.trim()}"`,
          kubelet,
        );
        const ended = await run("exit 7");
        expect(ended.code === 7, `node ${station.node}: a command that ends with 7 ended with ${ended.code}`, kubelet);
      }
    },
  };
}

/** Claims on Windows keep what was written to them when the pod goes. */
export function volumeCheck(group: NodeGroup, storageClass: string | undefined): VerifyCheck {
  return {
    id: `volume/${group.id}`,
    title: `a pod of ${group.id} writes to a claim of ${storageClass ?? "a StorageClass for NTFS"}, and another pod reads it after the first is gone`,
    ...(storageClass === undefined
      ? { skip: "no StorageClass makes NTFS volumes (csi.storage.k8s.io/fstype: ntfs)" }
      : {}),
    run: async ({ api, namespace, signal, note }) => {
      const claim = `volume-${group.id}`;
      const text = `${namespace} ${group.id}`;
      await api.core.createNamespacedPersistentVolumeClaim({
        namespace,
        body: {
          apiVersion: "v1",
          kind: "PersistentVolumeClaim",
          metadata: { name: claim },
          spec: {
            accessModes: ["ReadWriteOnce"],
            resources: { requests: { storage: "4Gi" } },
            ...(storageClass === undefined ? {} : { storageClassName: storageClass }),
          },
        },
      });
      const withPod = async (suffix: string, line: string): Promise<string> => {
        const name = `${claim}-${suffix}`;
        const body = verifyPod(name, {
          ...forGroup(group),
          containers: [
            {
              name: "station",
              image: stationImage(group),
              args: ["pause"],
              // The root of a new NTFS volume lets only administrators make files.
              securityContext: { windowsOptions: { runAsUserName: "ContainerAdministrator" } },
              volumeMounts: [{ name: "disk", mountPath: "C:\\data" }],
            },
          ],
          volumes: [{ name: "disk", persistentVolumeClaim: { claimName: claim } }],
        });
        const lookAt = `kubectl -n ${namespace} describe pod ${name} and pvc ${claim} (while verify runs); kubectl -n kube-system get pods | grep csi`;
        await api.core.createNamespacedPod({ namespace, body });
        const running = async (): Promise<void> => {
          const problem = podProblem(await api.core.readNamespacedPod({ namespace, name }));
          if (problem !== undefined) throw new NotYet(problem);
        };
        await until(`pod ${name} with its volume`, running, { signal, intervalMs: 2_000, lookAt });
        const { code, stdout, stderr } = await executor(api.config, namespace)(name, ["cmd.exe", "/c", line]);
        expect(code === 0, `"${line}" ended with ${code}: ${stderr.trim()}`, lookAt);
        await api.core.deleteNamespacedPod({ namespace, name });
        // While it ends its node holds the disk, and the next pod would read through the same mount.
        await until(
          `pod ${name} to be gone`,
          async () => {
            if ((await ifFound(api.core.readNamespacedPod({ namespace, name }))) !== undefined)
              throw new NotYet("it is still there");
          },
          { signal, intervalMs: 1_000, lookAt },
        );
        return stdout.trim();
      };
      // The redirection first: a digit right before it would be taken for the number of a stream.
      await withPod("writer", `>C:\\data\\probe.txt echo ${text}`);
      const read = await withPod("reader", "type C:\\data\\probe.txt");
      expect(read === text, `the second pod read "${read}", wanted "${text}"`, `kubectl -n ${namespace} get pvc,pv`);
      note(`StorageClass ${storageClass}`);
    },
  };
}
