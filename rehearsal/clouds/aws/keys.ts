import { z } from "zod";
import type { KeyBox } from "../keyBox.ts";
import type { EndpointAnswer, EndpointRequest } from "../server.ts";

const bytes = z.base64().transform((text) => Buffer.from(text, "base64"));
const encryptSchema = z.strictObject({ KeyId: z.string().startsWith("arn:"), Plaintext: bytes });
const decryptSchema = z.strictObject({ CiphertextBlob: bytes });
/** Most bytes that KMS encrypts (AWS KMS API Reference, Encrypt, with a symmetric key). */
const plaintextLimit = 4096;

/**
 * KMS with symmetric keys: Encrypt, and Decrypt, which finds the key in what it has encrypted (AWS KMS API Reference, version 2014-11-01). Every
 * key that is named exists, and its own policy leaves it to IAM who may use it: keys are not of the program.
 *
 * @param may whether the caller's role allows an action on a key
 */
export function keyManagement(keys: KeyBox, may: (action: string, arn: string) => boolean, request: EndpointRequest): EndpointAnswer {
  const operation = request.headers["x-amz-target"] ?? "";
  const body: unknown = JSON.parse(request.body.toString("utf8"));
  if (operation === "TrentService.Encrypt") {
    const input = encryptSchema.safeParse(body);
    if (!input.success || input.data.Plaintext.length > plaintextLimit) return answer(400, "ValidationException");
    const { KeyId, Plaintext } = input.data;
    if (!may("kms:Encrypt", KeyId)) return answer(400, "AccessDeniedException");
    const blob = Buffer.concat([Buffer.from(`${KeyId}\n`), keys.seal(KeyId, Plaintext)]);
    return answer(200, { CiphertextBlob: blob.toString("base64"), KeyId });
  }
  if (operation !== "TrentService.Decrypt") return answer(400, "UnknownOperationException");
  const input = decryptSchema.safeParse(body);
  if (!input.success) return answer(400, "ValidationException");
  const blob = input.data.CiphertextBlob;
  const end = blob.indexOf("\n");
  const arn = blob.subarray(0, Math.max(end, 0)).toString();
  if (!arn.startsWith("arn:")) return answer(400, "InvalidCiphertextException");
  if (!may("kms:Decrypt", arn)) return answer(400, "AccessDeniedException");
  const plain = keys.open(arn, blob.subarray(end + 1));
  return plain === undefined ? answer(400, "InvalidCiphertextException") : answer(200, { Plaintext: plain.toString("base64"), KeyId: arn });
}

function answer(status: number, what: string | Readonly<Record<string, string>>): EndpointAnswer {
  return {
    status,
    headers: { "content-type": "application/x-amz-json-1.1" },
    body: JSON.stringify(typeof what === "string" ? { __type: what } : what),
  };
}
