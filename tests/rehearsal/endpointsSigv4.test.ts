import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import fc from "fast-check";
import { type AwsCredentials, type SignedRequest, sign, signatureProblem } from "../../rehearsal/clouds/aws/sigv4.ts";

interface Vector {
  readonly name: string;
  readonly source: string;
  readonly service: string;
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly signature: string;
}

interface VectorFile {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly time: string;
  readonly region: string;
  readonly vectors: readonly Vector[];
}

/** Published signatures, the same file that the PowerShell test reads; those of our own requests were made by another implementation. */
const file: VectorFile = JSON.parse(readFileSync(new URL("../support/sigv4Vectors.json", import.meta.url), "utf8"));
const { vectors, time, accessKeyId, secretAccessKey: secret } = file;
const date = time.slice(0, 8);
const now = Date.parse("2015-08-30T12:36:00Z");

function vectorNamed(name: string): Vector {
  const found = vectors.find((vector) => vector.name === name);
  assert.ok(found !== undefined, name);
  return found;
}

const example = vectorNamed("get-vanilla").headers;
const getParameter = vectorNamed("GetParameter as a machine sends it");
const sessionToken = getParameter.headers["x-amz-security-token"] ?? "";
const credentials: AwsCredentials = { accessKeyId, secretAccessKey: secret, sessionToken };

function requestOf({ method, url, headers, body }: Omit<SignedRequest, "body"> & { body?: string }): SignedRequest {
  return { method, url, headers, body: Buffer.from(body ?? "") };
}

function scope(service: string, names: readonly string[]) {
  return { names, time, date, region: file.region, service, secret };
}

/** A request as a machine signs it, with what a test changes in it afterwards. */
function signed(
  changes: Partial<SignedRequest> = {},
  names?: readonly string[],
  service = "ssm",
  extra: Readonly<Record<string, string>> = {},
): SignedRequest {
  const request = requestOf({ ...getParameter, headers: { ...getParameter.headers, ...extra } });
  const signedNames = names ?? Object.keys(request.headers).sort();
  const signature = sign(request, scope(service, signedNames));
  const authorization = `AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/${date}/us-east-1/${service}/aws4_request, SignedHeaders=${signedNames.join(";")}, Signature=${signature}`;
  const whole = { ...request, headers: { ...request.headers, authorization } };
  return { ...whole, ...changes, headers: { ...whole.headers, ...changes.headers } };
}

const problem = (request: SignedRequest, at = now) => signatureProblem(request, credentials, "ssm", "us-east-1", at);

describe("Signature Version 4", () => {
  for (const vector of vectors)
    it(`gives the signature of ${vector.name} (${vector.source})`, () => {
      const names = Object.keys(vector.headers).sort();
      assert.equal(sign(requestOf(vector), scope(vector.service, names)), vector.signature);
    });

  it("folds blanks in a header's value, as the suite's get-header-value-trim has it", () => {
    const request = (value: string) => requestOf({ method: "GET", url: "/", headers: { ...example, "my-header": value } });
    const names = ["host", "my-header", "x-amz-date"];
    assert.equal(sign(request("  a   b "), scope("service", names)), sign(request("a b"), scope("service", names)));
  });

  it("leaves the body out where S3 is asked to", () => {
    const names = ["host", "x-amz-date"];
    const signatureOf = (service: string, body: string) => {
      const headers = { ...example, "x-amz-content-sha256": "UNSIGNED-PAYLOAD" };
      return sign(requestOf({ method: "PUT", url: "/a", headers, body }), scope(service, names));
    };
    assert.equal(signatureOf("s3", "a"), signatureOf("s3", "b"));
    assert.notEqual(signatureOf("ssm", "a"), signatureOf("ssm", "b"));
  });
});

describe("a signature", () => {
  it("is accepted as our machines make it, up to five minutes off", () => {
    assert.equal(problem(signed()), undefined);
    assert.equal(problem(signed(), now + 300_000), undefined);
    assert.equal(problem(signed(), now - 300_000), undefined);
  });

  const other = { accessKeyId: "AKIDOTHER", secretAccessKey: secret, sessionToken };
  it("is refused for another key, secret or session", () => {
    const as = (changed: Partial<AwsCredentials>) => signatureProblem(signed(), { ...credentials, ...changed }, "ssm", "us-east-1", now);
    assert.equal(as(other), "UnrecognizedClientException");
    assert.equal(as({ secretAccessKey: `${secret}x` }), "SignatureDoesNotMatch");
    assert.equal(as({ sessionToken: "other" }), "UnrecognizedClientException: session token");
  });

  it("is refused for another service or region", () => {
    const scoped = "SignatureDoesNotMatch: credential scope";
    assert.equal(signatureProblem(signed(), credentials, "s3", "us-east-1", now), scoped);
    assert.equal(signatureProblem(signed(), credentials, "ssm", "us-east-2", now), scoped);
  });

  it("is refused when a header of AWS or the host is not signed", () => {
    const all = Object.keys(signed().headers).filter((name) => name !== "authorization");
    const without = (name: string) => problem(signed({}, all.filter((item) => item !== name).sort()));
    assert.equal(without("x-amz-target"), "SignatureDoesNotMatch: x-amz-target not signed");
    assert.equal(without("host"), "SignatureDoesNotMatch: host is not signed");
    assert.equal(problem(signed({ headers: { "x-amz-extra": "1" } })), "SignatureDoesNotMatch: x-amz-extra not signed");
  });

  it("is refused by S3 without the hash of what was sent, or with another one", () => {
    const toS3 = (extra: Readonly<Record<string, string>>, body?: string) =>
      signatureProblem(
        signed(body === undefined ? {} : { body: Buffer.from(body) }, undefined, "s3", extra),
        credentials,
        "s3",
        "us-east-1",
        now,
      );
    const hash = createHash("sha256").update(getParameter.body).digest("hex");
    assert.equal(toS3({}), "MissingContentSHA256");
    assert.equal(toS3({ "x-amz-content-sha256": hash }), undefined);
    assert.equal(toS3({ "x-amz-content-sha256": hash }, "other"), "XAmzContentSHA256Mismatch");
    assert.equal(toS3({ "x-amz-content-sha256": "UNSIGNED-PAYLOAD" }, "other"), undefined);
  });

  it("is refused when anything that it covers has changed", () => {
    const mismatch = "SignatureDoesNotMatch";
    assert.equal(problem(signed({ method: "PUT" })), mismatch);
    assert.equal(problem(signed({ url: "/other" })), mismatch);
    assert.equal(problem(signed({ url: "/?a=b" })), mismatch);
    assert.equal(problem(signed({ headers: { "x-amz-target": "AmazonSSM.PutParameter" } })), mismatch);
    fc.assert(
      fc.property(fc.string(), (text) => {
        const body = Buffer.from(text);
        assert.equal(problem(signed({ body })), body.equals(signed().body) ? undefined : mismatch);
      }),
    );
  });
});
