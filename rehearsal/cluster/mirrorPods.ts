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

/**
 * Shows the static pods of a machine whose programs run as pods of its node, and takes them away when they do not, as a kubelet does with
 * mirror pods (kubernetes/kubernetes: pkg/kubelet/pod/mirror_client.go, 1.36). KWOK says of them that they are ready.
 */
export async function mirrorStaticPods(api: Api, machine: LinuxMachine): Promise<void> {
  const node = /^NODE_NAME=(\S+)$/m.exec(await machine.readFile("/var/lib/fenestra/identity.env"))?.[1];
  if (node === undefined) return;
  for (const file of ["etcd.yaml", "kube-apiserver.yaml"]) {
    const name = `${file.replace(".yaml", "")}-${node}`;
    if (!machine.staticPods.running().has(file)) {
      await api.core.deleteNamespacedPod({ name, namespace: "kube-system", gracePeriodSeconds: 0 }).catch(ifNot(404));
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

/** Lets one answer of the API server pass. */
function ifNot(status: number): (error: unknown) => void {
  return (error) => {
    if (statusOf(error) !== status) throw error;
  };
}
