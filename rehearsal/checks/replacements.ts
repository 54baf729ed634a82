import { expect, expectEqual } from "../../checks/check.ts";
import { newCertificateRequest } from "../../plan/fakes/certificates.ts";
import type { SimulatedGroup, SimulatedMachine } from "../../plan/fakes/machines.ts";
import { type Api, apiFor, kubeconfig } from "../api/client.ts";
import type { CloudSimulation } from "../clouds/cloud.ts";
import type { DecodedMachine } from "../cluster/bringUp.ts";
import type { Cluster } from "../cluster/cluster.ts";
import { limitsMs } from "../host/limits.ts";
import { waitFor } from "../host/processes.ts";
import type { CheckContext, RehearsalCheck } from "./context.ts";

const signerName = "kubernetes.io/kube-apiserver-client-kubelet";
const clientUsages = ["digital signature", "client auth"];
const hostileOnes = 300;
/** Seconds that a machine's request for its first certificate may wait among hostile ones. */
const patience = 30;
const settings = { name: "fenestra-node-controller", namespace: "kube-system" };

/** Asks for a client certificate of that node. */
async function ask({ certificates }: Api, node: string): Promise<string> {
  const { request } = newCertificateRequest({ commonName: `system:node:${node}`, organization: "system:nodes" });
  const spec = { request: Buffer.from(request).toString("base64"), signerName, usages: clientUsages };
  const { metadata } = await certificates.createCertificateSigningRequest({ body: { metadata: { generateName: "csr-" }, spec } });
  return metadata?.name ?? "";
}

async function nodeNames({ core }: Api): Promise<readonly string[]> {
  return (await core.listNode()).items.map(({ metadata }) => metadata?.name ?? "");
}

/** What becomes of workers that end and that lost their Nodes. Each check leaves as many workers as it found. */
export function replacementChecks(cluster: Cluster, worker: DecodedMachine): readonly RehearsalCheck[] {
  const current = (cloud: CloudSimulation): { readonly machine: SimulatedMachine; readonly group: SimulatedGroup } => {
    const machine = cloud.machines.find(({ id, urn }) => urn === worker.machine.urn && cluster.machines.has(id));
    if (machine?.group === undefined) throw new Error(`no machine of ${worker.machine.urn} runs`);
    return { machine, group: machine.group };
  };
  const successorOf = async ({ api, cloud }: CheckContext, machine: SimulatedMachine): Promise<string> => {
    await cluster.powerOffMachine(machine);
    const { machine: successor } = await cluster.replaceMachine({ machine, payload: worker.payload });
    const { nodeName } = cloud.identity(successor);
    const look = async (): Promise<boolean> => (await nodeNames(api)).includes(nodeName);
    await waitFor(`node ${nodeName} to be registered`, look, { timeoutMs: limitsMs.machine, intervalMs: 250 });
    return nodeName;
  };
  return [
    {
      id: "replaced: identity ends",
      slow: true,
      limitMs: limitsMs.steps,
      title: `a machine that was terminated has no Node and no new certificate, and its successor joins at once among ${hostileOnes} hostile requests`,
      run: async (context) => {
        const { api, cloud, note } = context;
        const { machine } = current(cloud);
        const { nodeName } = cloud.identity(machine);
        const secret: { readonly server: string; readonly caCertificate: string; readonly token: string } = JSON.parse(
          await cloud.readSecret(machine, cloud.secretNames[0] ?? ""),
        );
        const { server, caCertificate: ca } = secret;
        // What root on the machine may have kept.
        const pem = (await cluster.machines.get(machine.id)?.readFile("/var/lib/kubelet/pki/kubelet-client-current.pem")) ?? "";
        const thief = apiFor(kubeconfig({ server, ca, user: { certificate: pem, key: pem } }));
        const bootstrap = apiFor(kubeconfig({ server, ca, user: { token: secret.token } }));
        const hostile: string[] = [];
        for (let number = 0; number < hostileOnes; number += 1)
          hostile.push(await ask(bootstrap, `${nodeName.slice(0, -3)}${(number + 0x100).toString(16)}`));
        const successor = await successorOf(context, machine);
        const look = async (): Promise<boolean> => !(await nodeNames(api)).includes(nodeName);
        await waitFor(`node ${nodeName} to be gone`, look, { timeoutMs: limitsMs.machine, intervalMs: 500 });
        const stolen = await ask(thief, nodeName);
        // Its turn, and a list of the cloud that is newer than the request.
        await new Promise((resolve) => setTimeout(resolve, 20_000));
        const { items } = await api.certificates.listCertificateSigningRequest();
        const approved = items.filter(({ status }) => status?.conditions?.some(({ type }) => type === "Approved"));
        const wrong = approved.filter(({ metadata }) => [...hostile, stolen].includes(metadata?.name ?? ""));
        expectEqual(wrong.length, 0, "hostile requests that were approved");
        const own = approved.flatMap(({ metadata, status }) =>
          (status?.conditions ?? []).flatMap(({ message, lastUpdateTime }) =>
            message?.startsWith(`first certificate of ${successor},`)
              ? (lastUpdateTime?.getTime() ?? 0) - (metadata?.creationTimestamp?.getTime() ?? 0)
              : [],
          ),
        );
        expect(own.length === 1 && (own[0] ?? 0) <= patience * 1000, `the first certificate of ${successor} took ${own.join(", ")} ms`);
        for (const name of [...hostile, stolen]) await api.certificates.deleteCertificateSigningRequest({ name }).catch(() => undefined);
        note(`${successor} came after ${nodeName}, with a certificate after ${(own[0] ?? 0) / 1000} s`);
      },
    },
    {
      id: "replaced: without a Node",
      slow: true,
      limitMs: limitsMs.steps,
      title: "a machine whose kubelet runs without a Node is replaced, and the group has its size again",
      run: async (context) => {
        const { api, cloud, note } = context;
        const { machine, group } = current(cloud);
        const { nodeName } = cloud.identity(machine);
        const map = await api.core.readNamespacedConfigMap(settings);
        const kept = map.data?.settings ?? "";
        const write = async (text: string): Promise<void> => {
          const body = { ...(await api.core.readNamespacedConfigMap(settings)), data: { settings: text } };
          await api.core.replaceNamespacedConfigMap({ ...settings, body });
        };
        const whole: { readonly joinWithin: object } = JSON.parse(kept);
        await write(JSON.stringify({ ...whole, joinWithin: { ...whole.joinWithin, linux: 60 } }));
        try {
          const size = cloud.sizeOf(group);
          await api.core.deleteNode({ name: nodeName });
          const look = async (): Promise<boolean> => cloud.isToGo(machine);
          await waitFor(`${machine.id} to be given up`, look, { timeoutMs: limitsMs.machine, intervalMs: 500 });
          const others = cloud.machines.filter((each) => cloud.isToGo(each) && each.id !== machine.id);
          expectEqual(others.length, 0, "machines that were well and were given up");
          const successor = await successorOf(context, machine);
          const isWhole = async (): Promise<boolean> => cloud.sizeOf(group) === size;
          await waitFor("the group to have its size again", isWhole, { timeoutMs: limitsMs.machine, intervalMs: 500 });
          note(`${successor} came`);
        } finally {
          await write(kept);
        }
      },
    },
  ];
}
