import assert from "node:assert/strict";
import path from "node:path";
import * as pulumi from "@pulumi/pulumi";
import { LoadBalancer } from "../../components/aws/loadBalancer.ts";
import { bodies, ofType, type Recorded, resource, runStack, shortUrn, specOf, withMocks } from "../support/mocks.ts";
import { matchSnapshot } from "../support/snapshot.ts";

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
    const { inputs } = resource(await make("aws-dev", "sg-out"), "aws:lb/loadBalancer:LoadBalancer", "b-public");
    assert.deepEqual(
      [inputs.name, inputs.internal, inputs.subnets],
      ["aws-dev-public", false, ["subnet-o1", "subnet-o2"]],
    );
    assert.deepEqual([inputs.securityGroups, inputs.ipAddressType], [["sg-out"], "ipv4"]);
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
    matchSnapshot(path.join(import.meta.dirname, "snapshots/balancer.txt"), bodies(recorded, /^aws:lb/, /internal/));
  });
});
