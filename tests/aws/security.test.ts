import assert from "node:assert/strict";
import { clusterTag } from "../../components/aws/policyDocument.ts";
import { Security } from "../../components/aws/security.ts";
import { securityRules } from "../../components/aws/securityRules.ts";
import { cloudFacts } from "../../components/model/cloudFacts/cloudFacts.ts";
import { mapOf, textOf } from "../../plan/program/values.ts";
import { readDocument } from "../docs/documents.ts";
import { ofType, type Recorded, specOf, withMocks } from "../support/mocks.ts";

const make = (stack: string): Promise<Recorded> =>
  withMocks(() => void new Security("s", { spec: specOf(stack), vpcId: "vpc-1" }));

const types = {
  from: "aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule",
  to: "aws:vpc/securityGroupEgressRule:SecurityGroupEgressRule",
} as const;

/** Every registered rule: group, direction, other end, protocol and ports, purpose. */
async function table(stack: string): Promise<readonly string[]> {
  const recorded = await make(stack);
  const groups = new Map(
    [...ofType(recorded, "aws:ec2/securityGroup:SecurityGroup")].map(([name, { id }]) => [id, name.slice(2)]),
  );
  return Object.entries(types)
    .flatMap(([direction, type]) =>
      [...ofType(recorded, type).values()].map(({ inputs }) => {
        const peer = textOf(inputs.cidrIpv4) ?? groups.get(textOf(inputs.referencedSecurityGroupId)) ?? "?";
        const ports = inputs.ipProtocol === "-1" ? "all" : `${inputs.ipProtocol} ${inputs.fromPort}-${inputs.toPort}`;
        const group = groups.get(textOf(inputs.securityGroupId)) ?? "?";
        return `${group} | ${direction} ${peer} | ${ports} | ${inputs.description}`;
      }),
    )
    .sort();
}

// `fenestra plan` prints the rules.
describe("security groups on AWS", () => {
  it("register each rule of the table", async () => {
    for (const stack of ["aws-dev", "aws-prod"]) {
      const rules = securityRules(specOf(stack)).map(({ group, direction, purpose }) => [
        group,
        direction === "ingress" ? "from" : "to",
        purpose,
      ]);
      const registered = (await table(stack)).map((line) => /^(\S+) \| (from|to) .* \| (.*)$/.exec(line)?.slice(1));
      assert.deepEqual(registered.sort(), rules.sort(), stack);
    }
  });

  it("let the public in by the allow-list alone, and only when there is one", async () => {
    const open = (await table("aws-dev")).filter((rule) => rule.startsWith("api-public | from"));
    assert.deepEqual(open, [
      "api-public | from 203.0.113.0/24 | tcp 6443-6443 | Allowed network to the Kubernetes API",
    ]);
    assert.doesNotMatch((await table("aws-prod")).join("\n"), /public/);
  });

  it("leave room for as many load balancers of Services as docs/limits.md says", () => {
    const own = securityRules(specOf("aws-dev")).filter(
      ({ group, direction }) => group === "workers" && direction === "ingress",
    );
    const { mostGroupRules } = cloudFacts.aws.network;
    assert.ok(
      readDocument("docs/limits.md").text.includes(`which has room for ${mostGroupRules - own.length} of them`),
    );
  });

  it("let nobody in from everywhere, and open neither SSH nor RDP nor WinRM", () => {
    for (const stack of ["aws-dev", "aws-prod"]) {
      const incoming = securityRules(specOf(stack)).filter(({ direction }) => direction === "ingress");
      for (const { name, peer, ports } of incoming) {
        assert.notDeepEqual(peer, { cidr: "0.0.0.0/0" }, name);
        assert.ok(ports !== undefined, name);
        for (const port of [22, 3389, 5985, 5986]) assert.ok(port < ports[0] || port > ports[1], name);
      }
    }
  });

  it("carry the cluster's tag where machines are members, and nowhere else", async () => {
    const groups = [...ofType(await make("aws-dev"), "aws:ec2/securityGroup:SecurityGroup")];
    const tagged = Object.fromEntries(
      groups.map(([name, { inputs }]) => [name, clusterTag("aws-dev") in mapOf(inputs.tags)]),
    );
    assert.deepEqual(tagged, {
      "s-control-plane": true,
      "s-workers": true,
      "s-api-internal": false,
      "s-api-public": false,
    });
  });

  it("have rules with one purpose each, in characters that EC2 takes", () => {
    const rules = securityRules(specOf("aws-dev"));
    assert.equal(new Set(rules.map(({ name }) => name)).size, rules.length);
    // Characters of a description (Amazon EC2 API Reference, IpRange).
    for (const { purpose } of rules) assert.match(purpose, /^[a-zA-Z0-9. _\-:/()#,@[\]+=&;{}!$*]{1,255}$/);
  });
});
