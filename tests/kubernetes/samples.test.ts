import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { podSpec } from "../../components/kubernetes/manifest.ts";
import { reservations } from "../../components/model/allocatable.ts";
import { cloudFacts } from "../../components/model/cloudFacts/cloudFacts.ts";
import { awsEnvironment, azureEnvironment } from "../../components/model/cloudFacts/identities.ts";
import { machineSize } from "../../components/model/pools.ts";
import { exampleSpec } from "../support/stacks.ts";
import { suiteFolder } from "../support/suite.ts";
import { combinations, gmsa, leastRoom, manifest, manifestsOf, planOf, withPools } from "./switches.ts";

const aws = exampleSpec("aws-dev");

const awsCalls = [
  "https://sts.eu-central-1.amazonaws.com/",
  "RoleArn=arn:aws:iam::123456789012:role/r",
  "WebIdentityToken@/token",
  "aws:amz:eu-central-1:s3",
  "AK:SK",
  "x-amz-security-token: ST==",
];
const azureCalls = [
  "https://login.microsoftonline.com/tenant/oauth2/v2.0/token",
  "client_id=client",
  "client_assertion@/token",
  "Authorization: Bearer AT",
];

describe("samples", () => {
  const own = suiteFolder();

  for (const stack of ["aws-dev", "azure-dev"] as const)
    it(`read an object of the cloud by the identity of their service account: ${stack}`, () => {
      const spec = {
        ...exampleSpec(stack),
        workloadIdentity: { serviceAccounts: [], issuer: undefined, sample: true },
      };
      const all = manifestsOf(spec);
      const scripts = manifest(all, "ConfigMap", "read-object").data ?? {};
      for (const name of ["linux", "2019", "2022"])
        assert.equal(podSpec(manifest(all, "Job", `read-object-${name}`))?.serviceAccountName, "object-reader");

      const folder = mkdtempSync(path.join(own, stack));
      const file = (name: string, text: string) => writeFileSync(path.join(folder, name), text, { mode: 0o755 });
      // Answers the exchange of a token as the cloud does, and notes its arguments by line.
      file(
        "curl",
        `#!/bin/sh\nprintf '%s\\n' "$@" >>${folder}/calls\ncase "$*" in *hello.txt*) echo hello ;; *) cat ${folder}/answer ;; esac\n`,
      );
      file(
        "answer",
        spec.cloud === "aws"
          ? "<Credentials>\n  <AccessKeyId>AK</AccessKeyId><SecretAccessKey>SK</SecretAccessKey>\n  <SessionToken>ST==</SessionToken></Credentials>"
          : '{"token_type":"Bearer","expires_in":3599,"access_token":"AT"}',
      );
      file("read.sh", String(scripts["read.sh"]));
      const env = {
        PATH: `${folder}:/usr/bin:/bin`,
        OBJECT_URL: "https://objects.test/hello.txt",
        ...awsEnvironment("eu-central-1", "arn:aws:iam::123456789012:role/r"),
        ...azureEnvironment("tenant", "client"),
        AWS_WEB_IDENTITY_TOKEN_FILE: "/token",
        AZURE_FEDERATED_TOKEN_FILE: "/token",
      };
      const run = (given: object) =>
        spawnSync("sh", [path.join(folder, "read.sh")], { env: { ...given }, encoding: "utf8" });
      assert.equal(run(env).stdout, "hello\n");
      const calls = readFileSync(path.join(folder, "calls"), "utf8").split("\n");
      for (const part of { aws: awsCalls, azure: azureCalls }[spec.cloud]) assert.ok(calls.includes(part), part);
      assert.match(run({ PATH: env.PATH }).stderr, /this pod has no identity/);
    });

  it("bring LogMonitor into IIS only with the digest that was recorded, or that its publisher tells", () => {
    const setup = manifest(manifestsOf(aws), "ConfigMap", "log-monitor").data ?? {};
    assert.deepEqual(
      JSON.parse(String(setup["LogMonitorConfig.json"])).LogConfig.sources.map(({ type }: { type: string }) => type),
      ["EventLog", "File", "ETW"],
    );
    const address = "https://github.com/microsoft/windows-container-tools/releases/download/v2.1.3/LogMonitor.exe";
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
    assert.deepEqual(
      [open.URLS, open.SHA256, open.RELEASES],
      [address, "", "https://api.github.com/repos/microsoft/windows-container-tools/releases/tags/v2.1.3"],
    );
    const { URLS, SHA256, RELEASES } = environment({ ...aws, artifacts, mirror });
    const mirrored = address.replace("https://", "https://mirror.test/");
    assert.deepEqual([URLS, SHA256, RELEASES], [`${mirrored} ${address}`, digest, ""]);
  });

  it("leave the number of pods to the autoscaler where one scales them, and run two of the first web server without one", () => {
    for (const { title, spec } of combinations) {
      const all = manifestsOf(spec);
      const scaled = new Set(
        all.flatMap((each) => (each.kind === "HorizontalPodAutoscaler" ? [each.spec?.scaleTargetRef.name] : [])),
      );
      for (const each of all) {
        if (each.kind !== "Deployment" || each.metadata.namespace !== "fenestra-samples") continue;
        const expected = scaled.has(each.metadata.name)
          ? undefined
          : each.metadata.name.startsWith("win-webserver")
            ? 2
            : 1;
        assert.equal(each.spec?.replicas, expected, `${title}: ${each.metadata.name}`);
      }
    }
  });

  it("leave a published pod its place on one machine of the default size per build, beside the agents of every node", () => {
    for (const { title, spec } of combinations)
      for (const pool of spec.pools.filter(({ os }) => os === "windows")) {
        const size = machineSize(spec.cloud, cloudFacts[spec.cloud].sizes.default) ?? assert.fail();
        const { cpu, memory } = leastRoom(spec, { ...pool, size, reservations: reservations(pool.release, size) });
        // 1 CPU and 800M of Microsoft's quickstart for AKS.
        assert.ok(cpu >= 1000 && memory >= 763, `${title}, ${pool.name}: ${cpu}m, ${memory} MiB`);
      }
  });

  it("act as an account of a domain only on nodes that can fetch it", () => {
    const year = (spec: typeof aws) =>
      manifestsOf(spec).flatMap(({ kind, metadata: { name } }) =>
        kind === "Deployment" && name.startsWith("gmsa-2") ? [name] : [],
      );
    const { credentialSpecs } = gmsa("aws");
    const with2022 = aws.pools.map((pool) => ({ ...pool, ccgPlugin: pool.release.name === "windows-2022" }));
    const plugin = { ...withPools(aws, with2022), addons: { ...aws.addons, gmsa: { credentialSpecs } } };
    assert.deepEqual(year(plugin), ["gmsa-2022"]);
    const pod = podSpec(manifest(manifestsOf(plugin), "Deployment", "gmsa-2022"));
    assert.deepEqual(pod?.nodeSelector, { "fenestra.dev/ccg-plugin": "true" });
    assert.deepEqual(pod?.securityContext, { windowsOptions: { gmsaCredentialSpecName: "web" } });
    const joined = { ...aws, addons: { ...aws.addons, gmsa: { credentialSpecs: credentialSpecs.slice(1) } } };
    assert.deepEqual(year(joined), ["gmsa-2019", "gmsa-2022"]);
    assert.equal(podSpec(manifest(manifestsOf(joined), "Deployment", "gmsa-2022"))?.nodeSelector, undefined);
  });

  it("are left out in production", () =>
    assert.ok(!planOf(exampleSpec("aws-prod")).some(({ name }) => name === "samples")));
});
