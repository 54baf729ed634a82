import { createHash, createHmac, timingSafeEqual } from "node:crypto";

/** Credentials that the metadata service gave to a machine. */
export interface AwsCredentials {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken: string;
}

/** A request as it came in. */
export interface SignedRequest {
  readonly method: string;
  /** Path and query as sent. */
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

const sha256 = (data: string | Buffer): string => createHash("sha256").update(data).digest("hex");
const hmac = (key: string | Buffer, data: string): Buffer => createHmac("sha256", key).update(data).digest();

/** Furthest that a signature's time may be from now: five minutes, as AWS has it. */
const clockSkewMs = 5 * 60_000;

/**
 * Why a signature is refused, or `undefined` when it is right (AWS General Reference, "Signature Version 4 signing
 * process").
 *
 * @param now milliseconds since the epoch
 */
export function signatureProblem(
  request: SignedRequest,
  credentials: AwsCredentials,
  service: string,
  region: string,
  now: number,
): string | undefined {
  const match = /^AWS4-HMAC-SHA256 Credential=([^,]+), ?SignedHeaders=([^,]+), ?Signature=([0-9a-f]{64})$/.exec(
    request.headers.authorization ?? "",
  );
  if (match === null) return "MissingAuthenticationToken";
  const [, credential = "", signedHeaders = "", signature = ""] = match;
  const [accessKeyId, date = "", scopeRegion, scopeService, terminator] = credential.split("/");
  if (accessKeyId !== credentials.accessKeyId) return "UnrecognizedClientException";
  if (scopeRegion !== region || scopeService !== service || terminator !== "aws4_request")
    return "SignatureDoesNotMatch: credential scope";
  const time = request.headers["x-amz-date"] ?? "";
  const parsed = Date.parse(time.replace(/^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/, "$1-$2-$3T$4:$5:$6Z"));
  if (!time.startsWith(date) || Number.isNaN(parsed) || Math.abs(parsed - now) > clockSkewMs) return "RequestExpired";
  const names = signedHeaders.split(";");
  if (!names.includes("host")) return "SignatureDoesNotMatch: host is not signed";
  if (request.headers["x-amz-security-token"] !== credentials.sessionToken)
    return "UnrecognizedClientException: session token";
  const unsigned = Object.keys(request.headers).filter((name) => name.startsWith("x-amz-") && !names.includes(name));
  if (unsigned.length > 0) return `SignatureDoesNotMatch: ${unsigned.join(", ")} not signed`;
  const payload = service === "s3" ? request.headers["x-amz-content-sha256"] : undefined;
  // S3 API Reference, "Error responses": these two have status 400.
  if (service === "s3" && payload === undefined) return "MissingContentSHA256";
  if (payload !== undefined && payload !== unsignedPayload && payload !== sha256(request.body))
    return "XAmzContentSHA256Mismatch";
  const expected = sign(request, { names, time, date, region, service, secret: credentials.secretAccessKey });
  return timingSafeEqual(Buffer.from(expected), Buffer.from(signature)) ? undefined : "SignatureDoesNotMatch";
}

/**
 * In place of a body's hash: S3 API Reference, "Signature Calculations for the Authorization Header". Chunked uploads
 * are not imitated.
 */
const unsignedPayload = "UNSIGNED-PAYLOAD";

interface Scope {
  readonly names: readonly string[];
  readonly time: string;
  readonly date: string;
  readonly region: string;
  readonly service: string;
  readonly secret: string;
}

/** The signature that a request must bear. */
export function sign(request: SignedRequest, scope: Scope): string {
  const [rawPath = "/", query = ""] = request.url.split("?");
  const canonical = [
    request.method,
    rawPath === "" ? "/" : rawPath,
    query
      .split("&")
      .filter((part) => part !== "")
      .map((part) => (part.includes("=") ? part : `${part}=`))
      .sort()
      .join("&"),
    ...scope.names.map((name) => `${name}:${(request.headers[name] ?? "").trim().replaceAll(/ +/g, " ")}`),
    "",
    scope.names.join(";"),
    scope.service === "s3" && request.headers["x-amz-content-sha256"] === unsignedPayload
      ? unsignedPayload
      : sha256(request.body),
  ].join("\n");
  const scopeText = `${scope.date}/${scope.region}/${scope.service}/aws4_request`;
  const toSign = ["AWS4-HMAC-SHA256", scope.time, scopeText, sha256(canonical)].join("\n");
  const key = [scope.date, scope.region, scope.service, "aws4_request"].reduce<string | Buffer>(
    (secret, part) => hmac(secret, part),
    `AWS4${scope.secret}`,
  );
  return hmac(key, toSign).toString("hex");
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
  /** When the caller believes it is, in milliseconds since the epoch. Default: now. */
  readonly now?: number;
}

/** A call as a machine's script sends it, signed with all its headers. */
export function signedRequest(
  keys: AwsCredentials,
  region: string,
  call: Call,
): SignedRequest & { readonly host: string } {
  const { service, host = `${service}.${region}.amazonaws.com`, method = "POST", url = "/" } = call;
  const time = new Date(call.now ?? Date.now()).toISOString().replaceAll(/[-:]|\.\d{3}/g, "");
  const [date, body] = [time.slice(0, 8), Buffer.from(call.body ?? "")];
  const digest = service === "s3" ? { "x-amz-content-sha256": sha256(body) } : {};
  const headers = { host, "x-amz-date": time, "x-amz-security-token": keys.sessionToken, ...digest, ...call.headers };
  const names = Object.keys(headers).sort();
  const signature = sign(
    { method, url, headers, body },
    { names, time, date, region, service, secret: keys.secretAccessKey },
  );
  const authorization = `AWS4-HMAC-SHA256 Credential=${keys.accessKeyId}/${date}/${region}/${service}/aws4_request, SignedHeaders=${names.join(";")}, Signature=${signature}`;
  return { method, url, headers: { ...headers, authorization }, body, host };
}
