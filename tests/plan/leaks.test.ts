import assert from "node:assert/strict";
import { gzipSync } from "node:zlib";
import { type PropertyMap, Secret } from "../../components/gates/resources.ts";
import { secretsInUserData } from "../../plan/program/leaks.ts";
import { requestFor } from "../support/recording.ts";

/** What is found in a text of a machine's user data, beside a stack with these outputs. */
function found(text: string, outputs: PropertyMap = {}) {
  const machine = requestFor("a:b:C", "machine", { userData: text, list: [{ inner: text }] });
  const stack = requestFor("pulumi:pulumi:Stack", "s", {});
  const resources = [
    { ...machine, urn: "m", id: "x", outputs: {} },
    { ...stack, urn: "u", id: undefined, outputs },
  ];
  return secretsInUserData({ stack: "test", outputs: {}, messages: [], resources });
}
const told = (what: string) => ["userData", "list[0].inner"].map((path) => ({ resource: "machine", path, what }));

describe("the search for secrets", () => {
  it("finds a secret packed into user data, and does not print it", () => {
    const token = "Aq7rTz0Lm3Xw9Kb2Vd5Ng8Ys";
    const text = `#cloud-config\nwrite_files:\n- content: "${token} and more text to make it long enough"\n`;
    const leaks = found(gzipSync(text).toString("base64"), { token: new Secret(token) });
    assert.deepEqual(leaks, told("the secret of s"));
    assert.ok(!JSON.stringify(leaks).includes(token));
  });

  it("does not take settings for secrets because one of them is", () => {
    const outputs = { config: new Secret({ region: "eu-central-1-long" }), other: new Secret("a-secret-of-the-stack") };
    assert.deepEqual(found("eu-central-1-long, a-secret-of-the-stack", outputs), told("the secret of s"));
    assert.deepEqual(found("eu-central-1-long", outputs), []);
  });

  for (const [what, text] of [
    ["a private key", "x\n-----BEGIN EC PRIVATE KEY-----\nMHcC\n"],
    ["a private key", "-----BEGIN PRIVATE KEY-----"],
    ["a private key", "-----BEGIN ENCRYPTED PRIVATE KEY-----"],
    ["a bootstrap token", "token: abc123.0123456789abcdef"],
    ["an AWS access key", "AKIAIOSFODNN7EXAMPLE"],
  ] as const)
    it(`knows ${what} by its form: ${JSON.stringify(text.slice(0, 30))}`, () =>
      assert.deepEqual(found(text), told(what)));
});
