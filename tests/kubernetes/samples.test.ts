import assert from "node:assert/strict";
import { podSpec } from "../../components/kubernetes/manifest.ts";
import { syntaxErrors } from "../support/powershell.ts";
import { exampleSpec } from "../support/stacks.ts";
import { gmsa, manifest, manifestsOf, planOf } from "./switches.ts";

const aws = exampleSpec("aws-dev");

describe("samples", () => {
  it("bring a web server whose script parses, with every build's own image", async () => {
    const all = manifestsOf(aws);
    const script = manifest(all, "ConfigMap", "win-webserver").data?.["server.ps1"];
    assert.deepEqual(await syntaxErrors(String(script)), []);
    for (const year of ["2019", "2022"]) {
      const pod = podSpec(manifest(all, "Deployment", `win-webserver-${year}`));
      assert.equal(pod?.runtimeClassName, `windows-${year}`);
      assert.match(
        String(pod?.containers[0]?.image),
        new RegExp(
          `^mcr\\.microsoft\\.com/windows/servercore:ltsc${year}${year === "2022" ? "@sha256:[0-9a-f]{64}" : ""}$`,
        ),
      );
      assert.equal(manifest(all, "Service", `win-webserver-${year}`).spec?.type, "NodePort");
      assert.equal(manifest(all, "Service", `win-webserver-${year}-lb`).spec?.type, "LoadBalancer");
      const iis = podSpec(manifest(all, "Deployment", `iis-${year}`));
      assert.equal(iis?.containers[0]?.image, `mcr.microsoft.com/windows/servercore/iis:windowsservercore-ltsc${year}`);
      assert.equal(manifest(all, "Service", `iis-${year}-lb`).spec?.type, "LoadBalancer");
    }
  });

  it("bring LogMonitor into IIS only with the digest that was recorded, or that its publisher tells", async () => {
    const all = manifestsOf(aws);
    const setup = manifest(all, "ConfigMap", "log-monitor").data ?? {};
    assert.deepEqual(await syntaxErrors(String(setup["fetch.ps1"])), []);
    const { LogConfig: read } = JSON.parse(String(setup["LogMonitorConfig.json"]));
    assert.deepEqual(
      read.sources.map(({ type }: { type: string }) => type),
      ["EventLog", "File", "ETW"],
    );
    const address = "https://github.com/microsoft/windows-container-tools/releases/download/v2.1.3/LogMonitor.exe";
    const release = "https://api.github.com/repos/microsoft/windows-container-tools/releases/tags/v2.1.3";
    const environment = (spec: typeof aws): Readonly<Record<string, string>> => {
      const pod = podSpec(manifest(manifestsOf(spec), "Deployment", "log-monitor-2022"));
      return Object.fromEntries(
        pod?.initContainers?.[0]?.env?.map(({ name, value }) => [String(name), String(value)]) ?? [],
      );
    };
    const digest = "a".repeat(64);
    const artifacts = aws.artifacts.map((each) => (each.name === "LogMonitor.exe" ? { ...each, digest } : each));
    const mirror = { ...aws.mirror, artifacts: "https://mirror.test" };
    const open = environment(aws);
    assert.deepEqual([open.URLS, open.SHA256, open.RELEASES], [address, "", release]);
    const { URLS, SHA256, RELEASES } = environment({ ...aws, artifacts, mirror });
    const mirrored = address.replace("https://", "https://mirror.test/");
    assert.deepEqual([URLS, SHA256, RELEASES], [`${mirrored} ${address}`, digest, ""]);
  });

  it("start IIS below LogMonitor, from the folder that the init container has filled", () => {
    const pod = podSpec(manifest(manifestsOf(aws), "Deployment", "log-monitor-2022"));
    assert.equal(pod?.runtimeClassName, "windows-2022");
    const [fetch] = pod?.initContainers ?? [];
    const [iis] = pod?.containers ?? [];
    assert.equal(fetch?.image, iis?.image);
    assert.match(String(iis?.image), /\/servercore\/iis:windowsservercore-ltsc2022/);
    assert.deepEqual(iis?.command?.slice(0, 3), [
      "C:\\tools\\LogMonitor.exe",
      "/CONFIG",
      "C:\\setup\\LogMonitorConfig.json",
    ]);
    assert.match(String(iis?.command?.at(-1)), /C:\\ServiceMonitor\.exe w3svc$/);
    const mounts = [...(fetch?.volumeMounts ?? []), ...(iis?.volumeMounts ?? [])];
    // A single file cannot be mounted on Windows.
    assert.ok(mounts.every(({ subPath }) => subPath === undefined));
    assert.deepEqual(
      mounts.filter(({ name }) => name === "tools").map(({ mountPath }) => mountPath),
      ["C:\\tools", "C:\\tools"],
    );
  });

  it("act as an account of a domain only on nodes that can fetch it", () => {
    const year = (spec: typeof aws): readonly string[] =>
      manifestsOf(spec).flatMap(({ kind, metadata: { name } }) =>
        kind === "Deployment" && name.startsWith("gmsa-2") ? [name] : [],
      );
    const { credentialSpecs } = gmsa("aws");
    const with2022 = aws.pools.map((pool) => ({ ...pool, ccgPlugin: pool.os.name === "windows-2022" }));
    const plugin = { ...aws, pools: with2022, addons: { ...aws.addons, gmsa: { credentialSpecs } } };
    assert.deepEqual(year(plugin), ["gmsa-2022"]);
    const pod = podSpec(manifest(manifestsOf(plugin), "Deployment", "gmsa-2022"));
    assert.deepEqual(pod?.nodeSelector, { "fenestra.dev/ccg-plugin": "true" });
    assert.deepEqual(pod?.securityContext, { windowsOptions: { gmsaCredentialSpecName: "web" } });
    const joined = { ...aws, addons: { ...aws.addons, gmsa: { credentialSpecs: credentialSpecs.slice(1) } } };
    assert.deepEqual(year(joined), ["gmsa-2019", "gmsa-2022"]);
    assert.equal(podSpec(manifest(manifestsOf(joined), "Deployment", "gmsa-2022"))?.nodeSelector, undefined);
  });

  it("are left out in production", () => {
    assert.ok(!planOf(exampleSpec("aws-prod")).some(({ name }) => name === "samples"));
  });
});
