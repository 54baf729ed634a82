import assert from "node:assert/strict";
import fc from "fast-check";
import { type AwsCredentials, type SignedRequest, sign, signatureProblem } from "../../rehearsal/endpoints/sigv4.ts";

/** Key, time and region of AWS's own test suite (awslabs/aws-c-auth: tests/aws-signing-test-suite). */
const secret = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY";
const time = "20150830T123600Z";
const date = "20150830";
const now = Date.parse("2015-08-30T12:36:00Z");
/** Session token of the suite's `post-sts-header-before`. */
const sessionToken =
  "AQoDYXdzEPT//////////wEXAMPLEtc764bNrC9SAPBSM22wDOk4x4HIZ8j4FZTwdQWLWsKWHGBuFqwAeMicRXmxfpSPfIeoIYRqTflfKD8YUuwthAx7mSEI/qkPpKPi/kMcGdQrmGdeehM4IC1NtBmUpp2wUE8phUZampKsburEDy0KPkyQDYwT7WZ0wq5VSXDvp75YU9HFvlRd8Tx6q6fE8YQcHNVXAkiY9q6d+xo0rKwT38xVqr7ZD0u0iPPkUL64lIZbqBAz+scqKmlzm8FDrypNC9Yjc8fPOLn9FX9KSYvKTr4rvx3iSIlTJabIQwj2ICCR/oLxBA==";
const credentials: AwsCredentials = { accessKeyId: "AKIDEXAMPLE", secretAccessKey: secret, sessionToken };

interface Vector {
  readonly name: string;
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly service?: string;
  readonly signature: string;
}

const example = { host: "example.amazonaws.com", "x-amz-date": time };
const vectors: readonly Vector[] = [
  {
    name: "get-vanilla",
    method: "GET",
    url: "/",
    headers: example,
    signature: "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31",
  },
  {
    name: "post-vanilla",
    method: "POST",
    url: "/",
    headers: example,
    signature: "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b",
  },
  {
    name: "get-vanilla-query-order-key-case",
    method: "GET",
    url: "/?Param2=value2&Param1=value1",
    headers: example,
    signature: "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500",
  },
  {
    name: "post-sts-header-before",
    method: "POST",
    url: "/",
    headers: { ...example, "x-amz-security-token": sessionToken },
    signature: "85d96828115b5dc0cfc3bd16ad9e210dd772bbebba041836c64533a82be05ead",
  },
  {
    name: "post-x-www-form-urlencoded of the older suite",
    method: "POST",
    url: "/",
    headers: { "content-type": "application/x-www-form-urlencoded", ...example },
    body: "Param1=value1",
    signature: "ff11897932ad3f4e8b18135d722051e5ac45fc38421b1da7b9d196a0fe09473a",
  },
  {
    name: "ListUsers of IAM, the example of the documentation",
    method: "GET",
    url: "/?Action=ListUsers&Version=2010-05-08",
    headers: {
      "content-type": "application/x-www-form-urlencoded; charset=utf-8",
      host: "iam.amazonaws.com",
      "x-amz-date": time,
    },
    service: "iam",
    signature: "5d672d79c15b13162d9279b0855cfba6789a8edb4c82c400e06b5924a6f2b5d7",
  },
  {
    name: "GetParameter as our machines send it",
    method: "POST",
    url: "/",
    headers: {
      "content-type": "application/x-amz-json-1.1",
      host: "ssm.us-east-1.amazonaws.com",
      "x-amz-date": time,
      "x-amz-security-token": sessionToken,
      "x-amz-target": "AmazonSSM.GetParameter",
    },
    body: '{"Name":"/fenestra/demo/join","WithDecryption":true}',
    service: "ssm",
    signature: "753661c00bf98ee54aee2f088282629be888a9ca3b7632bc5c631eafa7f725be",
  },
];

function requestOf({ method, url, headers, body }: Omit<Vector, "name" | "signature">): SignedRequest {
  return { method, url, headers, body: Buffer.from(body ?? "") };
}

function scope(service: string, names: readonly string[]) {
  return { names, time, date, region: "us-east-1", service, secret };
}

/** A request as a machine signs it, with what a test changes in it afterwards. */
function signed(changes: Partial<SignedRequest> = {}, names?: readonly string[]): SignedRequest {
  const vector = vectors.at(-1);
  assert.ok(vector !== undefined);
  const request = requestOf(vector);
  const signedNames = names ?? Object.keys(request.headers).sort();
  const signature = sign(request, scope("ssm", signedNames));
  const authorization = `AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/${date}/us-east-1/ssm/aws4_request, SignedHeaders=${signedNames.join(";")}, Signature=${signature}`;
  const whole = { ...request, headers: { ...request.headers, authorization } };
  return { ...whole, ...changes, headers: { ...whole.headers, ...changes.headers } };
}

const problem = (request: SignedRequest, at = now) => signatureProblem(request, credentials, "ssm", "us-east-1", at);

describe("Signature Version 4", () => {
  for (const vector of vectors) {
    it(`gives the published signature of ${vector.name}`, () => {
      const names = Object.keys(vector.headers).sort();
      assert.equal(sign(requestOf(vector), scope(vector.service ?? "service", names)), vector.signature);
    });
  }

  it("folds blanks in a header's value, as the suite's get-header-value-trim has it", () => {
    const request = (value: string) =>
      requestOf({ method: "GET", url: "/", headers: { ...example, "my-header": value } });
    const names = ["host", "my-header", "x-amz-date"];
    assert.equal(sign(request("  a   b "), scope("service", names)), sign(request("a b"), scope("service", names)));
  });

  it("takes the body's hash from the header where S3 wants it", () => {
    const body = "data";
    const hash = "3a6eb0790f39ac87c94f3856b2dd2c5d110e6811602261a9a923d3bb23adc8b7";
    const plain = requestOf({ method: "PUT", url: "/a", headers: example, body });
    const named = requestOf({ method: "PUT", url: "/a", headers: { ...example, "x-amz-content-sha256": hash } });
    const names = ["host", "x-amz-date"];
    assert.equal(sign(named, scope("s3", names)), sign(plain, scope("s3", names)));
  });
});

describe("a signature", () => {
  it("is accepted as our machines make it, up to five minutes off", () => {
    assert.equal(problem(signed()), undefined);
    assert.equal(problem(signed(), now + 300_000), undefined);
    assert.equal(problem(signed(), now - 300_000), undefined);
  });

  it("is refused when the clocks are further apart", () => {
    assert.equal(problem(signed(), now + 300_001), "RequestExpired");
    assert.equal(problem(signed(), now - 300_001), "RequestExpired");
  });

  const other = { accessKeyId: "AKIDOTHER", secretAccessKey: secret, sessionToken };
  it("is refused for another key, secret or session", () => {
    const as = (changed: Partial<AwsCredentials>) =>
      signatureProblem(signed(), { ...credentials, ...changed }, "ssm", "us-east-1", now);
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

  it("is refused without the header, or in another form", () => {
    const { authorization: _, ...headers } = signed().headers;
    assert.equal(problem({ ...signed(), headers }), "MissingAuthenticationToken");
    assert.equal(problem(signed({ headers: { authorization: "Bearer x" } })), "MissingAuthenticationToken");
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
