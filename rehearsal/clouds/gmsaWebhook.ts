import type { Api } from "../api/client.ts";
import type { Network } from "../host/network.ts";
import { listen } from "./server.ts";

const service = { namespace: "kube-system", name: "gmsa-webhook" };

/**
 * Fake of the gMSA webhook's container: none starts here, and without an answer the API server refuses pods with an
 * account. It allows each, at the address of the webhook's Service, with its Secret's certificate, which the API server
 * checks against the webhook's configuration.
 *
 * @returns whether there is such a webhook
 */
export async function answerForWebhook({ core }: Api, network: Pick<Network, "addAddress">): Promise<boolean> {
  const services = (await core.listNamespacedService({ namespace: service.namespace })).items;
  const address = services.find(({ metadata }) => metadata?.name === service.name)?.spec?.clusterIP;
  if (address === undefined) return false;
  const { data } = await core.readNamespacedSecret({ ...service, name: `${service.name}-certificate` });
  const pem = (key: string): string => Buffer.from(data?.[key] ?? "", "base64").toString();
  await network.addAddress(address);
  await listen(
    address,
    443,
    ({ body }) => {
      const response = { uid: JSON.parse(body.toString()).request.uid, allowed: true };
      const answer = { apiVersion: "admission.k8s.io/v1", kind: "AdmissionReview", response };
      return { status: 200, headers: { "content-type": "application/json" }, body: JSON.stringify(answer) };
    },
    { cert: pem("tls.crt"), key: pem("tls.key") },
  );
  return true;
}
