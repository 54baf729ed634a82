import assert from "node:assert/strict";
import { parse } from "yaml";
import { workerPolicy } from "../../components/aws/policies.ts";
import type { MachinePayload } from "../../components/machine/payload.ts";
import { allows } from "../../plan/fakes/iam.ts";
import { ofType, runSpec } from "../support/mocks.ts";
import { fileOf } from "./examples.ts";
import { paths, payloadOf, registry, repository, specs } from "./registryAccess.ts";

/** The kubelet's flags for images. */
function flagsOf(payload: MachinePayload): readonly string[] {
  const args: readonly string[] =
    payload.kind === "windows"
      ? JSON.parse(fileOf(payload, "C:\\fenestra\\machine.json")).kubelet.arguments
      : fileOf(payload, "/etc/fenestra/kubelet.env").split(/[\s"]+/);
  return args.filter((flag) => flag.startsWith("--image-credential"));
}

/** The plug-in as a machine downloads it: name, URL, digest, folder. */
function downloadOf(payload: MachinePayload): readonly unknown[] {
  if (payload.kind === "windows") {
    const { artifacts } = JSON.parse(fileOf(payload, "C:\\fenestra\\machine.json"));
    return artifacts
      .filter(({ name }: { name: string }) => name.includes("credential-provider"))
      .map((one: Record<string, unknown>) => [one.name, one.urls, one.digest, one.folder, one.stage, one.unpack]);
  }
  const rows = fileOf(payload, "/etc/fenestra/artifacts.tsv").split("\n");
  return rows.filter((row) => row.includes("credential-provider")).map((row) => row.split("\t"));
}

describe("pulls from the cloud's own registries", () => {
  it("bring the plug-in by its digest to the folder where the kubelet looks, before it starts", () => {
    const base = "https://artifacts.k8s.io/binaries/cloud-provider-aws/v1.37.0";
    const acr = "https://packages.aks.azure.com/cloud-provider-azure/v1.33.3/binaries";
    const digests = {
      linux: "842e0fd8159f5ed8df2f38e6521e1e4f0a1ee80cf1e1ac119bbf20bf9c20681c",
      windows: "8a659cef454cdf9a4b47c0fd6163f635c92de6a5bc1b65b0cf9abd158fad9427",
    };
    const linux = `${base}/linux/amd64/ecr-credential-provider-linux-amd64`;
    assert.deepEqual(downloadOf(payloadOf("aws", "linux")), [
      ["ecr-credential-provider", linux, "sha256", digests.linux, "-", "binary", paths.linux.bin, "0", "-"],
    ]);
    const windows = `${base}/windows/amd64/ecr-credential-provider-windows-amd64`;
    assert.deepEqual(downloadOf(payloadOf("aws", "windows")), [
      ["ecr-credential-provider.exe", [windows], digests.windows, paths.windows.bin, "artifacts", false],
    ]);
    assert.deepEqual(downloadOf(payloadOf("azure", "windows")), [
      [
        "azure-acr-credential-provider.exe",
        [`${acr}/azure-acr-credential-provider-windows-amd64-v1.33.3.tar.gz`],
        "6b1086debe65343262bfb86becd2d2fc46320cf38e9aee5aa93e409db10e0fac",
        paths.windows.bin,
        "artifacts",
        true,
      ],
    ]);
  });

  it("name hosts, plug-in and identity, and nothing secret", () => {
    for (const os of ["linux", "windows"] as const) {
      const aws = payloadOf("aws", os);
      assert.deepEqual(flagsOf(aws), [
        `--image-credential-provider-config=${paths[os].config}`,
        `--image-credential-provider-bin-dir=${paths[os].bin}`,
      ]);
      assert.deepEqual(parse(fileOf(aws, paths[os].config)).providers, [
        {
          name: "ecr-credential-provider",
          matchImages: ["123456789012.dkr.ecr.eu-central-1.amazonaws.com", "123456789012.dkr-ecr.eu-central-1.on.aws"],
          defaultCacheDuration: "0s",
          apiVersion: "credentialprovider.kubelet.k8s.io/v1",
        },
      ]);
      const azure = payloadOf("azure", os);
      const [provider] = parse(fileOf(azure, paths[os].config)).providers;
      const program = [provider.name, provider.args];
      assert.deepEqual(program, [
        os === "linux" ? "acr-credential-provider" : "azure-acr-credential-provider",
        [paths[os].cloud],
      ]);
      assert.deepEqual(provider.matchImages, ["*.azurecr.io", "*.*.geo.azurecr.io"]);
      assert.deepEqual(JSON.parse(fileOf(azure, paths[os].cloud)), {
        cloud: "AzurePublicCloud",
        tenantId: "tenant",
        useManagedIdentityExtension: true,
        userAssignedIdentityID: "11111111-2222-3333-4444-555555555555",
      });
    }
  });

  it("go through the proxy where there is one, the metadata service excepted", () => {
    const proxied = { ...specs.aws, httpProxy: "http://proxy.example.com:3128" };
    const config = parse(fileOf(payloadOf("aws", "linux", proxied), paths.linux.config));
    const env = Object.fromEntries(
      config.providers[0].env.map(({ name, value }: { name: string; value: string }) => [name, value]),
    );
    assert.equal(env.HTTPS_PROXY, "http://proxy.example.com:3128");
    assert.ok(env.NO_PROXY?.split(",").includes("169.254.169.254"));
  });

  it("have rights to these repositories only, to read", () => {
    const scope = { cluster: "demo", region: "eu-central-1", accountId: "123456789012", keyArn: "k" };
    const worker = workerPolicy(scope, ["/join"], "group", "scripts", undefined, [repository]);
    const may = (action: string, resource: string) => allows([worker], { action, resource });
    const image = "arn:aws:ecr:eu-central-1:123456789012:repository/team/app";
    for (const action of ["ecr:BatchGetImage", "ecr:GetDownloadUrlForLayer", "ecr:BatchCheckLayerAvailability"]) {
      assert.ok(may(action, image), action);
      assert.ok(!may(action, image.replace("team", "other")), action);
    }
    assert.ok(may("ecr:GetAuthorizationToken", "*"));
    for (const action of ["ecr:PutImage", "ecr:BatchDeleteImage", "ecr:ListImages"]) assert.ok(!may(action, image));
    const none = workerPolicy(scope, ["/join"], "group", "scripts");
    assert.ok(!none.Statement.some(({ Action }) => Action.some((action) => action.startsWith("ecr:"))));
  });

  it("have the role to pull on Azure, for each pool's identity and no other", async () => {
    const recorded = await runSpec(specs.azure);
    const pulls = [...ofType(recorded, "azure-native:authorization:RoleAssignment").values()].filter(({ inputs }) =>
      JSON.stringify(inputs.roleDefinitionId).includes("7f951dda-4ed3-4680-a7ca-43fe172d538d"),
    );
    const roles = pulls.map(({ name }) => name).toSorted();
    assert.deepEqual(roles, specs.azure.pools.map(({ name }) => `azure-prod-pool-${name}-identity-pull-0`).toSorted());
    for (const { inputs } of pulls) assert.equal(inputs.scope, registry);
  });
});
