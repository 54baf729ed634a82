import { runOrFail } from "../host/command.ts";
import type { LinuxMachine } from "../machines/linuxMachine.ts";
import type { Api } from "./api.ts";

/**
 * Plays flannel between the machines: each is told by which other one it reaches a range of pods, as flannel's backend `host-gw` does
 * (flannel-io/flannel: pkg/backend/hostgw). What a machine runs is reached by its own routes (tools/runtime).
 */
export async function routePods(api: Api, machines: readonly LinuxMachine[]): Promise<void> {
  const routes = (await api.core.listNode()).items.flatMap(({ spec, status }) => {
    const address = status?.addresses?.find(({ type }) => type === "InternalIP")?.address;
    return spec?.podCIDR === undefined || address === undefined ? [] : [{ range: spec.podCIDR, address }];
  });
  const linesFor = (own?: string): string =>
    routes
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
