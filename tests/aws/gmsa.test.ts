import assert from "node:assert/strict";
import { mapOf, textOf } from "../../plan/program/values.ts";
import { gmsa, gmsaSecrets } from "../kubernetes/switches.ts";
import { resource, runSpec, specOf } from "../support/mocks.ts";

describe("secrets of gMSA accounts on AWS", () => {
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
