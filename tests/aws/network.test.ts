import assert from "node:assert/strict";
import { interfaceEndpoints, Network } from "../../components/aws/network.ts";
import { nameOfUrn } from "../../plan/program/recorded.ts";
import { textOf } from "../../plan/program/values.ts";
import { ofType, type Recorded, resource, specOf, withMocks } from "../support/mocks.ts";

const mirror = JSON.stringify({
  artifacts: "https://mirror.example",
  registries: { "registry.k8s.io": "https://mirror.example" },
});

function make(nat: string, changes: Readonly<Record<string, string>> = {}): Promise<Recorded> {
  const zones = ["eu-central-1a", "eu-central-1b", "eu-central-1c"];
  const spec = specOf("aws-dev", { network: { zones, nat }, mirror, ...changes });
  return withMocks(() => {
    const network = new Network("n", { spec });
    return { account: network.accountId, egress: network.egress.map(({ urn }) => urn) };
  });
}

describe("the network on AWS", () => {
  it("divides the VPC into subnets by purpose and zone, with the roles of their load balancers", async () => {
    const recorded = await make("single");
    const subnets = [...ofType(recorded, "aws:ec2/subnet:Subnet")].sort().map(([name, { inputs }]) => {
      const tags = Object.keys(inputs.tags ?? {}).filter((key) => key.startsWith("kubernetes.io/"));
      return [name, inputs.cidrBlock, inputs.availabilityZone, tags.sort().join(" ")];
    });
    const cluster = "kubernetes.io/cluster/aws-dev";
    assert.deepEqual(subnets, [
      ["n-control-plane-a", "10.0.224.0/28", "eu-central-1a", cluster],
      ["n-control-plane-b", "10.0.228.0/28", "eu-central-1b", cluster],
      ["n-control-plane-c", "10.0.232.0/28", "eu-central-1c", cluster],
      ["n-private-a", "10.0.0.0/18", "eu-central-1a", `${cluster} kubernetes.io/role/internal-elb`],
      ["n-private-b", "10.0.64.0/18", "eu-central-1b", `${cluster} kubernetes.io/role/internal-elb`],
      ["n-private-c", "10.0.128.0/18", "eu-central-1c", `${cluster} kubernetes.io/role/internal-elb`],
      ["n-public-a", "10.0.192.0/22", "eu-central-1a", `${cluster} kubernetes.io/role/elb`],
      ["n-public-b", "10.0.196.0/22", "eu-central-1b", `${cluster} kubernetes.io/role/elb`],
      ["n-public-c", "10.0.200.0/22", "eu-central-1c", `${cluster} kubernetes.io/role/elb`],
    ]);
    for (const { inputs } of ofType(recorded, "aws:ec2/subnet:Subnet").values()) {
      assert.equal(inputs.mapPublicIpOnLaunch, false);
      assert.equal(inputs.privateDnsHostnameTypeOnLaunch, "resource-name");
    }
    const { inputs } = resource(recorded, "aws:ec2/vpc:Vpc", "n-vpc");
    assert.deepEqual(
      [inputs.cidrBlock, inputs.enableDnsSupport, inputs.enableDnsHostnames],
      ["10.0.0.0/16", true, true],
    );
  });

  it("tells the account by the owner of the VPC", async () => {
    assert.equal(textOf((await make("single")).program.outputs.account), "123456789012");
  });

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
      const found = [...ofType(recorded, "aws:ec2/route:Route")]
        .filter(([name]) => name.startsWith("n-private-"))
        .map(([name, { inputs }]) => [name.slice(-1), idToName.get(textOf(inputs.natGatewayId))]);
      assert.deepEqual(Object.fromEntries(found), routes);
      for (const { inputs } of ofType(recorded, "aws:ec2/route:Route").values())
        assert.equal(inputs.destinationCidrBlock, "0.0.0.0/0");
    });

  it("has the gateway endpoint of S3 always, and interface endpoints only without NAT", async () => {
    const names = async (nat: string): Promise<readonly string[]> => [
      ...ofType(await make(nat), "aws:ec2/vpcEndpoint:VpcEndpoint").keys(),
    ];
    assert.deepEqual(await names("single"), ["n-s3"]);
    assert.deepEqual(await names("none"), ["n-s3", ...interfaceEndpoints.map((service) => `n-${service}`)]);
    const resources = ["arn:aws:ecr:eu-central-1:123456789012:repository/a"];
    const registryAccess = JSON.stringify({ resources });
    const more = async (changes: Record<string, string>) =>
      [...ofType(await make("none", changes), "aws:ec2/vpcEndpoint:VpcEndpoint").keys()].slice(
        1 + interfaceEndpoints.length,
      );
    assert.deepEqual(await more({ registryAccess }), ["n-ecr.api", "n-ecr.dkr"]);
    assert.deepEqual(await more({ registryAccess, httpProxy: "http://proxy.test:3128" }), []);
    const recorded = await make("none");
    const { inputs } = resource(recorded, "aws:ec2/vpcEndpoint:VpcEndpoint", "n-ssm");
    const endpoint = [inputs.serviceName, inputs.vpcEndpointType, inputs.privateDnsEnabled];
    assert.deepEqual(endpoint, ["com.amazonaws.eu-central-1.ssm", "Interface", true]);
    const rule = resource(recorded, "aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule", "n-endpoints-https");
    assert.deepEqual([rule.inputs.cidrIpv4, rule.inputs.fromPort, rule.inputs.toPort], ["10.0.0.0/16", 443, 443]);
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

  it("closes the VPC's default security group", async () => {
    const { inputs } = resource(await make("single"), "aws:ec2/defaultSecurityGroup:DefaultSecurityGroup", "n-default");
    assert.deepEqual([inputs.ingress, inputs.egress], [[], []]);
  });
});
