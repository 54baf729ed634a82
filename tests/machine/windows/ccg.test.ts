import assert from "node:assert/strict";
import { windowsMachine } from "../../../components/machine/windows/worker.ts";
import { readArtifactLock, requireArtifact } from "../../../components/model/artifacts.ts";
import { secretUri } from "../../../components/model/cloudFacts/identities.ts";
import type { ClusterSpec } from "../../../components/model/clusterSpec.ts";
import { gmsa, gmsaSecrets } from "../../kubernetes/switches.ts";
import { exampleSpec } from "../../support/stacks.ts";
import { exampleAccess, exampleWindowsWorker, windowsPool } from "../examples.ts";

const archive = requireArtifact(readArtifactLock(), {
  name: "windows-gmsa-ccgakvplugin",
  version: "1.1.5",
  os: "windows",
});

/** The first Windows pool of a cloud's development stack with the plug-in. */
function withPlugin(cloud: "aws" | "azure") {
  const base = exampleSpec(`${cloud}-dev`);
  const pool = { ...windowsPool(base), ccgPlugin: true };
  const spec: ClusterSpec = { ...base, addons: { ...base.addons, gmsa: gmsa(cloud) } };
  return { spec, pool, access: exampleAccess(spec, pool.name) };
}

describe("the gMSA plug-in on Windows nodes", () => {
  it("is downloaded with the digest of the lock file, from the mirror first, before the kubelet starts", () => {
    const { spec, pool, access } = withPlugin("azure");
    const mirrored: ClusterSpec = { ...spec, mirror: { ...spec.mirror, artifacts: "https://mirror.test" } };
    const machine = windowsMachine({ spec: mirrored, pool, access }, []);
    const fetched = machine.artifacts.filter(({ stage }) => stage === "ccg");
    assert.deepEqual(fetched, [
      {
        name: "ccg-plugin",
        file: "1.1.5-ccg-plugin.zip",
        urls: [archive.url.replace("https://", "https://mirror.test/"), archive.url],
        algorithm: "sha256",
        digest: archive.digest,
        checksumUrls: [],
        stage: "ccg",
        folder: "C:\\fenestra\\ccg",
        unpack: true,
      },
    ]);
    const position = (name: string): number => machine.waves.findIndex((wave) => wave.some((each) => each === name));
    assert.ok(position("artifacts") < position("ccg") && position("ccg") < position("services"));
  });

  it("is registered with COM as the publisher of Azure's plug-in does", () => {
    const { ccg } = windowsMachine(withPlugin("azure"), []);
    const clsid = "HKLM:\\SOFTWARE\\Classes\\CLSID\\{CCC2A336-D7F3-4818-A213-272B7924213E}";
    const appId = "HKLM:\\SOFTWARE\\Classes\\AppID\\{557110E1-88BC-4583-8281-6AAC6F708584}";
    const stub = "HKLM:\\SOFTWARE\\Classes\\Interface\\{6ECDA518-2010-4437-8BC3-46E752B7B172}";
    assert.equal(ccg?.allowedClasses, "SYSTEM\\CurrentControlSet\\Control\\CCG\\COMClasses");
    assert.equal(ccg?.classId, "{CCC2A336-D7F3-4818-A213-272B7924213E}");
    assert.equal(ccg?.install?.target, "C:\\Windows\\System32\\CCGAKVPlugin.dll");
    const registered = ccg?.install?.registry.map(({ path, name, type, value }) => [path, name, type, value]);
    assert.deepEqual(registered, [
      [stub, "", "String", "ICcgDomainAuthCredentials"],
      [`${stub}\\ProxyStubClsid32`, "", "String", "{A6FF50C0-56C0-71CA-5732-BED303A59628}"],
      [appId, "AccessPermission", "Sddl", "O:BAG:BAD:(A;;0xb;;;SY)(A;;0xb;;;AU)"],
      [appId, "LaunchPermission", "Sddl", "O:BAG:BAD:(A;;0xb;;;SY)(A;;0xb;;;AU)"],
      [appId, "DllSurrogate", "String", ""],
      [clsid, "AppID", "String", "{557110E1-88BC-4583-8281-6AAC6F708584}"],
      [`${clsid}\\InprocServer32`, "", "String", "C:\\Windows\\System32\\CCGAKVPlugin.dll"],
      [`${clsid}\\InprocServer32`, "ThreadingModel", "String", "Both"],
    ]);
  });

  it("is only looked for where the image brings it", () => {
    const { ccg, artifacts } = windowsMachine(withPlugin("aws"), []);
    assert.equal(ccg?.classId, "{859E1386-BDB4-49E8-85C7-3070B13920E1}");
    assert.equal(ccg?.install, null);
    const fetched = artifacts.filter(({ stage }) => stage === "ccg");
    assert.deepEqual(fetched, []);
  });

  it("leaves no trace on a pool that does not ask for it", () => {
    const { spec, pool, access } = withPlugin("azure");
    const without = { ...pool, ccgPlugin: false };
    assert.equal(windowsMachine({ spec, pool: without, access }, []).ccg, null);
    assert.doesNotMatch(JSON.stringify(exampleWindowsWorker(spec, without)), /install-ccg\.ps1|ccgakvplugin/);
    assert.match(JSON.stringify(exampleWindowsWorker(spec, pool)), /install-ccg\.ps1/);
  });

  it("comes again when its archive changes", () => {
    const hash = (digest: string | null): string | undefined => {
      const { spec, ...rest } = withPlugin("azure");
      const artifacts = spec.artifacts.map((one) => (one.name === archive.name ? { ...one, digest } : one));
      return windowsMachine({ spec: { ...spec, artifacts }, ...rest }, []).stages.find(({ name }) => name === "ccg")
        ?.hash;
    };
    assert.notEqual(hash(archive.digest), hash("6".repeat(64)));
  });

  it("finds the secret of a vault by its resource id, and refuses what is none", () => {
    assert.equal(secretUri(gmsaSecrets.azure), "https://domain-vault.vault.azure.net/secrets/gmsa-web");
    assert.throws(() => secretUri(gmsaSecrets.aws), /is not a secret of a vault/);
  });
});
