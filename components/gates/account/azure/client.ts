import { readFile } from "node:fs/promises";
import {
  createDefaultHttpClient,
  createPipelineFromOptions,
  createPipelineRequest,
  type HttpClient,
} from "@azure/core-rest-pipeline";
import {
  AzureCliCredential,
  ClientAssertionCredential,
  ClientSecretCredential,
  ManagedIdentityCredential,
  type TokenCredential,
} from "@azure/identity";
import { z } from "zod";
import { fromJson } from "../../../model/json.ts";
import { CallError, mostPages, type Send, tooManyPages } from "../question.ts";

const manager = "https://management.azure.com";
const http = createDefaultHttpClient();
// With HTTPS_PROXY and NO_PROXY, and repetitions when the cloud is busy.
const pipeline = createPipelineFromOptions({ retryOptions: { maxRetries: 2, maxRetryDelayInMs: 2_000 } });

const yes = (value: string | undefined): boolean => /^(1|true)$/i.test(value ?? "");

/**
 * The identity of Pulumi's azure-native ("Installation & Configuration"): OIDC, a managed identity, a secret, or the
 * Azure CLI; not `AZURE_*`, which may be somebody else's.
 */
function credentialOf(env: NodeJS.ProcessEnv): TokenCredential {
  const { ARM_TENANT_ID: tenant = "", ARM_CLIENT_ID: client = "", ARM_CLIENT_SECRET: secret } = env;
  if (yes(env.ARM_USE_OIDC)) return new ClientAssertionCredential(tenant, client, () => oidcToken(env));
  if (yes(env.ARM_USE_MSI)) return new ManagedIdentityCredential(client === "" ? {} : { clientId: client });
  if (env.ARM_CLIENT_CERTIFICATE_PATH !== undefined)
    throw new Error("a certificate is not taken here: use a secret, OIDC or az login");
  if (secret !== undefined) return new ClientSecretCredential(tenant, client, secret);
  return new AzureCliCredential(tenant === "" ? {} : { tenantId: tenant });
}

async function oidcToken(env: NodeJS.ProcessEnv): Promise<string> {
  if (env.ARM_OIDC_TOKEN !== undefined) return env.ARM_OIDC_TOKEN;
  if (env.ARM_OIDC_TOKEN_FILE_PATH !== undefined) return await readFile(env.ARM_OIDC_TOKEN_FILE_PATH, "utf8");
  const url = URL.parse(env.ARM_OIDC_REQUEST_URL ?? env.ACTIONS_ID_TOKEN_REQUEST_URL ?? "");
  if (url === null)
    throw new Error("ARM_USE_OIDC is set without ARM_OIDC_TOKEN, ARM_OIDC_TOKEN_FILE_PATH or ARM_OIDC_REQUEST_URL");
  url.searchParams.set("audience", "api://AzureADTokenExchange");
  const request = createPipelineRequest({ url: url.href });
  request.headers.set("authorization", `bearer ${env.ARM_OIDC_REQUEST_TOKEN ?? env.ACTIONS_ID_TOKEN_REQUEST_TOKEN}`);
  const { bodyAsText } = await pipeline.sendRequest(http, request);
  return z.object({ value: z.string() }).parse(fromJson(bodyAsText ?? "")).value;
}

const failure = z.object({ error: z.object({ code: z.string(), message: z.string() }) });
const page = z.looseObject({ value: z.array(z.unknown()), nextLink: z.string().nullish() });

/**
 * @param seen is told each answer's time
 * @param client what sends requests; a test gives its own
 * @param credential default: that of Pulumi's provider, found at the first call
 */
export function azureSender(
  seen: (server: Date) => void,
  client: HttpClient = http,
  credential?: TokenCredential,
): Send {
  let identity = credential;
  return async (call, abortSignal) => {
    try {
      identity ??= credentialOf(process.env);
      const token = await identity.getToken(`${manager}/.default`, { abortSignal });
      if (token === null) throw new Error("no token");
      if (call.right === "token") return fromJson(Buffer.from(token.token.split(".")[1] ?? "", "base64url").toString());
      const posted = post.safeParse(call.input).data;
      const send = async (url: string): Promise<unknown> => {
        const request = createPipelineRequest({ url, method: posted === undefined ? "GET" : "POST", abortSignal });
        request.headers.set("authorization", `Bearer ${token.token}`);
        if (posted !== undefined) {
          request.headers.set("content-type", "application/json");
          request.body = JSON.stringify(posted.body);
        }
        const { status, headers, bodyAsText } = await pipeline.sendRequest(client, request);
        const date = headers.get("date");
        if (date !== undefined) seen(new Date(date));
        const body = fromJson(bodyAsText ?? "");
        if (status < 300) return body;
        const { code, message } = failure.safeParse(body).data?.error ?? { code: String(status), message: "" };
        // 401 is about who asks.
        const kind = status === 403 ? "denied" : status < 500 && ![401, 429].includes(status) ? "refused" : "none";
        // A proxy lacks the resource manager's words.
        throw new CallError(call, code === String(status) && kind === "denied" ? "none" : kind, code, message);
      };
      return await allPages(send, `${manager}${posted?.at ?? String(call.input)}`);
    } catch (error) {
      if (error instanceof CallError || !(error instanceof Error)) throw error;
      throw new CallError(call, "none", "code" in error ? String(error.code) : error.name, error.message);
    }
  };
}

const post = z.object({ at: z.string(), body: z.object({}).loose() });

async function allPages(send: (url: string) => Promise<unknown>, url: string): Promise<unknown> {
  const first = await send(url);
  const list = page.safeParse(first).data;
  if (list === undefined) return first;
  const all = [...list.value];
  let next = list.nextLink;
  for (let read = 1; next; read += 1) {
    // Some name the port.
    if (URL.parse(next)?.origin !== manager) throw new Error(`the next page is elsewhere: ${next}`);
    if (read === mostPages) throw new Error(tooManyPages);
    const more = page.parse(await send(next));
    all.push(...more.value);
    next = more.nextLink;
  }
  return { ...list, value: all };
}
