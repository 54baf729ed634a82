import assert from "node:assert/strict";
import { workerPolicy } from "../../components/aws/policies.ts";
import type { PolicyScope } from "../../components/aws/policyDocument.ts";
import { allows } from "../../plan/fakes/iam.ts";
import { mapOf, textOf } from "../../plan/program/values.ts";
import { gmsa, gmsaSecrets } from "../kubernetes/switches.ts";
import { resource, runSpec, specOf } from "../support/mocks.ts";

const scope: PolicyScope = {
  cluster: "demo",
  region: "eu-central-1",
  accountId: "123456789012",
  keyArn: "arn:aws:kms:eu-central-1:123456789012:key/k1",
};
const other = "arn:aws:secretsmanager:eu-central-1:123456789012:secret:gmsa-other-AbCdEf";
const key = "arn:aws:kms:eu-central-1:123456789012:key/own";
const read = (resource: string) => ({ action: "secretsmanager:GetSecretValue", resource });
const decrypt = (secret: string, via = "secretsmanager.eu-central-1.amazonaws.com") => ({
  action: "kms:Decrypt",
  resource: key,
  context: { "kms:ViaService": via, "kms:EncryptionContext:SecretARN": secret },
});

describe("secrets of gMSA accounts on AWS", () => {
  const scripts = "arn:aws:s3:::demo-scripts/windows/*";
  const plain = workerPolicy(scope, ["/join"], "demo-win", scripts);
  const one = workerPolicy(scope, ["/join"], "demo-win", scripts, { secrets: [gmsaSecrets.aws], keys: [] });
  const keyed = workerPolicy(scope, ["/join"], "demo-win", scripts, { secrets: [gmsaSecrets.aws], keys: [key] });

  it("are read by pools with the plug-in, each by its ARN and no other", () => {
    assert.ok(allows([one], read(gmsaSecrets.aws)));
    assert.ok(!allows([one], read(other)));
    assert.ok(!allows([one], { action: "secretsmanager:PutSecretValue", resource: gmsaSecrets.aws }));
    assert.ok(!allows([one], decrypt(gmsaSecrets.aws)));
    assert.ok(!allows([plain], read(gmsaSecrets.aws)));
  });

  it("are decrypted with a key of one's own for these secrets only, by way of Secrets Manager only", () => {
    assert.ok(allows([keyed], decrypt(gmsaSecrets.aws)));
    assert.ok(!allows([keyed], decrypt(other)));
    assert.ok(!allows([keyed], decrypt(gmsaSecrets.aws, "ssm.eu-central-1.amazonaws.com")));
  });

  it("stand in the policy of the pool that asks for the plug-in, and in no other", async () => {
    const stack = specOf("aws-dev");
    const [windows] = stack.pools.filter((pool) => pool.os === "windows");
    assert.ok(windows !== undefined);
    const pools = stack.pools.map((pool) => ({ ...pool, ccgPlugin: pool === windows }));
    const network = { ...stack.network, nat: "none" as const };
    const spec = { ...stack, network, pools, addons: { ...stack.addons, gmsa: gmsa("aws") } };
    const recorded = await runSpec(spec);
    for (const { name, ccgPlugin } of pools) {
      const { inputs } = resource(recorded, "aws:iam/policy:Policy", `aws-dev-pool-${name}-identity-worker`);
      assert.equal(textOf(inputs.policy)?.includes(gmsaSecrets.aws), ccgPlugin, name);
    }
    const way = resource(recorded, "aws:ec2/vpcEndpoint:VpcEndpoint", "aws-dev-network-secretsmanager");
    assert.equal(way.inputs.serviceName, "com.amazonaws.eu-central-1.secretsmanager");
    const account = resource(recorded, "kubernetes:windows.k8s.io/v1:GMSACredentialSpec", "aws-dev-in-gmsa-web");
    const host = mapOf(mapOf(mapOf(account.inputs.credspec).ActiveDirectoryConfig).HostAccountConfig);
    assert.equal(host.PluginInput, `{"credentialArn":"${gmsaSecrets.aws}"}`);
  });
});
