import type { V1Node } from "@kubernetes/client-node";
import { expect, expectEqual } from "../../check/check.ts";
import type { SimulatedGroup, SimulatedMachine } from "../../plan/fakes/machines.ts";
import { type Api, apiFor, kubeconfig } from "../api/client.ts";
import type { CloudSimulation } from "../clouds/cloud.ts";
import type { DecodedMachine } from "../cluster/bringUp.ts";
import type { Cluster, Release } from "../cluster/cluster.ts";
import type { ControlPlaneLab } from "../cluster/controlPlaneLab.ts";
import type { Updates } from "../cluster/update.ts";
import { limitsMs } from "../host/limits.ts";
import { waitFor } from "../host/processes.ts";
import type { CheckContext } from "./context.ts";
import type { Follow } from "./manual.ts";
import { askFor, joinSecretOf } from "./trust.ts";

/** Asks for a client certificate of that node. */
export const ask = (api: Api, node: string): Promise<string> => askFor(api, `system:node:${node}`, "system:nodes");

/** Expects none of these requests to be approved, and deletes them. @returns the approved ones of all requests */
export async function expectRefused({ certificates }: Api, names: readonly string[]) {
  // The node controller's turn, and a list of the cloud that is newer than the request.
  await new Promise((resolve) => setTimeout(resolve, 20_000));
  const { items } = await certificates.listCertificateSigningRequest();
  const approved = items.filter(({ status }) => status?.conditions?.some(({ type }) => type === "Approved"));
  const wrong = approved.filter(({ metadata }) => names.includes(metadata?.name ?? ""));
  expectEqual(wrong.length, 0, "hostile requests that were approved");
  for (const name of names) await certificates.deleteCertificateSigningRequest({ name }).catch(() => undefined);
  return approved;
}

/** Names of nodes in requests for first certificates, by the name of the request. */
export async function firstRequests({ certificates }: Api): Promise<ReadonlyMap<string, string>> {
  const { items } = await certificates.listCertificateSigningRequest();
  const first = items.filter(({ spec }) => spec.username?.startsWith("system:bootstrap:") === true);
  return new Map(
    first.map(({ metadata, spec }) => {
      const pem = Buffer.from(spec.request, "base64")
        .toString()
        .replaceAll(/-----[^-]+-----|\s/g, "");
      const der = Buffer.from(pem, "base64");
      const at = der.indexOf("system:node:");
      // The byte before a short text is its length.
      return [metadata?.name ?? "", der.toString("latin1", at, at + (der[at - 1] ?? 0)).slice("system:node:".length)];
    }),
  );
}

export async function nodesByName({ core }: Api): Promise<ReadonlyMap<string, V1Node>> {
  return new Map((await core.listNode()).items.map((node) => [node.metadata?.name ?? "", node]));
}

export interface Replacements {
  readonly cluster: Cluster;
  readonly lab: ControlPlaneLab;
  readonly updates: Updates;
  readonly options: Release;
  readonly decoded: readonly DecodedMachine[];
  readonly worker: DecodedMachine;
  readonly follow: Follow;
}

export function replacementTools({ cluster, lab, worker }: Replacements) {
  const workers = ({ machines }: CloudSimulation): readonly SimulatedMachine[] =>
    machines.filter(({ id, urn }) => urn === worker.machine.urn && cluster.machines.has(id));
  const current = (cloud: CloudSimulation): { readonly machine: SimulatedMachine; readonly group: SimulatedGroup } => {
    const [machine] = workers(cloud);
    if (machine?.group === undefined) throw new Error(`no machine of ${worker.machine.urn} runs`);
    return { machine, group: machine.group };
  };
  const successorOf = async ({ api, cloud }: CheckContext, machine: SimulatedMachine): Promise<string> => {
    await cluster.powerOffMachine(machine);
    const old = (await nodesByName(api)).get(cloud.identity(machine).nodeName)?.metadata?.uid;
    const { machine: successor } = await cluster.replaceMachine({ machine, payload: worker.payload });
    const { nodeName } = cloud.identity(successor);
    await waitFor(`node ${nodeName} to be registered`, limitsMs.machine, async () => {
      const { uid } = (await nodesByName(api)).get(nodeName)?.metadata ?? {};
      return uid !== undefined && uid !== old;
    });
    return nodeName;
  };
  const thiefOf = async (cloud: CloudSimulation, machine: SimulatedMachine) => {
    const { server, caCertificate: ca, token } = await joinSecretOf(cloud, machine);
    // What root on the machine may have kept.
    const pem =
      (await cluster.machines.get(machine.id)?.readFile("/var/lib/kubelet/pki/kubelet-client-current.pem")) ?? "";
    const as = (user: Parameters<typeof kubeconfig>[0]["user"]) => apiFor(kubeconfig({ server, ca, user }));
    return { thief: as({ certificate: pem, key: pem }), bootstrap: as({ token }) };
  };
  const controllers = (verb: "stop" | "start") =>
    Promise.all(
      lab.indices.map((index) => lab.machine(index).systemd.systemctl([verb, "fenestra-node-controller.service"])),
    );
  const requestsOf = async (api: Api, nodeName: string): Promise<readonly string[]> =>
    [...(await firstRequests(api))].flatMap(([name, node]) => (node === nodeName ? [name] : []));
  const asks = (api: Api, nodeName: string, count: number) =>
    waitFor(
      `${nodeName} to ask ${count} times`,
      limitsMs.machine,
      async () => (await requestsOf(api, nodeName)).length >= count,
    );
  /** Expects Events of a machine's further certificates. @returns how often it asked and was answered */
  const toldOf = async (api: Api, nodeName: string): Promise<string> => {
    const { items } = await api.core.listNamespacedEvent({ namespace: "default" });
    const told = items.filter(
      ({ reason, message }) => reason === "CertificateGivenAgain" && message?.includes(nodeName),
    );
    expect(told.length > 0, `nobody was told of a further certificate of ${nodeName}`);
    return `${nodeName} asked ${(await requestsOf(api, nodeName)).length} times and had ${1 + told.length} certificates`;
  };
  return { workers, current, successorOf, thiefOf, controllers, requestsOf, asks, toldOf };
}
