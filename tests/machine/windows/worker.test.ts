import assert from "node:assert/strict";
import path from "node:path";
import { parse } from "yaml";
import { hostProcessPod } from "../../../components/kubernetes/workload.ts";
import type { MachinePayload } from "../../../components/machine/payload.ts";
import { curlArguments, windowsArtifacts } from "../../../components/machine/windows/artifacts.ts";
import { protectedFolders, windowsPaths, windowsPrograms } from "../../../components/machine/windows/paths.ts";
import { dynamicPorts } from "../../../components/machine/windows/system.ts";
import { cloudFacts } from "../../../components/model/cloudFacts/cloudFacts.ts";
import { nodePorts } from "../../../components/model/ports.ts";
import { flannelPaths } from "../../../components/podNetworks/flannel/network.ts";
import { podNetworks } from "../../../components/podNetworks/podNetworks.ts";
import { compactYaml, matchDelta, matchSnapshot } from "../../support/snapshot.ts";
import { exampleSpec } from "../../support/stacks.ts";
import {
  exampleReleases,
  exampleWindowsWorker,
  fileOf,
  onePerSystem,
  windowsExamples,
  windowsPool,
} from "../examples.ts";

const snapshots = path.join(import.meta.dirname, "snapshots/");
const machinePath = "C:\\fenestra\\machine.json";

/** Values of machine.json that no other test says. */
const shown = ["os", "services", "network", "kubelet", "flanneld", "kubeProxy", "drain", "watch", "prePull"];

/** The settings of a machine as one text. */
function rendered({ files }: MachinePayload): string {
  return files
    .flatMap(({ path, content }) => {
      if (path === machinePath) {
        const settings = Object.entries(JSON.parse(content)).filter(([key]) => shown.includes(key));
        return `===== ${path}\n${compactYaml(Object.fromEntries(settings))}\n`;
      }
      if (path.endsWith(".conflist")) return `===== ${path}\n${compactYaml(JSON.parse(content))}\n`;
      return path === windowsPaths.kubeletConfig || path === windowsPaths.containerdConfig
        ? `===== ${path}\n${content.trimEnd()}\n`
        : [];
    })
    .join("\n")
    .replaceAll(/(fenestra\.dev\/payload=)[0-9a-f]{16}\b/g, "$1<hash>");
}

describe("the payload of a Windows worker", () => {
  const texts = (cloud: "aws" | "azure", release: string) =>
    new Map(onePerSystem(cloud, release).map(({ pool, payload }) => [pool.release.name, rendered(payload)]));

  it("has the settings of the snapshot, and these others on Azure and with Hyper-V", () => {
    const textOf = (cloud: "aws" | "azure", system: "windows-2022" | "windows-2025") =>
      texts(cloud, "1.36.4").get(system) ?? assert.fail(system);
    const base = textOf("aws", "windows-2022");
    matchSnapshot(`${snapshots}aws-windows-2022.txt`, base);
    matchDelta(`${snapshots}azure-windows-2022.diff`, base, textOf("azure", "windows-2022"));
    matchDelta(`${snapshots}aws-windows-2025.diff`, base, textOf("aws", "windows-2025"));
  });

  it("has the same settings in every minor", () => {
    const [first, ...others] = exampleReleases;
    for (const cloud of ["aws", "azure"] as const)
      for (const other of others) assert.deepEqual(texts(cloud, other), texts(cloud, first ?? ""));
  });

  it("adds a pool's own taints behind those of Windows", () => {
    const spec = exampleSpec("aws-prod");
    const pool = windowsPool(spec);
    const own = { key: "team", value: "a", effect: "NoExecute" } as const;
    const scheduling = { ...pool.scheduling, taints: [...pool.scheduling.taints, own] };
    const payload = exampleWindowsWorker(spec, { ...pool, scheduling });
    const config = parse(fileOf(payload, "C:\\etc\\kubernetes\\kubelet-config.yaml"));
    assert.deepEqual(config.registerWithTaints.at(-1), own);
  });

  it("leaves open only what the machine fills in, and only where a script does", () => {
    const filled = new Map([
      ["C:\\etc\\kubernetes\\kubelet-config.yaml", ["@PROVIDER_ID@"]],
      ["C:\\fenestra\\10-flannel.conflist", ["@NODE_IP@"]],
      ["C:\\fenestra\\bootstrap-kubelet.conf", ["@API_SERVER@", "@CA_DATA@", "@TOKEN@"]],
      [machinePath, ["@NODE_IP@", "@NODE_NAME@", "@SOURCE_VIP@"]],
    ]);
    for (const { payload } of windowsExamples()) {
      for (const { path, content } of payload.files.filter((file) => !file.path.endsWith(".ps1")))
        assert.deepEqual([...new Set(content.match(/@[A-Z_]+@/g) ?? [])].sort(), filled.get(path) ?? [], path);
      const { stages } = JSON.parse(fileOf(payload, machinePath));
      const join = stages.find(({ name }: { name: string }) => name === "join");
      assert.deepEqual(join.fills, ["C:\\etc\\kubernetes\\kubelet-config.yaml", "C:\\fenestra\\10-flannel.conflist"]);
    }
  });

  it("has every script, program, configuration and secret in a folder that others may neither read nor write", () => {
    const folders = protectedFolders(podNetworks.flannel.windows.protectedFolders);
    const inside = (path: string): boolean => folders.some((folder) => path.startsWith(`${folder}\\`));
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

  it("has its programs that pods of the node start run as the system, which those folders let in", () => {
    assert.deepEqual(hostProcessPod.securityContext.windowsOptions, {
      hostProcess: true,
      runAsUserName: "NT AUTHORITY\\SYSTEM",
    });
  });

  it("names the extension's status on Azure only, where its first wave is in the foreground, and a sign to the hook that comes twice before it runs out", () => {
    for (const cloud of ["aws", "azure"] as const)
      for (const { payload } of windowsExamples(cloud)) {
        const machine = JSON.parse(fileOf(payload, machinePath));
        const status = "C:\\Packages\\Plugins\\Microsoft.Compute.CustomScriptExtension\\*\\Status\\*.status";
        assert.deepEqual([machine.statusFiles, machine.foreground], cloud === "azure" ? [status, true] : ["", false]);
        assert.ok(
          machine.drain.heartbeatSeconds * 2 < cloudFacts.aws.timings.termination.windows,
          `${machine.drain.heartbeatSeconds}`,
        );
        assert.ok(machine.drain.seconds + machine.drain.heartbeatSeconds <= cloudFacts.aws.timings.termination.windows);
      }
  });

  it("names every value that the scripts read", () => {
    const payload = exampleWindowsWorker(exampleSpec("aws-prod"));
    const machine: unknown = JSON.parse(fileOf(payload, machinePath));
    const has = (path: string): boolean => {
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

describe("the artifacts of a Windows node", () => {
  it("all have a digest but those whose lock entry has none, which have a checksum file", () => {
    for (const release of exampleReleases)
      for (const { spec } of onePerSystem("aws", release))
        for (const artifact of windowsArtifacts(spec)) {
          if (artifact.digest === "")
            assert.match(artifact.checksumUrls[0] ?? "", /^https:\/\/.+\.sha(256|512)$/, artifact.name);
          else assert.match(artifact.digest, artifact.algorithm === "sha256" ? /^[0-9a-f]{64}$/ : /^[0-9a-f]{128}$/);
        }
  });

  it("come from the mirror first, and from the publisher only where he can be reached", () => {
    const spec = exampleSpec("aws-prod");
    const mirror = { ...spec.mirror, artifacts: "https://mirror.example/files/" };
    const [first] = windowsArtifacts({ ...spec, mirror });
    assert.deepEqual(first?.urls, [
      "https://mirror.example/files/dl.k8s.io/release/v1.37.1/bin/windows/amd64/kubelet.exe",
      "https://dl.k8s.io/release/v1.37.1/bin/windows/amd64/kubelet.exe",
    ]);
    const closed = windowsArtifacts({ ...spec, mirror, network: { ...spec.network, nat: "none" } });
    assert.ok(closed.every(({ urls }) => urls.length === 1 && urls[0]?.startsWith("https://mirror.example/files/")));
    assert.ok(curlArguments({ ...spec, mirror }).includes("--ssl-no-revoke"));
    assert.ok(!curlArguments(spec).includes("--ssl-no-revoke"));
  });

  it("use the proxy when there is one", () => {
    const args = curlArguments({ ...exampleSpec("aws-prod"), httpProxy: "http://proxy.example:3128" });
    assert.deepEqual(args.slice(-2), ["--proxy", "http://proxy.example:3128"]);
    assert.ok(args.includes("--ssl-no-revoke"), "Windows asks for revocation lists past the proxy");
  });
});

describe("the settings of Windows", () => {
  it("keep the ports of outgoing connections clear of NodePorts", () => {
    assert.ok(dynamicPorts.start > nodePorts.last);
    assert.equal(dynamicPorts.start + dynamicPorts.count, 65_536);
  });
});

describe("the way of a Windows node to Ready", () => {
  it("begins without what neither the kubelet nor the runtime nor the network needs", () => {
    const later = windowsArtifacts(exampleSpec("aws-prod")).filter(({ stage }) => stage !== "artifacts");
    const names = later.map(({ name, stage }) => `${name} ${stage}`);
    assert.deepEqual(names, ["kubectl.exe programs", "kube-proxy.exe programs"]);
  });
});
