import assert from "node:assert/strict";
import { targetGroupName } from "../../components/aws/loadBalancer.ts";
import { apiHostTag } from "../../components/aws/pool.ts";
import { listOf, mapOf, textOf } from "../../components/gates/resources.ts";
import { machineFingerprint } from "../../components/machine/linux/controlPlane.ts";
import { exampleControlPlane } from "../machine/examples.ts";
import { ofType, resource, runStack, specOf } from "../support/mocks.ts";

const prod = await runStack("aws-prod");

/** What the provider would replace, and what must not come of it. */
describe("replacements on AWS", () => {
  it("change the hooks of a pool beside its group, which would be deleted first for them", () => {
    for (const group of ofType(prod, "aws:autoscaling/group:Group").values()) {
      assert.ok(group.options.ignoreChanges.includes("initialLifecycleHooks"), group.name);
      const hooks = [...ofType(prod, "aws:autoscaling/lifecycleHook:LifecycleHook").values()].filter(
        ({ inputs }) => inputs.autoscalingGroupName === group.outputs.name,
      );
      const known = hooks.map(({ inputs: { autoscalingGroupName: _, ...hook } }) => hook);
      assert.deepEqual(known, group.inputs.initialLifecycleHooks);
      // Deleted first, they would leave its last machines no time to drain.
      for (const { options } of hooks) assert.equal(options.deletedWith, group.urn);
    }
  });

  it("make a new target group beside the old one, which its listener holds", () => {
    const groups = [...ofType(prod, "aws:lb/targetGroup:TargetGroup").values()];
    assert.ok(groups.length > 0);
    for (const { inputs, options } of groups) {
      assert.equal(options.deleteBeforeReplace, false);
      assert.match(textOf(inputs.name) ?? "", /^aws-prod-internal-[0-9a-f]{2}$/);
    }
    const longest = `${"c".repeat(20)}-internal`;
    assert.ok(targetGroupName(longest).length <= 32);
    assert.notEqual(targetGroupName(longest), targetGroupName(longest, { targetType: "instance" }));
  });

  it("replace a control-plane machine whose instance profile is another one", () => {
    const spec = specOf("aws-prod");
    const of = (profile: string): string =>
      machineFingerprint(spec, { etcdName: "cp-0" }, exampleControlPlane(spec), profile);
    assert.notEqual(of("a"), of("b"));
  });

  it("roll workers when the API has another name", () => {
    const host = resource(prod, "aws:lb/loadBalancer:LoadBalancer", "aws-prod-api-internal").outputs.dnsName;
    assert.equal(typeof host, "string");
    const template = resource(prod, "aws:ec2/launchTemplate:LaunchTemplate", "aws-prod-pool-win2019-template");
    const tags = listOf(template.inputs.tagSpecifications)
      .map(mapOf)
      .filter(({ resourceType }) => resourceType === "instance")
      .map((specification) => mapOf(specification.tags)[apiHostTag]);
    assert.deepEqual(tags, [host]);
  });
});
