import { z } from "zod";
import { messageOf } from "../../components/gates/messageOf.ts";
import type { Api } from "../api/client.ts";
import type { Network } from "../host/network.ts";
import { listen } from "./server.ts";

const service = { namespace: "kube-system", name: "gmsa-webhook" };
const definition = { group: "windows.k8s.io", version: "v1", plural: "gmsacredentialspecs" };

/** What the webhook asks the API server with its service account's rights. Both throw the API server's error. */
interface GmsaQuestions {
  /** Whether a service account may `use` a credential specification. */
  readonly mayUse: (account: string, namespace: string, credentialSpec: string) => Promise<boolean>;
  /** The field `credspec` of a credential specification. */
  readonly contents: (credentialSpec: string) => Promise<unknown>;
}

const options = z.looseObject({ gmsaCredentialSpecName: z.string().optional() });
const secured = z.looseObject({ securityContext: z.looseObject({ windowsOptions: options.optional() }).optional() });

/** Review of a pod, as the API server sends it. */
const podReview = z.looseObject({
  request: z.looseObject({
    uid: z.string(),
    operation: z.enum(["CREATE", "UPDATE"]),
    namespace: z.string(),
    object: z.looseObject({
      spec: secured.extend({ serviceAccountName: z.string().default(""), containers: z.array(secured) }),
    }),
  }),
});

/**
 * Decides of a new pod as the gMSA webhook does (kubernetes-sigs/windows-gmsa v0.12.1: admission-webhook/webhook.go and
 * kube_client.go, which leave init containers out too). Not imitated: contents that a pod brings itself, which no
 * object of the program does, changes of a pod, and random host names.
 *
 * @returns `AdmissionResponse` of admission.k8s.io/v1; `undefined` for a path that the webhook does not have
 */
async function answerReview(path: string, { request }: z.output<typeof podReview>, ask: GmsaQuestions) {
  const { uid, namespace, operation, object } = request;
  const allowed = { uid, allowed: true };
  const refused = (code: number, message: string) => ({ uid, allowed: false, status: { code, message } });
  if (path !== "/validate" && path !== "/mutate") return undefined;
  const asking = [object.spec, ...object.spec.containers].flatMap(({ securityContext }, index) => {
    const { gmsaCredentialSpecName: name } = securityContext?.windowsOptions ?? {};
    return name === undefined ? [] : [{ name, at: index === 0 ? "/spec" : `/spec/containers/${index - 1}` }];
  });
  if (operation === "UPDATE" || asking.length === 0) return allowed;
  if (path === "/validate") {
    const account = object.spec.serviceAccountName;
    for (const { name } of asking) {
      const problem = await ask.mayUse(account, namespace, name).then((yes) => (yes ? undefined : ""), messageOf);
      if (problem !== undefined)
        return refused(
          403,
          `service account "${account}" is not authorized to \`use\` GMSA cred spec "${name}" ${problem}`.trim(),
        );
    }
    return allowed;
  }
  try {
    const patch = asking.map(async ({ name, at }) => ({
      op: "add",
      path: `${at}/securityContext/windowsOptions/gmsaCredentialSpec`,
      value: JSON.stringify(await ask.contents(name)),
    }));
    return {
      ...allowed,
      patchType: "JSONPatch",
      patch: Buffer.from(JSON.stringify(await Promise.all(patch))).toString("base64"),
    };
  } catch (error) {
    return refused(500, `unable to retrieve the contents of a cred spec: ${messageOf(error)}`);
  }
}

/**
 * Fake of the gMSA webhook's container: none starts here, and without an answer the API server refuses pods with an
 * account. It answers at the address of the webhook's Service, with its Secret's certificate, which the API server
 * checks against the webhook's configuration, and its service account's rights.
 *
 * @returns whether there is such a webhook
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
    443,
    async ({ url, body }) => {
      const [path = ""] = url.split("?");
      const response = await answerReview(path, podReview.parse(JSON.parse(body.toString())), questions(api));
      if (response === undefined) return { status: 404 };
      const answer = { apiVersion: "admission.k8s.io/v1", kind: "AdmissionReview", response };
      return { status: 200, headers: { "content-type": "application/json" }, body: JSON.stringify(answer) };
    },
    { cert: pem("tls.crt"), key: pem("tls.key") },
  );
  return true;
}

function questions(api: Api): GmsaQuestions {
  /** With a token of the webhook's service account, as its pod would have one. */
  const own = async (): Promise<Api> => {
    const { status } = await api.core.createNamespacedServiceAccountToken({
      ...service,
      body: { spec: { audiences: [], expirationSeconds: 600 } },
    });
    return api.withToken(status?.token ?? "");
  };
  return {
    mayUse: async (account, namespace, name) => {
      const { plural: resource, ...of } = definition;
      const { status } = await (await own()).authorization.createNamespacedLocalSubjectAccessReview({
        namespace,
        body: {
          metadata: { namespace },
          spec: {
            user: `system:serviceaccount:${namespace}:${account}`,
            groups: ["system:serviceaccounts", `system:serviceaccounts:${namespace}`],
            resourceAttributes: { ...of, namespace, verb: "use", resource, name },
          },
        },
      });
      return status?.allowed === true && status.denied !== true;
    },
    contents: async (name) => {
      const found = await (await own()).custom.getClusterCustomObject({ ...definition, name });
      return z.looseObject({ credspec: z.looseObject({}) }).parse(found).credspec;
    },
  };
}
