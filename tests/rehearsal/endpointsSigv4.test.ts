import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { type SignedRequest, sign } from "../../rehearsal/clouds/aws/sigv4.ts";

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
  readonly secretAccessKey: string;
  readonly time: string;
  readonly region: string;
  readonly vectors: readonly Vector[];
}

/**
 * Published signatures, the same file that the PowerShell test reads; those of our own requests were made by another
 * implementation.
 */
const file: VectorFile = JSON.parse(readFileSync(new URL("../support/sigv4Vectors.json", import.meta.url), "utf8"));
const { vectors, time, secretAccessKey: secret } = file;
const date = time.slice(0, 8);
const example = vectors.find(({ name }) => name === "get-vanilla")?.headers ?? {};

function requestOf({ method, url, headers, body }: Omit<SignedRequest, "body"> & { body?: string }): SignedRequest {
  return { method, url, headers, body: Buffer.from(body ?? "") };
}

function scope(service: string, names: readonly string[]) {
  return { names, time, date, region: file.region, service, secret };
}

describe("Signature Version 4", () => {
  for (const vector of vectors)
    it(`gives the signature of ${vector.name} (${vector.source})`, () => {
      const names = Object.keys(vector.headers).sort();
      assert.equal(sign(requestOf(vector), scope(vector.service, names)), vector.signature);
    });

  it("folds blanks in a header's value, as the suite's get-header-value-trim has it", () => {
    const request = (value: string) =>
      requestOf({ method: "GET", url: "/", headers: { ...example, "my-header": value } });
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
