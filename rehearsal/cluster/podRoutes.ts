import type { SimulatedMachine } from "../../plan/fakes/machines.ts";
import type { Api } from "../api/client.ts";
import { runOrFail } from "../host/command.ts";
import type { LinuxMachine } from "../machines/linuxMachine.ts";

/**
 * Plays flannel between the machines: each learns by which other one it reaches a range of pods, as by flannel's
 * backend `host-gw` (flannel-io/flannel: pkg/backend/hostgw). Its own pods it reaches by its own routes
 * (tools/runtime). With Azure CNI the cloud brings a pod's address to the machine whose interface has it.
 *
 * @param machines get the routes
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
  // The cloud's name server answers pods directly: nobody puts the machine's address in place of the pod's here.
  await runOrFail(["ip", "-batch", "-"], { stdin: linesFor() });
  await Promise.all(
    machines.map(async (machine) => {
      const { code, stderr } = await machine.run(["ip", "-batch", "-"], { stdin: linesFor(machine.address) });
      if (code !== 0) throw new Error(`routes of ${machine.name}: ${stderr}`);
    }),
  );
}
