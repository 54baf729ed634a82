import { expectEqual } from "../../check/check.ts";
import type { Api } from "../api/client.ts";
import { limitsMs } from "../host/limits.ts";
import { waitFor } from "../host/processes.ts";
import type { LinuxMachine } from "../machines/linuxMachine.ts";

/**
 * The bridge of a machine whose pods have had addresses: the runtime refuses pods unless it is in the Node's range of
 * now.
 */
export async function bridgeOf(machine: LinuxMachine | undefined, api: Api, node: string): Promise<string> {
  let bridge = "none";
  await waitFor(`the bridge of ${node} to fit its range`, limitsMs.answer, async () => {
    const range = (await api.core.readNode({ name: node })).spec?.podCIDR ?? "";
    const answer = await machine?.run(["ip", "-4", "-oneline", "address", "show", "dev", "cni0"]);
    bridge = /inet (\S+)/.exec(answer?.stdout ?? "")?.[1] ?? "none";
    if (bridge !== "none") expectEqual(bridge, range.replace(".0/", ".1/"), `the bridge of ${node}`);
    return true;
  });
  return bridge;
}
