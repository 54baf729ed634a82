import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { registriesIn, startRegistry, tagsOf } from "../../rehearsal/clouds/publishers.ts";
import { suiteFolder } from "../support/suite.ts";

describe("the registry of a rehearsal", () => {
  const folder = suiteFolder();

  it("has every image, whose parts have the digests that it tells, with the user of its program", async () => {
    const handle = await startRegistry(folder);
    const request = { caller: "", method: "GET", host: "", headers: {}, body: Buffer.from("") };
    const read = async (url: string): Promise<Buffer> => Buffer.from((await handle({ ...request, url })).body ?? "");
    for (const [name, user] of [
      ["etcd", "0"],
      ["mirrored/below/etcd", "0"],
      ["some/metcd", "65532"],
    ] as const) {
      const { config, layers } = JSON.parse(String(await read(`/v2/${name}/manifests/v1?ns=registry.k8s.io`)));
      for (const { digest, size } of [config, ...layers]) {
        const blob = await read(`/v2/${name}/blobs/${digest}`);
        assert.deepEqual([`sha256:${createHash("sha256").update(blob).digest("hex")}`, blob.length], [digest, size]);
      }
      assert.equal(JSON.parse(String(await read(`/v2/${name}/blobs/${config.digest}`))).config.User, user);
    }
    assert.equal((await handle({ ...request, url: "/v2/etcd/blobs/sha256:00" })).status, 404);
  });

  it("is asked by tag, and by digest as a tag, on the hosts that containerd's files name", () => {
    assert.deepEqual(["r.test:5000/a", "r.test/a:1.0", "a@sha256:0f", "a:1@sha256:0f"].map(tagsOf), [
      [],
      ["1.0"],
      ["sha256-0f"],
      ["1", "sha256-0f"],
    ]);
    const content = 'server = "https://one.test"\n[host."https://two.test:5000/v2/x"]\n';
    const files = ["/etc/containerd/certs.d/one.test/hosts.toml", "/etc/other"].map((path) => ({ path, content }));
    assert.deepEqual(registriesIn(files), ["one.test", "two.test"]);
  });
});
