import assert from "node:assert/strict";
import { interfaceEndpoints, Network } from "../../components/aws/network.ts";
import { securityRules } from "../../components/aws/security.ts";
import { textOf } from "../../components/gates/resources.ts";
import { nameOfUrn } from "../../plan/program/recorded.ts";
import { readDocument } from "../docs/documents.ts";
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

  it("leaves room for as many load balancers of Services as docs/limits.md says, with purposes that EC2 takes", () => {
    const rules = securityRules(specOf("aws-dev"));
    const own = rules.filter(({ group, direction }) => group === "workers" && direction === "ingress");
    // Inbound rules of a security group (Amazon VPC User Guide, "Amazon VPC quotas").
    const room = `which has room for ${60 - own.length} of them`;
    assert.ok(readDocument("docs/limits.md").text.includes(room));
    // Characters of a description (Amazon EC2 API Reference, IpRange).
    for (const { purpose } of rules) assert.match(purpose, /^[a-zA-Z0-9. _\-:/()#,@[\]+=&;{}!$*]{1,255}$/);
  });
});
