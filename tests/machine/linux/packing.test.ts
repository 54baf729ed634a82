import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { gunzipSync } from "node:zlib";
import fc from "fast-check";
import { gzip, scriptsObject } from "../../../components/machine/bundle.ts";
import { packLinuxFetching } from "../../../components/machine/linux/cloudConfig.ts";
import { controlPlaneScripts } from "../../../components/machine/linux/controlPlane.ts";
import type { MachinePayload, PayloadFile } from "../../../components/machine/payload.ts";
import { decodeUserData } from "../../../plan/decode/userData.ts";
import { exampleSpec } from "../../support/stacks.ts";
import { exampleControlPlane, exampleLinuxWorker, scriptsBucket } from "../examples.ts";

const spec = exampleSpec("aws-prod");
const stages = "/etc/fenestra/stages.tsv";
const added = ["/opt/fenestra/stages/scripts.sh", "/etc/fenestra/scripts.env"];

/** What a machine with the object at hand gets from the user data. */
function unpacked(payload: MachinePayload) {
  const object = scriptsObject(payload);
  return decodeUserData(Buffer.from(packLinuxFetching(payload, object, scriptsBucket), "base64"), (bucket, key) =>
    bucket === scriptsBucket && key === object.key ? Buffer.from(object.content) : undefined,
  );
}

const withMode = ({ path, content, mode = "0644" }: PayloadFile) => ({ path, content, mode });

describe("a packed Linux payload on AWS", () => {
  for (const [kind, payload] of [
    ["control-plane", exampleControlPlane(spec)],
    ["linux", exampleLinuxWorker(spec)],
  ] as const) {
    it(`${kind}: gives the machine every file once, with its mode, and the stage that fetches`, () => {
      const { files, fetched, entry } = unpacked(payload);
      assert.equal(entry, payload.entry);
      const of = (list: readonly { readonly path: string }[]) => new Map(list.map((file) => [file.path, file]));
      const rest = files.filter(({ path }) => !added.includes(path) && path !== stages);
      assert.deepEqual(of(rest), of(payload.files.filter(({ path }) => path !== stages).map(withMode)));
      assert.equal(files.length, payload.files.length + added.length);
      const here = files.filter(({ path }) => path.endsWith(".sh") && !fetched.includes(path)).map(({ path }) => path);
      assert.deepEqual(here.sort(), [
        "/opt/fenestra/bootstrap.sh",
        "/opt/fenestra/cloud.sh",
        "/opt/fenestra/lib.sh",
        "/opt/fenestra/stages/scripts.sh",
      ]);
    });
  }

  it("has one object for all control-plane machines, known before anything exists", () => {
    for (const keys of [["key1"], ["key2", "key1"]])
      for (const stack of ["aws-dev", "aws-prod"] as const) {
        const spec = { ...exampleSpec(stack), secretsEncryption: { keys } };
        const known = scriptsObject(controlPlaneScripts(spec));
        for (const { index } of spec.controlPlane.members)
          assert.deepEqual(scriptsObject(exampleControlPlane(spec, index)), known, `${stack} ${index} ${keys}`);
      }
  });

  it("gives any text of a script back", () => {
    const payload = exampleControlPlane(spec);
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), (text) => {
        const odd = { path: "/opt/fenestra/odd.sh", content: text, mode: "0755" };
        const { files } = unpacked({ ...payload, files: [...payload.files, odd] });
        const found = files.find(({ path }) => path === odd.path);
        assert.deepEqual(found, odd);
      }),
      { numRuns: 25 },
    );
  });
});

describe("packing of user data", () => {
  it("gives these very bytes, whatever Node runs it: other ones replace machines", () => {
    const text = Array.from({ length: 2000 }, (_, line) => `${line} ${(line * line) % 97} grüße\n`).join("");
    const packed = Buffer.from(gzip(text), "base64");
    assert.equal(gunzipSync(packed).toString("utf8"), text);
    // RFC 1952: no flags, no time, and a system that does not depend on the one that packs.
    assert.equal(packed.subarray(0, 10).toString("hex"), "1f8b0800000000000203");
    assert.deepEqual(
      [packed.length, createHash("sha256").update(packed).digest("hex")],
      [6820, "6c75a0366da825f04dc45a1f32cf8678617318d2dd122d9a2d564dfb7c30e474"],
    );
  });
});
