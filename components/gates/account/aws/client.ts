import { Agent, request } from "node:https";
import { defaultProvider } from "@aws-sdk/credential-provider-node";
import { Hash } from "@smithy/core/serde";
import { SignatureV4 } from "@smithy/signature-v4";
import { z } from "zod";
import { type Call, CallError, mostPages, type Send, tooManyPages } from "../question.ts";

/** Clients by a right's service, loaded when called. */
const clients: Readonly<Record<string, () => Promise<object>>> = {
  autoscaling: () => import("@aws-sdk/client-auto-scaling"),
  ec2: () => import("@aws-sdk/client-ec2"),
  elasticloadbalancing: () => import("@aws-sdk/client-elastic-load-balancing-v2"),
  iam: () => import("@aws-sdk/client-iam"),
  kms: () => import("@aws-sdk/client-kms"),
  servicequotas: () => import("@aws-sdk/client-service-quotas"),
  ssm: () => import("@aws-sdk/client-ssm"),
  sts: () => import("@aws-sdk/client-sts"),
};

type Middleware = (next: (args: object) => Promise<object>) => (args: object) => Promise<object>;

interface Client {
  readonly middlewareStack: { add(middleware: Middleware, options: { step: "deserialize" }): void };
  send(command: object, options: { abortSignal: AbortSignal }): Promise<object>;
}

const isClass = (value: unknown): value is new (options: object) => Client => typeof value === "function";

const dated = z.object({ response: z.object({ headers: z.object({ date: z.string() }) }) });

/** Sends calls with the credentials that Pulumi's provider finds. @param seen is told each server's time */
export function awsSender(seen: (server: Date) => void, region: string): Send {
  const credentials = defaultProvider();
  // HTTPS_PROXY and NO_PROXY, from Node 24 on.
  const httpsAgent = new Agent({ keepAlive: true, proxyEnv: process.env });
  const loaded = new Map<string, Promise<{ module: Readonly<Record<string, unknown>>; client: Client }>>();
  const load = async (service: string) => {
    const module: Readonly<Record<string, unknown>> = { ...(await clients[service]?.()) };
    const made = Object.entries(module).find(([name]) => /^[A-Z]\w+Client$/.test(name))?.[1];
    if (!isClass(made)) throw new Error(`the SDK has no client of ${service}`);
    const client = new made({ region, credentials, requestHandler: { httpsAgent, connectionTimeout: 4_000 } });
    const look: Middleware = (next) => async (args) => {
      const answer = await next(args);
      const { data } = dated.safeParse(answer);
      if (data !== undefined) seen(new Date(data.response.headers.date));
      return answer;
    };
    client.middlewareStack.add(look, { step: "deserialize" });
    return { module, client };
  };
  return async (call, abortSignal) => {
    const [service = "", name = ""] = call.right.split(":");
    if (call.right === "s3:GetObject") {
      const signed = { region, credentials, agent: httpsAgent, signal: abortSignal };
      return await headObject(call, signed).catch(failing(call));
    }
    const loading = loaded.get(service) ?? load(service);
    loaded.set(service, loading);
    const { module, client } = await loading;
    const command = module[`${name}Command`];
    if (!isClass(command)) throw new Error(`the SDK has no ${call.right}`);
    const send = (input: object) => client.send(new command(input), { abortSignal });
    return await allPages(send, Object(call.input)).catch(failing(call));
  };
}

/** @throws for endless pages: half a list has room that is not there */
async function allPages(send: (input: object) => Promise<object>, input: object): Promise<object> {
  let all: Readonly<Record<string, unknown>> = {};
  let next: object = {};
  for (let page = 0; page < mostPages; page += 1) {
    const answer: Readonly<Record<string, unknown>> = { ...(await send({ ...input, ...next })) };
    const before = all;
    all = Object.fromEntries(
      Object.entries(answer).map(([key, value]) => {
        const earlier = before[key];
        return [key, Array.isArray(earlier) && Array.isArray(value) ? [...earlier, ...value] : value];
      }),
    );
    if (typeof answer.NextToken === "string" && answer.NextToken !== "") next = { NextToken: answer.NextToken };
    else if (typeof answer.NextMarker === "string" && answer.NextMarker !== "") next = { Marker: answer.NextMarker };
    else if (answer.IsTruncated === true) next = { Marker: answer.Marker };
    else return all;
  }
  throw new Error(tooManyPages);
}

const denials = /^(AccessDenied|UnauthorizedOperation|AuthorizationError|UnauthorizedException)/;
const busy = /Throttl|TooManyRequests|RequestLimitExceeded/;

const failing =
  (call: Call) =>
  (error: unknown): never => {
    if (!(error instanceof Error) || error instanceof CallError) throw error;
    const { name } = error;
    // Behind the first line stands advice to programmers.
    const [first = ""] = error.message.split("\n");
    const isOdd = "$response" in error && !("$fault" in error);
    const profile =
      /credentials/i.test(first) && process.env.AWS_PROFILE ? `, AWS_PROFILE ${process.env.AWS_PROFILE}` : "";
    const message = isOdd ? `the answer to ${call.right} is not understood: ${first}` : `${first}${profile}`;
    if (!("$fault" in error)) throw new CallError(call, "none", "code" in error ? String(error.code) : name, message);
    if (denials.test(name)) throw new CallError(call, "denied", name, message);
    throw new CallError(call, error.$fault === "client" && !busy.test(name) ? "refused" : "none", name, message);
  };

const named = z.object({ Bucket: z.string(), Key: z.string() });

interface Signed {
  readonly region: string;
  readonly credentials: ReturnType<typeof defaultProvider>;
  readonly agent: Agent;
  readonly signal: AbortSignal;
}

/** Asks S3 for an object's size. @throws CallError: `NotFound` where it is gone */
async function headObject(call: Call, { region, ...own }: Signed): Promise<unknown> {
  const { Bucket, Key } = named.parse(call.input);
  const signer = new SignatureV4({
    service: "s3",
    region,
    sha256: Hash.bind(null, "sha256"),
    uriEscapePath: false,
    ...own,
  });
  const hostname = `${Bucket}.s3.${region}.amazonaws.com`;
  const { headers } = await signer.sign({
    ...{ method: "HEAD", protocol: "https:", hostname, path: `/${Key}` },
    headers: { host: hostname },
  });
  const { agent, signal } = own;
  const [status, size] = await new Promise<readonly [number, string | undefined]>((resolve, reject) => {
    request({ hostname, path: `/${Key}`, method: "HEAD", headers, agent, signal }, (answer) => {
      answer.resume();
      resolve([answer.statusCode ?? 0, answer.headers["content-length"]]);
    })
      .on("error", reject)
      .end();
  });
  if (status === 200) return { ContentLength: Number(size) };
  const kind = status === 403 ? "denied" : status === 404 ? "refused" : "none";
  throw new CallError(call, kind, status === 404 ? "NotFound" : String(status), `S3 answers ${status}`);
}
