import { expect, expectEqual } from "../../check/check.ts";
import { cidr, overlaps } from "../../components/model/cidr.ts";
import type { RehearsalCheck } from "./context.ts";

export const objectsAccepted: RehearsalCheck = {
  id: "objects",
  title:
    "the API server accepts every object of the program with strict validation, and the program's own policies have nothing to say of them",
  run: async ({ refusedObjects, warnings }) => {
    expect(refusedObjects.length === 0, refusedObjects.join("\n"));
    const ours = warnings.filter((warning) => warning.includes("ValidatingAdmissionPolicy"));
    expect(ours.length === 0, ours.join("\n"));
  },
};

/**
 * Each pod with a network of its own has an address of its node's own range or interface. Only pods of Linux nodes have
 * real addresses.
 */
export const podAddresses: RehearsalCheck = {
  id: "pod addresses",
  title: "pods of Linux nodes have addresses of their own node: of its range, or of its network interface",
  run: async ({ api, cloud, pools, note }) => {
    const nodes = new Map((await api.core.listNode()).items.map((node) => [node.metadata?.name ?? "", node]));
    const machines = new Map(cloud.machines.map((machine) => [cloud.identity(machine).nodeName, machine]));
    const onInterface = pools.some(({ podAddresses: place }) => place === "interface");
    const { items } = await api.core.listPodForAllNamespaces();
    const judged = items.filter(
      ({ spec, status }) =>
        spec?.hostNetwork !== true &&
        status?.podIP !== undefined &&
        status.phase === "Running" &&
        nodes.get(spec?.nodeName ?? "")?.metadata?.labels?.["kubernetes.io/os"] === "linux",
    );
    expect(judged.length > 0, "no pod has a network of its own");
    const own = (node: string, address: string): boolean =>
      onInterface
        ? (machines.get(node)?.secondaryIps ?? []).includes(address)
        : overlaps(cidr(nodes.get(node)?.spec?.podCIDR ?? "0.0.0.0/32"), cidr(`${address}/32`));
    const wrong = judged.filter(({ spec, status }) => !own(spec?.nodeName ?? "", status?.podIP ?? ""));
    expectEqual(
      wrong.map(({ metadata, spec, status }) => `${metadata?.name} on ${spec?.nodeName} has ${status?.podIP}`),
      [],
      "pods with other addresses",
    );
    const taken = judged.map(({ status }) => status?.podIP);
    expectEqual(new Set(taken).size, taken.length, "different addresses");
    const ranges = [...nodes.values()].filter(({ spec }) => spec?.podCIDR !== undefined).length;
    expectEqual(ranges, onInterface ? 0 : nodes.size, "nodes with a range of pods");
    note(`${judged.length} pods`);
  },
};
