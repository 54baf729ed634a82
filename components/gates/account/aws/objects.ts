import { createHash, createHmac } from "node:crypto";
import { type Agent, request } from "node:https";
import type { defaultProvider } from "@aws-sdk/credential-provider-node";
import { SignatureV4 } from "@smithy/signature-v4";
import { z } from "zod";
import { type Call, CallError } from "../question.ts";

type Data = string | ArrayBuffer | ArrayBufferView;

const bytes = (data: Data): Uint8Array => {
  if (typeof data === "string") return Buffer.from(data);
  return data instanceof ArrayBuffer
    ? new Uint8Array(data)
    : new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
};

class Sha256 {
  readonly #hash;

  constructor(secret?: Data) {
    this.#hash = secret === undefined ? createHash("sha256") : createHmac("sha256", bytes(secret));
  }

  update(data: Data): void {
    this.#hash.update(bytes(data));
  }

  async digest(): Promise<Uint8Array> {
    return this.#hash.digest();
  }
}

const named = z.object({ Bucket: z.string(), Key: z.string() });

interface Signed {
  readonly region: string;
  readonly credentials: ReturnType<typeof defaultProvider>;
  readonly agent: Agent;
  readonly signal: AbortSignal;
}

/** Asks S3 for an object's size. @throws CallError: `NotFound` where it is gone */
export async function headObject(call: Call, { region, ...own }: Signed): Promise<unknown> {
  const { Bucket, Key } = named.parse(call.input);
  const signer = new SignatureV4({ service: "s3", region, sha256: Sha256, uriEscapePath: false, ...own });
  const hostname = `${Bucket}.s3.${region}.amazonaws.com${region.startsWith("cn-") ? ".cn" : ""}`;
  const { headers } = await signer.sign({
    ...{ method: "HEAD", protocol: "https:", hostname, path: `/${Key}` },
    headers: { host: hostname, "x-amz-content-sha256": "UNSIGNED-PAYLOAD" },
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
