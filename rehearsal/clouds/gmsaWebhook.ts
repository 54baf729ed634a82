import { isDeepStrictEqual } from "node:util";
import { z } from "zod";
import { statusOf } from "../../checks/cluster/api.ts";
import { messageOf } from "../../components/gates/messageOf.ts";

/** What the webhook asks the API server, with the rights of its own service account. */
export interface GmsaQuestions {
  /** Whether a service account may `use` a credential specification. */
  readonly mayUse: (
    account: string,
    namespace: string,
    credentialSpec: string,
  ) => Promise<{ readonly allowed: boolean; readonly reason?: string | undefined }>;
  /** The field `credspec` of a credential specification. Throws the API server's error. */
  readonly contents: (credentialSpec: string) => Promise<unknown>;
}

const secured = z.looseObject({
  securityContext: z
    .looseObject({
      windowsOptions: z
        .looseObject({ gmsaCredentialSpecName: z.string().optional(), gmsaCredentialSpec: z.string().optional() })
        .optional(),
    })
    .optional(),
});
const podSchema = z.looseObject({
  metadata: z.looseObject({ name: z.string().default("") }).default({ name: "" }),
  spec: secured.extend({
    serviceAccountName: z.string().default(""),
    containers: z.array(secured.extend({ name: z.string() })),
  }),
});
type Pod = z.output<typeof podSchema>;

/** Review of a pod as the API server sends it to a webhook. */
export const podReview = z.looseObject({
  request: z.looseObject({
    uid: z.string(),
    operation: z.enum(["CREATE", "UPDATE"]),
    namespace: z.string(),
    object: podSchema,
    oldObject: podSchema.nullish(),
  }),
});
type PodReview = z.output<typeof podReview>["request"];

/** The webhook's answer, `AdmissionResponse` of admission.k8s.io/v1. */
interface AdmissionAnswer {
  readonly uid: string;
  readonly allowed: boolean;
  readonly status?: { readonly code: number; readonly message: string };
  readonly patchType?: "JSONPatch";
  /** Base64. */
  readonly patch?: string;
}

class Refusal extends Error {
  readonly code: number;

  constructor(code: number, message: string) {
    super(message);
    this.code = code;
  }
}

/**
 * Decides as the gMSA webhook does (kubernetes-sigs/windows-gmsa v0.12.1: admission-webhook/webhook.go and kube_client.go), init containers
 * left out as there. Not imitated: random host names, which the program does not ask for.
 *
 * @returns `undefined` for a path that the webhook does not have
 */
export async function answerReview(path: string, request: PodReview, ask: GmsaQuestions): Promise<AdmissionAnswer | undefined> {
  if (path !== "/validate" && path !== "/mutate") return undefined;
  const { uid, operation, object, oldObject } = request;
  try {
    if (operation === "UPDATE") {
      if (path === "/validate") refuseChange(object, oldObject ?? undefined);
      return { uid, allowed: true };
    }
    if (path === "/validate") {
      await validate(request, ask);
      return { uid, allowed: true };
    }
    const patches = await patchesFor(object, ask);
    if (patches.length === 0) return { uid, allowed: true };
    return {
      uid,
      allowed: true,
      patchType: "JSONPatch",
      patch: Buffer.from(JSON.stringify(patches)).toString("base64"),
    };
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    return { uid, allowed: false, status: { code: error.code, message: error.message } };
  }
}

/** Where a pod asks for an account: as a whole, and in each container. */
function requestsOf({ metadata, spec }: Pod) {
  const own = { of: `pod "${metadata.name}"`, path: "/spec", options: spec.securityContext?.windowsOptions };
  const containers = spec.containers.map(({ name, securityContext }, index) => ({
    of: `container "${name}"`,
    path: `/spec/containers/${index}`,
    options: securityContext?.windowsOptions,
  }));
  return [own, ...containers].flatMap(({ of, path, options }) =>
    options === undefined ? [] : [{ of, path, name: options.gmsaCredentialSpecName, content: options.gmsaCredentialSpec }],
  );
}

async function validate({ object, namespace }: PodReview, ask: GmsaQuestions): Promise<void> {
  const account = object.spec.serviceAccountName;
  for (const { of, name, content } of requestsOf(object)) {
    if (name === undefined) {
      if (content !== undefined) throw new Refusal(422, `${of} has a GMSA cred spec set, but does not define the name of the resource`);
      continue;
    }
    const { allowed, reason = "" } = await ask
      .mayUse(account, namespace, name)
      .catch((error: unknown) => ({ allowed: false, reason: `error when checking authz access: ${messageOf(error)}` }));
    if (!allowed)
      throw new Refusal(
        403,
        `service account "${account}" is not authorized to \`use\` GMSA cred spec "${name}"${reason === "" ? "" : `, reason: "${reason}"`}`,
      );
    if (content !== undefined && !isDeepStrictEqual(parsed(content), parsed(await contentsOf(name, ask))))
      throw new Refusal(422, `the GMSA cred spec contents for ${of} does not match the resource "${name}"`);
  }
}

async function patchesFor(pod: Pod, ask: GmsaQuestions) {
  const without = requestsOf(pod).filter(({ content }) => content === undefined);
  const patches = without.flatMap(({ name, path }) => (name === undefined ? [] : [{ name, path }]));
  return await Promise.all(
    patches.map(async ({ name, path }) => ({
      op: "add",
      path: `${path}/securityContext/windowsOptions/gmsaCredentialSpec`,
      value: await contentsOf(name, ask),
    })),
  );
}

/** A credential specification as JSON. */
async function contentsOf(name: string, ask: GmsaQuestions): Promise<string> {
  const contents = await ask.contents(name).catch((error: unknown) => {
    if (statusOf(error) === 404) throw new Refusal(404, `cred spec ${name} does not exist`);
    throw new Refusal(500, `unable to retrieve the contents of cred spec ${name}: ${messageOf(error)}`);
  });
  if (contents === undefined || contents === "") throw new Refusal(417, `cred spec ${name} does not have a credspec key`);
  return JSON.stringify(contents);
}

/** What a text of JSON says; the text itself where it is none, which equals nothing else. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return { text };
  }
}

function refuseChange(pod: Pod, old: Pod | undefined): void {
  const before = new Map(old === undefined ? [] : requestsOf(old).map((request) => [request.path, request]));
  for (const { of, path, name, content } of requestsOf(pod)) {
    const was = before.get(path);
    const changed = [...(name === was?.name ? [] : ["name"]), ...(content === was?.content ? [] : ["contents"])];
    if (changed.length > 0)
      throw new Refusal(403, `cannot update an existing pod's GMSA settings (GMSA ${changed.join(" and ")} modified on ${of})`);
  }
}
