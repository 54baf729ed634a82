import { type DecodedUserData, decodeUserData } from "../../plan/decode/userData.ts";
import type { SimulatedMachine } from "../../plan/fakes/machines.ts";
import type { MirrorList } from "../../plan/report/mirrorList.ts";
import type { CloudSimulation } from "../clouds/cloud.ts";
import type { EndpointHandler } from "../clouds/server.ts";
import type { DecodedMachine } from "../cluster/bringUp.ts";

/** Breaks something on purpose, which a negative control expects to be seen. */
export interface Breakage {
  /** Changes a machine's decoded files before it boots, except those that a Linux machine fetches. */
  readonly payload?: (machine: DecodedMachine) => DecodedUserData;
  /** Changes the list that fills the mirror. */
  readonly mirror?: (list: MirrorList) => MirrorList;
  /** Changes what the platform tells machines of their network interface. */
  readonly platform?: (answer: string) => string;
}

/** A cloud with a platform's changed answers. */
export function withPlatform(cloud: CloudSimulation, change: Breakage["platform"]): CloudSimulation {
  const { platform } = cloud;
  if (platform === undefined || change === undefined) return cloud;
  const handle: EndpointHandler = async (request) => {
    const answer = await platform.handle(request);
    return { ...answer, body: change(String(answer.body)) };
  };
  return { ...cloud, platform: { ...platform, handle } };
}

/** A machine with its user data, changed by a breakage. */
export function decodeMachine(
  machine: SimulatedMachine,
  cloud: CloudSimulation,
  change: Breakage["payload"],
): DecodedMachine {
  const decoded = { machine, payload: decodeUserData(machine.userData, cloud.objects(machine)) };
  return change === undefined ? decoded : { machine, payload: change(decoded) };
}
