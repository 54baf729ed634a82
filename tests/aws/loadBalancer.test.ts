import assert from "node:assert/strict";
import * as pulumi from "@pulumi/pulumi";
import { LoadBalancer } from "../../components/aws/loadBalancer.ts";
import { textOf } from "../../plan/program/values.ts";
import { ofType, type Recorded, resource, runStack, shortUrn, specOf, withMocks } from "../support/mocks.ts";

const make = (stack: string, publicGroupId: string | undefined): Promise<Recorded> =>
  withMocks(() => {
    const balancer = new LoadBalancer("b", {
      spec: specOf(stack),
      vpcId: "vpc-1",
      privateSubnetIds: ["subnet-p1", "subnet-p2"],
      publicSubnetIds: ["subnet-o1", "subnet-o2"],
      internalGroupId: "sg-in",
      publicGroupId,
      internet: new pulumi.ComponentResource("test:index:Internet", "internet"),
    });
    return { endpoint: balancer.endpoint };
  });

describe("load balancers of the API on AWS", () => {
  it("are an internal one, and a public one with a group of its own", async () => {
    const balancers = [...ofType(await make("aws-dev", "sg-out"), "aws:lb/loadBalancer:LoadBalancer").values()];
    assert.deepEqual(
      balancers.map(({ inputs: { tags, ...rest } }) => rest),
      [
        {
          name: "aws-dev-internal",
          loadBalancerType: "network",
          internal: true,
          ipAddressType: "ipv4",
          subnets: ["subnet-p1", "subnet-p2"],
          securityGroups: ["sg-in"],
          enableCrossZoneLoadBalancing: true,
        },
        {
          name: "aws-dev-public",
          loadBalancerType: "network",
          internal: false,
          ipAddressType: "ipv4",
          subnets: ["subnet-o1", "subnet-o2"],
          securityGroups: ["sg-out"],
          enableCrossZoneLoadBalancing: true,
        },
      ],
    );
    const only = ofType(await make("aws-dev", undefined), "aws:lb/loadBalancer:LoadBalancer");
    assert.deepEqual([...only.keys()], ["b-internal"]);
  });

  it("have public addresses only while there is a way to the internet", async () => {
    const dev = await runStack("aws-dev");
    const waitsFor = (role: string): boolean =>
      resource(dev, "aws:lb/loadBalancer:LoadBalancer", `aws-dev-api-${role}`)
        .dependencies.map(shortUrn)
        .includes("aws:ec2/route:Route aws-dev-network-public");
    assert.deepEqual([waitsFor("public"), waitsFor("internal")], [true, false]);
  });

  it("forward to the fixed addresses without the client's, and ask /readyz over HTTPS", async () => {
    const recorded = await make("aws-prod", undefined);
    const { tags, ...target } = resource(recorded, "aws:lb/targetGroup:TargetGroup", "b-internal").inputs;
    assert.deepEqual(target, {
      name: "aws-prod-internal-55",
      vpcId: "vpc-1",
      targetType: "ip",
      port: 6443,
      protocol: "TCP",
      preserveClientIp: "false",
      deregistrationDelay: 30,
      healthCheck: {
        protocol: "HTTPS",
        path: "/readyz",
        port: "6443",
        matcher: "200",
        interval: 10,
        timeout: 6,
        healthyThreshold: 2,
        unhealthyThreshold: 2,
      },
    });
    const members = [...ofType(recorded, "aws:lb/targetGroupAttachment:TargetGroupAttachment").values()];
    assert.deepEqual(
      members.map(({ inputs }) => [textOf(inputs.targetId), inputs.port]),
      [
        ["10.20.224.10", 6443],
        ["10.20.228.10", 6443],
        ["10.20.232.10", 6443],
      ],
    );
    const listener = resource(recorded, "aws:lb/listener:Listener", "b-internal").inputs;
    assert.deepEqual([listener.port, listener.protocol, listener.tcpIdleTimeoutSeconds], [6443, "TCP", 3600]);
  });
});
