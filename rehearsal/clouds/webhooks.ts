import { z } from "zod";
import type { Api } from "../cluster/api.ts";
import type { Network } from "../host/network.ts";
import { listen } from "./server.ts";

const review = z.looseObject({ apiVersion: z.string(), request: z.looseObject({ uid: z.string() }) });
const service = { namespace: "kube-system", name: "gmsa-webhook" };
const httpsPort = 443;

/**
 * Fake of the container of the gMSA webhook, since no container starts here and the API server refuses pods with an account while
 * nothing answers. It answers at the address of the webhook's Service with the certificate of its Secret, which the API server checks against
 * name and authority of the webhook's configuration, and lets every pod in unchanged.
 *
 * @returns whether there is such a webhook to answer for
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
    httpsPort,
    ({ body }) => {
      const { apiVersion, request } = review.parse(JSON.parse(body.toString()));
      const answer = { apiVersion, kind: "AdmissionReview", response: { uid: request.uid, allowed: true } };
      return { status: 200, headers: { "content-type": "application/json" }, body: JSON.stringify(answer) };
    },
    { cert: pem("tls.crt"), key: pem("tls.key") },
  );
  return true;
}
