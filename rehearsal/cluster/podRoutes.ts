import type { SimulatedMachine } from "../../plan/fakes/machines.ts";
import type { Api } from "../api/client.ts";
import { runOrFail } from "../host/command.ts";
import type { LinuxMachine } from "../machines/linuxMachine.ts";

/**
 * Plays flannel between the machines: each is told by which other one it reaches a range of pods, as flannel's backend
 * `host-gw` does (flannel-io/flannel: pkg/backend/hostgw). What a machine runs is reached by its own routes
 * (tools/runtime). With Azure CNI it is the cloud that brings a pod's address to the machine on whose interface it is.
 *
 * @param machines those that get the routes
 * @param inCloud every machine with its addresses
 */
export async function routePods(
  api: Api,
  machines: readonly LinuxMachine[],
  inCloud: readonly SimulatedMachine[],
): Promise<void> {
  const onInterfaces = inCloud.flatMap(({ privateIp, secondaryIps = [] }) =>
    secondaryIps.map((address) => ({ range: `${address}/32`, address: privateIp })),
  );
  const ofNodes = (await api.core.listNode()).items.flatMap(({ spec, status }) => {
    const address = status?.addresses?.find(({ type }) => type === "InternalIP")?.address;
    return spec?.podCIDR === undefined || address === undefined ? [] : [{ range: spec.podCIDR, address }];
  });
  const linesFor = (own?: string): string =>
    [...ofNodes, ...onInterfaces]
      .filter(({ address }) => address !== own)
      .map(({ range, address }) => `route replace ${range} via ${address}\n`)
      .join("");
  // The cloud's name server gets back to a pod that asks: nobody puts the machine's address in place of the pod's here.
  await runOrFail(["ip", "-batch", "-"], { stdin: linesFor() });
  await Promise.all(
    machines.map(async (machine) => {
      const { code, stderr } = await machine.run(["ip", "-batch", "-"], { stdin: linesFor(machine.address) });
      if (code !== 0) throw new Error(`routes of ${machine.name}: ${stderr}`);
    }),
  );
}
