import assert from "node:assert/strict";
import * as pulumi from "@pulumi/pulumi";
import * as runtime from "@pulumi/pulumi/runtime/index.js";
import { targetGroupName } from "../../components/aws/loadBalancer.ts";
import { interfaceEndpoints, Network } from "../../components/aws/network.ts";
import { ebsDriverPolicy } from "../../components/aws/policies.ts";
import type { PolicyScope } from "../../components/aws/policyDocument.ts";
import { apiHostTag } from "../../components/aws/pool.ts";
import { rollingRange } from "../../components/aws/poolGroup.ts";
import { securityRules } from "../../components/aws/security.ts";
import { listOf, mapOf, textOf } from "../../components/gates/values.ts";
import { machineFingerprint } from "../../components/machine/linux/controlPlane.ts";
import type { PoolSpec } from "../../components/model/pools.ts";
import { ConfigError } from "../../components/model/problem.ts";
import fenestra from "../../index.ts";
import { allows } from "../../plan/fakes/awsAccess.ts";
import { nameOfUrn, type RecordedResource } from "../../plan/program/recorded.ts";
import { readBack } from "../../plan/providers/nextUpdate.ts";
import { readDocument } from "../docs/documents.ts";
import { exampleControlPlane } from "../machine/examples.ts";
import { ofType, poolOf, resource, runStack, specOf, withMocks } from "../support/mocks.ts";
import { stackConfig } from "../support/stacks.ts";

const mirror = JSON.stringify({
  artifacts: "https://mirror.example",
  registries: { "registry.k8s.io": "https://mirror.example" },
});

function make(nat: string, changes: Readonly<Record<string, string>> = {}) {
  const zones = ["eu-central-1a", "eu-central-1b", "eu-central-1c"];
  const spec = specOf("aws-dev", { network: { zones, nat }, mirror, ...changes });
  return withMocks(() => {
    const network = new Network("n", { spec });
    return { account: network.accountId, egress: network.egress.map(({ urn }) => urn) };
  });
}

describe("the network on AWS", () => {
  for (const [nat, gateways, routes] of [
    ["none", [], {}],
    ["single", ["n-nat-a"], { a: "n-nat-a", b: "n-nat-a", c: "n-nat-a" }],
    ["perZone", ["n-nat-a", "n-nat-b", "n-nat-c"], { a: "n-nat-a", b: "n-nat-b", c: "n-nat-c" }],
  ] as const)
    it(`with NAT ${nat} leads out by ${gateways.length} gateways`, async () => {
      const recorded = await make(nat);
      const nats = ofType(recorded, "aws:ec2/natGateway:NatGateway");
      assert.deepEqual([...nats.keys()], gateways);
      const idToName = new Map([...nats].map(([name, { id }]) => [id, name]));
      assert.deepEqual(
        Object.fromEntries(
          [...ofType(recorded, "aws:ec2/route:Route")]
            .filter(([name]) => name.startsWith("n-private-"))
            .map(([name, { inputs }]) => [name.slice(-1), idToName.get(textOf(inputs.natGatewayId))]),
        ),
        routes,
      );
    });

  it("has endpoints of registries where those are named, and no proxy is the way there", async () => {
    const registryAccess = JSON.stringify({ resources: ["arn:aws:ecr:eu-central-1:123456789012:repository/a"] });
    const more = async (changes: Record<string, string>) =>
      [...ofType(await make("none", changes), "aws:ec2/vpcEndpoint:VpcEndpoint").keys()].slice(
        1 + interfaceEndpoints.length,
      );
    assert.deepEqual(await more({ registryAccess }), ["n-ecr.api", "n-ecr.dkr"]);
    assert.deepEqual(await more({ registryAccess, httpProxy: "http://proxy.test:3128" }), []);
  });

  it("hands on every route and association, so that a machine never boots into a subnet without a way out", async () => {
    const recorded = await make("single");
    const egress = JSON.stringify(recorded.program.outputs.egress);
    for (const type of ["aws:ec2/routeTableAssociation:RouteTableAssociation", "aws:ec2/vpcEndpoint:VpcEndpoint"])
      for (const { urn } of ofType(recorded, type).values()) assert.ok(egress.includes(urn), nameOfUrn(urn));
    for (const zone of ["a", "b", "c"]) {
      const route = resource(recorded, "aws:ec2/route:Route", `n-private-${zone}`);
      assert.ok(egress.includes(route.urn), route.name);
    }
  });

  it("leaves room for as many load balancers of Services as docs/limits.md says", () => {
    const rules = securityRules(specOf("aws-dev"));
    const own = rules.filter(({ group, direction }) => group === "workers" && direction === "ingress");
    // Inbound rules of a security group (Amazon VPC User Guide, "Amazon VPC quotas").
    const room = `which has room for ${60 - own.length} of them`;
    assert.ok(readDocument("docs/limits.md").text.includes(room));
  });
});

const spotPools = await runStack("aws-dev", { pools: [{ name: "cheap", os: "linux", spot: true }] });

describe("pools on AWS", () => {
  it("grow and shrink while they are replaced as the stack file says, in whole percents, by a tenth and at least one without it", () => {
    const of = (count: number, update?: PoolSpec["update"]) => {
      const { minHealthyPercentage, maxHealthyPercentage } = rollingRange({
        ...poolOf("aws-dev", "linux"),
        count,
        update,
      });
      return [minHealthyPercentage, maxHealthyPercentage];
    };
    for (const [count, update, range] of [
      [0, undefined, [100, 200]],
      [3, undefined, [100, 134]],
      [200, undefined, [100, 110]],
      [200, { maxSurge: 1, maxUnavailable: 0 }, [100, 101]],
      [4, { maxSurge: "50%", maxUnavailable: 1 }, [75, 150]],
      [3, { maxSurge: 0, maxUnavailable: 1 }, [66, 100]],
      [4, { maxSurge: 9, maxUnavailable: "0%" }, [100, 200]],
    ] as const)
      assert.deepEqual(of(count, update), range, JSON.stringify([count, update]));
  });

  it("are of spot machines by the template, and move off them before they end", () => {
    const own = (type: string, part: string) => resource(spotPools, type, `aws-dev-pool-cheap-${part}`).inputs;
    assert.deepEqual(own("aws:ec2/launchTemplate:LaunchTemplate", "template").instanceMarketOptions, {
      marketType: "spot",
    });
    const { mixedInstancesPolicy, capacityRebalance } = own("aws:autoscaling/group:Group", "group");
    assert.deepEqual([mixedInstancesPolicy, capacityRebalance], [undefined, true]);
  });
});

const prod = await runStack("aws-prod");

/** What the provider would replace, and what must not come of it. */
describe("replacements on AWS", () => {
  it("change the hooks of a pool beside its group, which would be deleted first for them", () => {
    for (const group of ofType(prod, "aws:autoscaling/group:Group").values()) {
      assert.ok(group.options.ignoreChanges.includes("initialLifecycleHooks"), group.name);
      const hooks = [...ofType(prod, "aws:autoscaling/lifecycleHook:LifecycleHook").values()].filter(
        ({ inputs }) => inputs.autoscalingGroupName === group.outputs.name,
      );
      assert.deepEqual(
        hooks.map(({ inputs: { autoscalingGroupName: _, ...hook } }) => hook),
        group.inputs.initialLifecycleHooks,
      );
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
    const of = (profile: string) => machineFingerprint(spec, { etcdName: "cp-0" }, exampleControlPlane(spec), profile);
    assert.notEqual(of("a"), of("b"));
  });

  it("roll workers when the API has another name", () => {
    const host = resource(prod, "aws:lb/loadBalancer:LoadBalancer", "aws-prod-api-internal").outputs.dnsName;
    assert.equal(typeof host, "string");
    const template = resource(prod, "aws:ec2/launchTemplate:LaunchTemplate", "aws-prod-pool-win2019-template");
    assert.deepEqual(
      listOf(template.inputs.tagSpecifications)
        .map(mapOf)
        .filter(({ resourceType }) => resourceType === "instance")
        .map((specification) => mapOf(specification.tags)[apiHostTag]),
      [host],
    );
  });
});

/** Whether a resource's second update would remove what the provider has read back. */
function removedNextTime({ type, inputs, options }: RecordedResource) {
  const field = readBack[type]?.field;
  return field !== undefined && inputs[field] === undefined && !options.ignoreChanges.includes(field);
}

const runs = await Promise.all(["aws-dev", "aws-prod", "aws-restricted"].map((stack) => runStack(stack)));
const resources = runs.flatMap(({ program }) => program.resources).filter(({ type }) => type.startsWith("aws:"));

describe("what AWS reads back", () => {
  it("is set or ignored, so that a second update changes nothing", () => {
    assert.deepEqual(
      resources.filter(removedNextTime).map(({ name }) => name),
      [],
    );
  });

  it("would be found where it is neither", () => {
    assert.deepEqual(
      [
        ...new Set(
          resources
            .map((each) => ({ ...each, options: { ...each.options, ignoreChanges: [] } }))
            .filter(removedNextTime)
            .map(({ type }) => type),
        ),
      ].sort(),
      Object.keys(readBack).sort(),
    );
  });
});

describe("the entry of the program", () => {
  it("shows a mistake in the stack file without the trace of the program, and keeps it as the cause", async () => {
    runtime.setAllConfig({ ...stackConfig("aws-dev"), "fenestra:region": "nowhere" });
    await assert.rejects(fenestra(), (error: unknown) => {
      assert.ok(pulumi.RunError.isInstance(error));
      assert.match(error.message, /^config\.fenestra:region: .*\n {4}found: {3}"nowhere"$/m);
      assert.ok(error.cause instanceof ConfigError);
      return true;
    });
  });
});

const scope: PolicyScope = {
  cluster: "c".repeat(20),
  region: "ap-southeast-2",
  accountId: "123456789012",
  keyArn: `arn:aws:kms:ap-southeast-2:123456789012:key/${"0".repeat(42)}`,
};

describe("a policy", () => {
  it("lets the EBS driver attach a volume that somebody brings once it has the tags of the documented command", () => {
    const { text } = readDocument("docs/operations/debugging.md");
    const tags = [...text.matchAll(/Key=([^,]+),Value=(\w+)/g)].map(([, key = "", value = ""]) => [
      `aws:ResourceTag/${key.replace("NAME", scope.cluster)}`,
      value,
    ]);
    const volume = { resource: "arn:aws:ec2:ap-southeast-2:123456789012:volume/vol-1" };
    for (const action of ["ec2:AttachVolume", "ec2:CreateSnapshot", "ec2:DeleteVolume"]) {
      assert.ok(!allows([ebsDriverPolicy(scope)], { action, ...volume }), action);
      assert.ok(allows([ebsDriverPolicy(scope)], { action, ...volume, context: Object.fromEntries(tags) }), action);
    }
  });
});
