import type { Api } from "../api/client.ts";
import type { Network } from "../host/network.ts";
import type { CloudSimulation } from "./cloud.ts";
import { initialiseNodes, removeGoneNodes } from "./cloudController.ts";
import { giveBalancers, provideVolumes } from "./controllers.ts";
import { answerForWebhook } from "./gmsaWebhook.ts";

/**
 * Plays the parts of the cloud that go on for as long as the cluster lives: addresses of load balancers, volumes of claims, the gMSA
 * webhook, new nodes and gone ones.
 */
export function startCloudController(api: Api, cloud: CloudSimulation, network: Network): void {
  const kind = cloud.machines[0]?.cloud;
  let answersForWebhook = false;
  const round = async (): Promise<void> => {
    if (!answersForWebhook) answersForWebhook = await answerForWebhook(api, network);
    if (kind !== undefined) await giveBalancers(api, kind);
    await provideVolumes(api);
    await initialiseNodes(api, cloud.machines.map(cloud.instance));
    await removeGoneNodes(api, cloud.machines.map(cloud.instance));
  };
  // A round that fails is followed by the next: the API may be away on purpose.
  const loop = (): void => void setTimeout(() => round().then(loop, loop), 500);
  loop();
}
