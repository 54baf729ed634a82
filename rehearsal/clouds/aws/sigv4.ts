import { createHash } from "node:crypto";
import { parseQueryString } from "@smithy/core/protocols";
import { Hash } from "@smithy/core/serde";
import { SignatureV4 } from "@smithy/signature-v4";
import type { EndpointRequest } from "../server.ts";

/** Credentials from the metadata service. */
export interface AwsCredentials {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken: string;
}

/** A request as it came in. */
type SignedRequest = Pick<EndpointRequest, "method" | "url" | "headers" | "body">;

const sha256 = (data: string | Buffer): string => createHash("sha256").update(data).digest("hex");

/** Furthest that a signature's time may be from now: five minutes, by AWS. */
const clockSkewMs = 5 * 60_000;

/**
 * Why a signature is refused, if it is (AWS General Reference, "Signature Version 4 signing process"): host and all of
 * AWS's headers must be signed.
 * @param now milliseconds since the epoch
 */
export async function signatureProblem(
  request: SignedRequest,
  credentials: AwsCredentials,
  service: string,
  region: string,
  now: number,
): Promise<string | undefined> {
  const { authorization = "", "x-amz-date": time = "", "x-amz-content-sha256": payload } = request.headers;
  const names = /^AWS4-HMAC-SHA256 .*SignedHeaders=([^,]+)/.exec(authorization)?.[1]?.split(";");
  if (names === undefined) return "MissingAuthenticationToken";
  if (!authorization.includes(`Credential=${credentials.accessKeyId}/`)) return "UnrecognizedClientException";
  if (request.headers["x-amz-security-token"] !== credentials.sessionToken)
    return "UnrecognizedClientException: session token";
  const parsed = Date.parse(time.replace(/^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/, "$1-$2-$3T$4:$5:$6Z"));
  if (Number.isNaN(parsed) || Math.abs(parsed - now) > clockSkewMs) return "RequestExpired";
  const wanted = ["host", ...Object.keys(request.headers).filter((name) => name.startsWith("x-amz-"))];
  const unsigned = wanted.filter((name) => !names.includes(name));
  if (unsigned.length > 0) return `SignatureDoesNotMatch: ${unsigned.join(", ")} not signed`;
  // S3 API Reference, "Error responses": these two have status 400.
  if (service === "s3" && payload === undefined) return "MissingContentSHA256";
  if (payload !== undefined && payload !== sha256(request.body)) return "XAmzContentSHA256Mismatch";
  const headers = Object.fromEntries(names.map((name) => [name, request.headers[name] ?? ""]));
  const signed = await sign({ ...request, headers }, credentials, region, service, parsed);
  // Scope and signature; some write no blank between the parts.
  const isSame = signed.authorization?.replaceAll(/, ?/g, ",") === authorization.replaceAll(/, ?/g, ",");
  return isSame ? undefined : "SignatureDoesNotMatch";
}

/** All headers of a request, signed. */
async function sign(
  { method, url, headers, body }: SignedRequest,
  credentials: AwsCredentials,
  region: string,
  service: string,
  now: number,
): Promise<Readonly<Record<string, string>>> {
  const [path = "/", query = ""] = url.split("?");
  const [isS3, sha256] = [service === "s3", Hash.bind(null, "sha256")];
  const signer = new SignatureV4({ credentials, region, service, sha256, uriEscapePath: !isS3, applyChecksum: isS3 });
  const request = { protocol: "https:", hostname: headers.host ?? "", path, query: parseQueryString(query) };
  const options = { signingDate: new Date(now), signableHeaders: new Set(Object.keys(headers)) };
  return (await signer.sign({ ...request, method, headers, body }, options)).headers;
}

/** A call before it is signed. */
export interface Call {
  readonly service: string;
  /** Default: the service's own in the region. */
  readonly host?: string;
  readonly method?: string;
  readonly url?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  /** The caller's time, in milliseconds since the epoch. Default: now. */
  readonly now?: number;
}

/** A call as a machine's script sends it, with all headers signed. */
export async function signedRequest(
  keys: AwsCredentials,
  region: string,
  call: Call,
): Promise<SignedRequest & { readonly host: string }> {
  const { service, host = `${service}.${region}.amazonaws.com`, method = "POST", url = "/", now = Date.now() } = call;
  const body = Buffer.from(call.body ?? "");
  const headers = await sign({ method, url, headers: { host, ...call.headers }, body }, keys, region, service, now);
  return { method, url, headers, body, host };
}
