import type { V1Node, V1PersistentVolumeClaim, V1PersistentVolumeSpec } from "@kubernetes/client-node";
import { z } from "zod";
import { statusOf } from "../../check/cluster/clusterApi.ts";
import { uninitializedTaintKey } from "../../check/facts.ts";
import type { Api } from "../api/client.ts";
import type { Network } from "../host/network.ts";
import type { CloudInstance, CloudSimulation } from "./cloud.ts";
import { type EndpointHandler, listen, newAuthority } from "./server.ts";

/**
 * Fake of the cloud controller manager: by a node's provider id it finds the instance, sets addresses and the labels of
 * zone, region and type, and removes the `uninitialized` taint, which stays where it finds none.
 */
export async function initialiseNodes({ core }: Api, instances: readonly CloudInstance[]): Promise<void> {
  const nodes = (await core.listNode()).items.filter(({ spec }) =>
    spec?.taints?.some(({ key }) => key === uninitializedTaintKey),
  );
  await Promise.all(nodes.map((node) => ignoringConflict(initialise(node))));

  /** On AWS (kubernetes/cloud-provider-aws v1.35.2: pkg/providers/v1/aws.go, `extractIPv4NodeAddresses`). */
  async function withAddresses(node: V1Node, { address, privateDns }: CloudInstance): Promise<V1Node> {
    if (privateDns === undefined) return node;
    const addresses = [
      { type: "InternalIP", address },
      { type: "InternalDNS", address: privateDns },
      { type: "Hostname", address: privateDns },
    ];
    const name = node.metadata?.name ?? "";
    return await core.replaceNodeStatus({ name, body: { ...node, status: { ...node.status, addresses } } });
  }

  async function initialise(registered: V1Node): Promise<void> {
    const instance = instances.find(({ providerId }) => providerId === registered.spec?.providerID);
    if (instance === undefined || !instance.ofCluster) return;
    const node = await withAddresses(registered, instance);
    const labels = {
      ...node.metadata?.labels,
      "topology.kubernetes.io/zone": instance.zone,
      "topology.kubernetes.io/region": instance.region,
      "node.kubernetes.io/instance-type": instance.instanceType,
    };
    const taints = (node.spec?.taints ?? []).filter(({ key }) => key !== uninitializedTaintKey);
    const body = { ...node, metadata: { ...node.metadata, labels }, spec: { ...node.spec, taints } };
    await core.replaceNode({ name: registered.metadata?.name ?? "", body });
  }
}

/**
 * The node lifecycle part of the cloud controller: removes nodes of unknown instances. The taint of instances that are
 * shut down is not imitated, as none is.
 */
async function removeGoneNodes({ core }: Api, instances: readonly CloudInstance[]): Promise<void> {
  for (const name of goneNodes((await core.listNode()).items, instances)) await core.deleteNode({ name });
}

/**
 * Names of the nodes to remove. One that is Ready, until the controller-manager has long missed its lease, is never
 * looked for in the cloud (kubernetes/cloud-provider v0.36.2: controllers/nodelifecycle/node_lifecycle_controller.go,
 * `MonitorNodes`).
 */
function goneNodes(nodes: readonly V1Node[], instances: readonly CloudInstance[]): readonly string[] {
  const known = new Set(instances.map(({ providerId }) => providerId));
  return nodes.flatMap(({ metadata, spec, status }) => {
    const ready = status?.conditions?.find(({ type }) => type === "Ready")?.status;
    const gone = ready !== "True" && spec?.providerID !== undefined && !known.has(spec.providerID);
    return gone ? [metadata?.name ?? ""] : [];
  });
}

/**
 * Fake of the CSI drivers' provisioner: once the scheduler has chosen a node for a claim, a volume appears that belongs
 * to the claim and the node's zone, and goes as its class says. On a Linux machine it is a folder: its kubelet mounts
 * only for a driver that has registered there, which a stand-in never does.
 */
async function provideVolumes({ core, custom }: Api): Promise<void> {
  const claims = (await core.listPersistentVolumeClaimForAllNamespaces()).items.filter(
    ({ status }) => status?.phase === "Pending",
  );
  for (const claim of claims) {
    const node = claim.metadata?.annotations?.["volume.kubernetes.io/selected-node"];
    const driver = claim.metadata?.annotations?.["volume.kubernetes.io/storage-provisioner"];
    if (node === undefined || driver === undefined) continue;
    const labels = (await core.readNode({ name: node })).metadata?.labels ?? {};
    const found = await custom.getClusterCustomObject({
      ...{ group: "storage.k8s.io", version: "v1", plural: "storageclasses", name: claim.spec?.storageClassName ?? "" },
    });
    const { reclaimPolicy } = z.looseObject({ reclaimPolicy: z.string().default("Delete") }).parse(found);
    const source =
      labels["kubernetes.io/os"] === "windows"
        ? { csi: { driver, volumeHandle: `simulated-${claim.metadata?.uid}` } }
        : { hostPath: { path: `/var/lib/simulated-volumes/${claim.metadata?.uid}`, type: "DirectoryOrCreate" } };
    const zone = labels["topology.kubernetes.io/zone"] ?? "";
    await ignoringConflict(core.createPersistentVolume({ body: volumeFor(claim, source, zone, reclaimPolicy) }));
  }
  for (const { metadata, spec, status } of (await core.listPersistentVolume()).items)
    if (status?.phase === "Released" && spec?.persistentVolumeReclaimPolicy === "Delete")
      await core.deletePersistentVolume({ name: metadata?.name ?? "" });
}

function volumeFor(
  claim: V1PersistentVolumeClaim,
  source: Pick<V1PersistentVolumeSpec, "csi" | "hostPath">,
  zone: string,
  reclaimPolicy: string,
) {
  const { name = "", namespace = "", uid = "" } = claim.metadata ?? {};
  return {
    metadata: { name: `pvc-${uid}` },
    spec: {
      capacity: { storage: claim.spec?.resources?.requests?.storage ?? "1Gi" },
      accessModes: claim.spec?.accessModes ?? ["ReadWriteOnce"],
      ...(claim.spec?.storageClassName !== undefined && { storageClassName: claim.spec.storageClassName }),
      persistentVolumeReclaimPolicy: reclaimPolicy,
      claimRef: { apiVersion: "v1", kind: "PersistentVolumeClaim", name, namespace, uid },
      ...source,
      nodeAffinity: {
        required: {
          nodeSelectorTerms: [
            { matchExpressions: [{ key: "topology.kubernetes.io/zone", operator: "In", values: [zone] }] },
          ],
        },
      },
    },
  };
}

/**
 * Two rounds may see the same object: the second gets a conflict, and the next one sees what has changed in between.
 */
async function ignoringConflict(call: Promise<unknown>): Promise<void> {
  try {
    await call;
  } catch (error) {
    if (statusOf(error) !== 409) throw error;
  }
}

/** Plays the lasting parts of the cloud: volumes of claims, the gMSA webhook, metrics, new nodes and gone ones. */
export function startCloudController(api: Api, cloud: CloudSimulation, network: Network): void {
  const missing = new Set(answerers);
  const round = async (): Promise<void> => {
    for (const each of missing) if (await answerFor(each, api, network)) missing.delete(each);
    await provideVolumes(api);
    await initialiseNodes(api, cloud.machines.map(cloud.instance));
    await removeGoneNodes(api, cloud.machines.map(cloud.instance));
  };
  // The next round follows one that failed: the API may be away on purpose.
  const loop = (): void => void setTimeout(() => round().then(loop, loop), 500);
  loop();
}

/** A Service of kube-system without whose answer the API server refuses something: no program of it starts here. */
interface Answerer {
  readonly service: string;
  /** Secret with its certificate, which the API server checks. Default: it checks none. */
  readonly secret?: string;
  readonly answer: (body: Buffer) => object;
}

const answerers: readonly Answerer[] = [
  {
    // It allows each pod with an account.
    service: "gmsa-webhook",
    secret: "gmsa-webhook-certificate",
    answer: (body) => {
      const response = { uid: JSON.parse(body.toString()).request.uid, allowed: true };
      return { apiVersion: "admission.k8s.io/v1", kind: "AdmissionReview", response };
    },
  },
  {
    // It has nothing to list. While nobody answers for a registered API, no deleted namespace ends
    // (kubernetes/kubernetes#60807).
    service: "metrics-server",
    answer: () => ({
      ...{ kind: "APIResourceList", apiVersion: "v1", groupVersion: "metrics.k8s.io/v1beta1" },
      resources: [],
    }),
  },
];

/** Answers at the address of a Service. @returns whether the cluster has it */
async function answerFor({ service, secret, answer }: Answerer, { core }: Api, network: Network): Promise<boolean> {
  const namespace = "kube-system";
  const { items } = await core.listNamespacedService({ namespace });
  const address = items.find(({ metadata }) => metadata?.name === service)?.spec?.clusterIP;
  if (address === undefined) return false;
  const { certificate, key } = newAuthority(service);
  const { data = {} } = secret === undefined ? {} : await core.readNamespacedSecret({ namespace, name: secret });
  const pem = (name: string, own: string) =>
    secret === undefined ? own : Buffer.from(data[name] ?? "", "base64").toString();
  await network.addAddress(address);
  const handle: EndpointHandler = ({ body }) => {
    return { status: 200, headers: { "content-type": "application/json" }, body: JSON.stringify(answer(body)) };
  };
  await listen(address, 443, handle, { cert: pem("tls.crt", certificate), key: pem("tls.key", key) });
  return true;
}
