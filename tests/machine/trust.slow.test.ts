import assert from "node:assert/strict";
import { scriptsObject } from "../../components/machine/bundle.ts";
import { withFetchedScripts } from "../../components/machine/linux/cloudConfig.ts";
import { noProxy } from "../../components/machine/proxy.ts";
import { curlArguments } from "../../components/machine/windows/artifacts.ts";
import { packWindowsAws, packWindowsAzure } from "../../components/machine/windows/userData.ts";
import { decodeWindows } from "../../plan/decode/userData.ts";
import { newAuthority } from "../../plan/fakes/certificates.ts";
import { specOf } from "../support/mocks.ts";
import { exampleControlPlane, exampleLinuxWorker, exampleWindowsWorker, fileOf, scriptsBucket } from "./examples.ts";
import { Sandbox } from "./linux/machine.ts";

const pems = ["One", "Two"].map((name) => newAuthority(name).certificate);
const settings = {
  certificateAuthorities: JSON.stringify(pems),
  httpProxy: "http://proxy.example.com:3128",
  noProxy: JSON.stringify(["mirror.corp.example", "10.99.0.0/16"]),
};

describe("authorities of one's own", () => {
  for (const cloud of ["aws", "azure"] as const) {
    const spec = specOf(`${cloud}-dev`, settings);
    for (const [kind, payload] of [
      ["control-plane", exampleControlPlane(spec)],
      ["linux", exampleLinuxWorker(spec)],
    ] as const)
      it(`are trusted by a ${kind} machine on ${cloud} before it fetches anything`, () => {
        const packed = cloud === "aws" ? withFetchedScripts(payload, scriptsObject(payload), scriptsBucket) : payload;
        assert.ok(packed.files.some(({ path }) => path === "/opt/fenestra/stages/trust.sh"));
        const stages = fileOf(packed, "/etc/fenestra/stages.tsv")
          .split("\n")
          .map((line) => line.split("\t")[0]);
        assert.deepEqual(stages.slice(0, 2), cloud === "aws" ? ["trust", "scripts"] : ["trust", "identity"]);
      });

    it(`are trusted by a Windows machine on ${cloud} before it fetches anything`, () => {
      const payload = exampleWindowsWorker(spec);
      const object = scriptsObject(payload);
      const packed =
        cloud === "aws"
          ? packWindowsAws(payload, object, scriptsBucket)
          : Buffer.from(packWindowsAzure(payload), "base64").toString();
      const { source, files } = decodeWindows(Buffer.from(packed), () => Buffer.from(object.content));
      for (const [index, pem] of pems.entries()) {
        const path = `C:\\fenestra\\trust\\fenestra-${index + 1}.crt`;
        assert.equal(files.find((file) => file.path === path)?.content, pem);
        assert.ok(source.indexOf(`certutil.exe -f -addstore Root '${path}'`) < source.indexOf("-File $a.entry"));
        assert.ok(!object.content.includes("fenestra-1.crt"));
      }
      assert.deepEqual(curlArguments(spec).slice(-4), [
        "--proxy",
        "http://proxy.example.com:3128",
        "--noproxy",
        "mirror.corp.example,10.99.0.0/16",
      ]);
    });
  }

  it("are in the bundle that programs read, those of an earlier run no longer", () => {
    const spec = specOf("aws-dev", settings);
    const machine = new Sandbox(exampleLinuxWorker(spec));
    try {
      machine.write("/etc/ca-certificates.conf", "");
      machine.write("/etc/ssl/certs/fenestra-9.pem", "");
      machine.stageOrFail("trust");
      const bundle = machine.read("/etc/ssl/certs/ca-certificates.crt");
      assert.deepEqual(bundle.match(/BEGIN/g)?.length, 2);
      for (const pem of pems) assert.ok(bundle.includes(pem.trim()));
    } finally {
      machine.dispose();
    }
  });

  it("leave the proxy's exceptions at the end of the list", () => {
    assert.match(noProxy(specOf("aws-dev", settings)), /,\.cluster\.local,mirror\.corp\.example,10\.99\.0\.0\/16$/);
  });
});
