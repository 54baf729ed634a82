import assert from "node:assert/strict";
import { gunzipSync } from "node:zlib";
import { scriptsObject } from "../../../components/machine/bundle.ts";
import type { MachinePayload } from "../../../components/machine/payload.ts";
import { protectedFolders, windowsPaths, windowsPrograms } from "../../../components/machine/windows/paths.ts";
import { networkRepairs } from "../../../components/machine/windows/repairs.ts";
import { dynamicPorts } from "../../../components/machine/windows/system.ts";
import { packWindowsAws, packWindowsAzure } from "../../../components/machine/windows/userData.ts";
import { cloudFacts } from "../../../components/model/cloudFacts/cloudFacts.ts";
import { nodePorts } from "../../../components/model/ports.ts";
import { flannelConflist, flannelPaths } from "../../../components/podNetworks/flannel/network.ts";
import { podNetworks } from "../../../components/podNetworks/podNetworks.ts";
import { syntaxErrors } from "../../support/powershellRules.ts";
import { exampleSpec } from "../../support/stacks.ts";
import { exampleWindowsWorker, fileOf, scriptsBucket, windowsExamples } from "../examples.ts";

const machinePath = "C:\\fenestra\\machine.json";

describe("the payload of a Windows worker", () => {
  it("leaves open only what a script fills in, where it does", () => {
    const filled = new Map([
      ["C:\\etc\\kubernetes\\kubelet-config.yaml", ["@PROVIDER_ID@"]],
      ["C:\\fenestra\\10-flannel.conflist", ["@NODE_IP@"]],
      ["C:\\fenestra\\bootstrap-kubelet.conf", ["@API_SERVER@", "@CA_DATA@", "@TOKEN@"]],
      [machinePath, ["@NODE_IP@", "@NODE_NAME@", "@SOURCE_VIP@"]],
    ]);
    for (const { payload } of windowsExamples()) {
      for (const { path, content } of payload.files.filter((file) => !file.path.endsWith(".ps1")))
        assert.deepEqual([...new Set(content.match(/@[A-Z_]+@/g) ?? [])].sort(), filled.get(path) ?? [], path);
      assert.deepEqual(
        JSON.parse(fileOf(payload, machinePath)).stages.find(({ name }: { name: string }) => name === "join").fills,
        ["C:\\etc\\kubernetes\\kubelet-config.yaml", "C:\\fenestra\\10-flannel.conflist"],
      );
    }
  });

  it("has all its files in folders that others may neither read nor write", () => {
    const folders = protectedFolders(podNetworks.flannel.windows.protectedFolders);
    const inside = (path: string) => folders.some((folder) => path.startsWith(`${folder}\\`));
    for (const { payload } of windowsExamples()) {
      for (const { path } of payload.files) assert.ok(inside(path), path);
      const machine = JSON.parse(fileOf(payload, machinePath));
      assert.deepEqual(machine.protected, folders);
      for (const { folder, name } of machine.artifacts) assert.ok(inside(`${folder}\\${name}`), `${folder} of ${name}`);
    }
    for (const path of Object.values(windowsPrograms)) assert.ok(inside(path), path);
    const { bootstrapKubeconfig, kubeletKubeconfig, clusterCa, kubeletCertificates } = windowsPaths;
    for (const path of [
      bootstrapKubeconfig,
      kubeletKubeconfig,
      clusterCa,
      `${kubeletCertificates}\\x`,
      flannelPaths.cniConflist,
    ])
      assert.ok(inside(path), path);
    // The volumes of pods are there, and the pods' own users read them.
    assert.equal(inside(`${windowsPaths.kubeletState}\\pods`), false);
    assert.equal(folders.includes(windowsPaths.kubeletState), false);
  });

  it("names every value that the scripts read", () => {
    const payload = exampleWindowsWorker(exampleSpec("aws-prod"));
    const machine: unknown = JSON.parse(fileOf(payload, machinePath));
    const has = (path: string) => {
      let value: unknown = machine;
      for (const key of path.split(".")) {
        if (typeof value !== "object" || value === null) return false;
        value = Object.entries(value).find(([name]) => name.toLowerCase() === key.toLowerCase())?.[1];
      }
      return value !== undefined;
    };
    const missing = payload.files
      .filter(({ path }) => path.endsWith(".ps1"))
      .flatMap(({ path, content }) =>
        [...content.matchAll(/\$machine\.([A-Za-z]+(?:\.[A-Za-z]+)*)/gi)]
          .map(([, read = ""]) => read.replace(/\.(Count|TrimEnd|Replace)$/, ""))
          .filter((read) => !has(read))
          .map((read) => `${path}: ${read}`),
      );
    assert.deepEqual(missing, []);
  });
});

/**
 * Keys that each type of policy may have below `Settings` in HCN version 2, from microsoft/hcsshim, hcn/hcnpolicy.go.
 */
const settingsOf: Readonly<Record<string, readonly string[]>> = {
  OutBoundNAT: ["VirtualIP", "Exceptions", "Destinations", "Flags"],
  SDNRoute: ["DestinationPrefix", "NextHop", "NeedEncap"],
  ProviderAddress: ["ProviderAddress"],
  ACL: [
    "Protocols",
    "Action",
    "Direction",
    "LocalAddresses",
    "RemoteAddresses",
    "LocalPorts",
    "RemotePorts",
    "RuleType",
    "Priority",
  ],
};

describe("a Windows node", () => {
  it("keeps the ports of outgoing connections clear of NodePorts", () => {
    assert.ok(dynamicPorts.start > nodePorts.last);
    assert.equal(dynamicPorts.start + dynamicPorts.count, 65_536);
  });

  it("has each repair's value once", () => {
    // The registry and Windows PowerShell's JSON know no case.
    for (const key of Object.values(networkRepairs).flat()) {
      const names = Object.keys(key.values);
      assert.equal(new Set(names.map((name) => name.toLowerCase())).size, names.length, key.path);
    }
  });

  // Version 2 itself skips a policy of another form without a word.
  for (const stack of ["aws-prod", "azure-prod"] as const)
    it(`${stack}: has policies of the exact form of version 2`, () => {
      const { plugins } = JSON.parse(flannelConflist(exampleSpec(stack), { metadataAcl: true }));
      for (const { name, value } of plugins[0].delegate.policies) {
        const { Type, Settings, ...rest } = value;
        assert.deepEqual([name, rest], ["EndpointPolicy", {}], Type);
        assert.deepEqual(
          Object.keys(Settings).filter((key) => settingsOf[Type]?.includes(key) !== true),
          [],
          Type,
        );
      }
    });
});

/** An archive as the format's description has it. */
interface Archive {
  readonly entry: string;
  readonly files: Readonly<Record<string, string>>;
}

/** Reads the archive out of a loader script by the format's description, by nothing of the packer. */
function archiveOf(script: string): Archive {
  const packed = /^\$p='([A-Za-z0-9+/=]+)'$/m.exec(script)?.[1];
  assert.ok(packed !== undefined, "the loader holds no archive");
  return JSON.parse(gunzipSync(Buffer.from(packed, "base64")).toString("utf8"));
}

const awsScript = (payload: MachinePayload) => packWindowsAws(payload, scriptsObject(payload), scriptsBucket);
const azureScript = (payload: MachinePayload) => Buffer.from(packWindowsAzure(payload), "base64").toString("utf8");

describe("a packed Windows payload", () => {
  it("stays below the limits of both clouds; bytes per pool", () => {
    for (const { spec, payload, pool } of windowsExamples()) {
      const { userDataBytes: most } = cloudFacts[spec.cloud].machines;
      const bytes =
        spec.cloud === "aws"
          ? Buffer.byteLength(awsScript(payload))
          : Buffer.from(packWindowsAzure(payload), "base64").length;
      console.log(`      ${spec.name} ${pool.name}: ${bytes} of ${most} bytes, ${most - bytes} left`);
      assert.ok(bytes <= most * 0.8, `${pool.name}: ${bytes} bytes are more than four fifths`);
    }
  });

  it("on Azure parses and holds every file but the fetching one", async () => {
    for (const { payload } of windowsExamples("azure")) {
      const script = azureScript(payload);
      assert.deepEqual(await syntaxErrors(script), []);
      const { entry, files } = archiveOf(script);
      assert.equal(entry, "C:\\fenestra\\bootstrap.ps1");
      const paths = payload.files.map(({ path }) => path).filter((path) => path !== "C:\\fenestra\\fetch.ps1");
      assert.deepEqual(Object.keys(files), paths);
    }
  });

  it("on AWS holds every file once, in user data or object", () => {
    for (const { payload } of windowsExamples("aws")) {
      const first = archiveOf(awsScript(payload));
      const second: Archive = JSON.parse(scriptsObject(payload).content);
      assert.equal(first.entry, "C:\\fenestra\\fetch.ps1");
      assert.equal(second.entry, payload.entry);
      const all = [...Object.keys(first.files), ...Object.keys(second.files)];
      const wanted = [...payload.files.map(({ path }) => path), "C:\\fenestra\\scripts.json"];
      assert.deepEqual([...all].sort(), [...wanted].sort());
      assert.deepEqual(
        Object.keys(first.files).sort(),
        ["fetch.ps1", "files.ps1", "machine.json", "scripts.json", "sigv4.ps1", "task.ps1", "web.ps1"].map(
          (name) => `C:\\fenestra\\${name}`,
        ),
      );
    }
  });
});
