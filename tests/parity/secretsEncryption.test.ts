import assert from "node:assert/strict";
import { roles } from "../../components/azure/roles.ts";
import type { Cloud } from "../../components/config/schema.ts";
import { textOf } from "../../plan/program/values.ts";
import { deployAws } from "../../stacks/aws.ts";
import { deployAzure } from "../../stacks/azure.ts";
import { exampleControlPlane } from "../machine/linux/examples.ts";
import { ofType, specOf, withMocks } from "../support/mocks.ts";

const vaultKey =
  "/subscriptions/00000000-0000-4000-8000-000000000000/resourceGroups/security/providers/Microsoft.KeyVault/vaults/corp-keys/keys/secrets";
const keys = {
  aws: "arn:aws:kms:eu-west-1:123456789012:key/0a1b2c3d-0000-4000-8000-000000000001",
  azure: `${vaultKey}/versions/0123456789abcdef0123456789abcdef`,
};
const commands = {
  aws: `/usr/local/bin/aws-encryption-provider --key=${keys.aws} --region=eu-west-1 --listen=/run/fenestra-kms/kms-1.sock --health-port=127.0.0.1:8083 --health-kms-version=v2`,
  azure:
    "/usr/local/bin/kubernetes-kms --keyvault-name=corp-keys --key-name=secrets --key-version=0123456789abcdef0123456789abcdef --listen-addr=unix:///run/fenestra-kms/kms-1.sock --config-file-path=/etc/fenestra/kms-azure.json --healthz-port=8787 --metrics-addr=8095",
};

const specWith = (cloud: Cloud) =>
  specOf(`${cloud}-dev`, {
    secretsEncryption: JSON.stringify({
      keys: ["kms-1"],
      kms: [{ name: "kms-1", key: keys[cloud] }],
      plugin: { url: "https://files.test/plugin", sha256: "a".repeat(64) },
    }),
  });

describe("a key of KMS alone", () => {
  for (const cloud of ["aws", "azure"] as const) {
    it(`leaves no key of Secrets with the program, the store or the machine on ${cloud}`, async () => {
      const spec = specWith(cloud);
      const recorded = await withMocks(() => (cloud === "aws" ? deployAws : deployAzure)(spec), {
        region: spec.region,
      });
      const { resources } = recorded.program;
      assert.deepEqual(
        resources.filter(({ name }) => name.includes("encryption-key")).map(({ name }) => name),
        [],
      );
      const files = exampleControlPlane(spec).files.map(({ path, content }) => [path, content] as const);
      const text = new Map(files);
      assert.doesNotMatch(text.get("/opt/fenestra/stages/secrets.sh") ?? "", /ENCRYPTION/);
      assert.doesNotMatch(text.get("/etc/fenestra/machine.env") ?? "", /SECRET_ENCRYPTION/);
      assert.equal(text.get("/etc/fenestra/encryption-keys.tsv"), "");
    });

    it(`is used by a program of the stack file's, which the API server reaches, on ${cloud}`, () => {
      const text = new Map(exampleControlPlane(specWith(cloud)).files.map(({ path, content }) => [path, content]));
      const unit = text.get("/etc/systemd/system/fenestra-kms-kms-1.service") ?? "";
      assert.equal(/^ExecStart=(.*)$/m.exec(unit)?.[1], commands[cloud]);
      assert.doesNotMatch(unit, /proxy/, "the cloud is never reached through the proxy");
      const program = cloud === "aws" ? "aws-encryption-provider" : "kubernetes-kms";
      const line = `${program}\thttps://files.test/plugin\tsha256\t${"a".repeat(64)}\t-\tbinary\t/usr/local/bin\t0\t-\n`;
      assert.ok(text.get("/etc/fenestra/artifacts.tsv")?.endsWith(line));
      assert.match(text.get("/etc/fenestra/kubeadm.yaml") ?? "", /hostPath: \/run\/fenestra-kms\n/);
      assert.match(text.get("/etc/fenestra/encryption.yaml") ?? "", /endpoint: unix:\/\/\/run\/fenestra-kms\/kms-1\.sock/);
    });
  }

  it("is all that the control plane may use of AWS KMS beside the cluster's own, by a policy that goes with the key", async () => {
    const policies = async (spec: ReturnType<typeof specOf>) => {
      const recorded = await withMocks(() => deployAws(spec), { mode: "known-outputs", region: spec.region });
      const all = [...ofType(recorded, "aws:iam/policy:Policy")];
      const attached = [...ofType(recorded, "aws:iam/rolePolicyAttachment:RolePolicyAttachment").values()].map(({ inputs }) =>
        textOf(inputs.policyArn),
      );
      assert.ok(all.every(([, { outputs }]) => attached.includes(textOf(outputs.arn))));
      return new Map(all.map(([name, { inputs }]) => [name, textOf(inputs.policy) ?? ""]));
    };
    const without = await policies(specOf("aws-dev"));
    const machine = "aws-dev-control-plane-identity-machine";
    const more = [...(await policies(specWith("aws")))].filter(([name, text]) => name !== machine && without.get(name) !== text);
    assert.deepEqual(
      more.map(([name, text]) => [name, JSON.parse(text).Statement]),
      [
        [
          "aws-dev-control-plane-identity-secrets-kms-1",
          [{ Sid: "EncryptSecrets", Effect: "Allow", Action: ["kms:Decrypt", "kms:Encrypt"], Resource: [keys.aws] }],
        ],
      ],
    );
    assert.doesNotMatch((await policies(specWith("aws"))).get(machine) ?? "", /key\/0a1b2c3d/);
  });

  it("is all that the control plane may use of the user's vault, whatever its versions and their spelling", async () => {
    const second = `${vaultKey.replace("/security", "/Security").replace("/corp", "/Corp")}/versions/${"1".repeat(32)}`;
    const encryption = (...all: readonly string[]) =>
      JSON.stringify({
        keys: all.map((_, index) => `kms-${index}`),
        kms: all.map((key, index) => ({ name: `kms-${index}`, key })),
        plugin: { url: "https://files.test/plugin", sha256: "a".repeat(64) },
      });
    for (const versions of [[keys.azure], [keys.azure, second], [second]]) {
      const spec = specOf("azure-dev", { secretsEncryption: encryption(...versions) });
      const recorded = await withMocks(() => deployAzure(spec), { mode: "known-outputs", region: spec.region });
      const type = "azure-native:authorization:RoleAssignment";
      const all = [...ofType(recorded, type)].filter(([, { inputs }]) => textOf(inputs.scope)?.includes("corp-keys"));
      assert.deepEqual(
        all.map(([name, { inputs }]) => [name, inputs.scope, textOf(inputs.roleDefinitionId)?.split("/").at(-1)]),
        [["azure-dev-control-plane-identity-secrets-corp-keys.secrets", vaultKey.toLowerCase(), roles.keyVaultCryptoUser]],
      );
    }
  });
});
