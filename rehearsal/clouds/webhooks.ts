import { z } from "zod";
import type { Api } from "../api/client.ts";
import type { Network } from "../host/network.ts";
import { answerReview, type GmsaQuestions, podReview } from "./gmsaWebhook.ts";
import { listen } from "./server.ts";

const service = { namespace: "kube-system", name: "gmsa-webhook" };
const httpsPort = 443;
const definition = { group: "windows.k8s.io", version: "v1", plural: "gmsacredentialspecs" };

/**
 * Fake of the container of the gMSA webhook, since no container starts here and the API server refuses pods with an account while nothing
 * answers. It answers at the address of the webhook's Service with the certificate of its Secret, which the API server checks against name
 * and authority of the webhook's configuration, and decides as the original does, with the rights of the webhook's service account.
 *
 * @returns whether there is such a webhook to answer for
 */
export async function answerForWebhook(api: Api, network: Pick<Network, "addAddress">): Promise<boolean> {
  const { core } = api;
  const services = (await core.listNamespacedService({ namespace: service.namespace })).items;
  const address = services.find(({ metadata }) => metadata?.name === service.name)?.spec?.clusterIP;
  if (address === undefined) return false;
  const { data } = await core.readNamespacedSecret({ ...service, name: `${service.name}-certificate` });
  const pem = (key: string): string => Buffer.from(data?.[key] ?? "", "base64").toString();
  await network.addAddress(address);
  await listen(
    address,
    httpsPort,
    async ({ url, body }) => {
      const { request } = podReview.parse(JSON.parse(body.toString()));
      const [path = ""] = url.split("?");
      const response = await answerReview(path, request, questions(api));
      if (response === undefined) return { status: 404 };
      const answer = { apiVersion: "admission.k8s.io/v1", kind: "AdmissionReview", response };
      return { status: 200, headers: { "content-type": "application/json" }, body: JSON.stringify(answer) };
    },
    { cert: pem("tls.crt"), key: pem("tls.key") },
  );
  return true;
}

function questions(api: Api): GmsaQuestions {
  /** The webhook's own identity: a token of its service account, as its pod would have one. */
  const own = async (): Promise<Api> => {
    const { status } = await api.core.createNamespacedServiceAccountToken({
      ...service,
      body: { spec: { audiences: [], expirationSeconds: 600 } },
    });
    return api.withToken(status?.token ?? "");
  };
  return {
    mayUse: async (account, namespace, name) => {
      const { authorization } = await own();
      const { group, version, plural } = definition;
      const { status } = await authorization.createNamespacedLocalSubjectAccessReview({
        namespace,
        body: {
          metadata: { namespace },
          spec: {
            user: `system:serviceaccount:${namespace}:${account}`,
            groups: ["system:serviceaccounts", `system:serviceaccounts:${namespace}`],
            resourceAttributes: { namespace, verb: "use", group, version, resource: plural, name },
          },
        },
      });
      return { allowed: status?.allowed === true && status.denied !== true, reason: status?.reason };
    },
    contents: async (name) => {
      const { custom } = await own();
      return z.looseObject({ credspec: z.unknown() }).parse(await custom.getClusterCustomObject({ ...definition, name })).credspec;
    },
  };
}
