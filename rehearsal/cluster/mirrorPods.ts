import { parse } from "yaml";
import { z } from "zod";
import type { LinuxMachine } from "../machines/linuxMachine.ts";
import { type Api, statusOf } from "./api.ts";

const manifestSchema = z.looseObject({
  apiVersion: z.string(),
  kind: z.string(),
  metadata: z.looseObject({
    name: z.string(),
    namespace: z.string(),
    labels: z.record(z.string(), z.string()).default({}),
  }),
  spec: z.looseObject({ containers: z.array(z.looseObject({ name: z.string() })).min(1) }),
});

/** The static pods that make a machine a member of the control plane. */
const mirrored = ["etcd.yaml", "kube-apiserver.yaml"] as const;
const podName = (file: string, node: string): string => `${file.replace(".yaml", "")}-${node}`;

/**
 * Shows the static pods of a machine whose programs run as pods of its node, and takes them away when they do not, as a kubelet does with
 * mirror pods (kubernetes/kubernetes: pkg/kubelet/pod/mirror_client.go, 1.36). KWOK says of them that they are ready.
 */
export async function mirrorStaticPods(api: Api, machine: LinuxMachine): Promise<void> {
  const node = await nodeOf(machine);
  if (node === undefined) return;
  for (const file of mirrored) {
    const name = podName(file, node);
    if (!machine.staticPods.running().has(file)) {
      await remove(api, name);
      continue;
    }
    const manifest = manifestSchema.parse(parse(await machine.readFile(`/etc/kubernetes/manifests/${file}`)));
    const { uid = "" } = (await api.core.readNode({ name: node })).metadata ?? {};
    const body = {
      ...manifest,
      metadata: {
        ...manifest.metadata,
        name,
        annotations: { "kubernetes.io/config.mirror": "rehearsal" },
        ownerReferences: [{ apiVersion: "v1", kind: "Node", name: node, uid, controller: true }],
      },
      spec: { ...manifest.spec, nodeName: node },
    };
    await api.core.createNamespacedPod({ namespace: "kube-system", body }).catch(ifNot(409));
  }
}

/**
 * Takes the mirror pods of a machine away that has lost its power. The node controller would call them not ready; here KWOK keeps the node's
 * lease alive.
 */
export async function forgetStaticPods(api: Api, node: string): Promise<void> {
  for (const file of mirrored) await remove(api, podName(file, node)).catch(() => undefined);
}

/** Name of a machine's node; nothing before its first stage has found it out. */
export async function nodeOf(machine: LinuxMachine): Promise<string | undefined> {
  const identity = await machine.readFile("/var/lib/fenestra/identity.env").catch(() => "");
  return /^NODE_NAME=(\S+)$/m.exec(identity)?.[1];
}

async function remove(api: Api, name: string): Promise<void> {
  await api.core.deleteNamespacedPod({ name, namespace: "kube-system", gracePeriodSeconds: 0 }).catch(ifNot(404));
}

/** Lets one answer of the API server pass. */
function ifNot(status: number): (error: unknown) => void {
  return (error) => {
    if (statusOf(error) !== status) throw error;
  };
}
