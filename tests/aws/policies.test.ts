import assert from "node:assert/strict";
import { controlPlaneParameters, joinParameter } from "../../components/aws/parameterNames.ts";
import {
  autoscalerPolicy,
  cloudControllerPolicy,
  controlPlanePolicy,
  ebsDriverPolicy,
  scriptsArn,
  workerPolicy,
} from "../../components/aws/policies.ts";
import { type PolicyDocument, type PolicyScope, partition, policy, unscopedActions } from "../../components/aws/policyDocument.ts";
import { allows, type Call, matches } from "../../plan/fakes/iam.ts";

const scope: PolicyScope = {
  cluster: "demo",
  region: "eu-central-1",
  accountId: "123456789012",
  keyArn: "arn:aws:kms:eu-central-1:123456789012:key/k1",
};
const { initialised, ...read } = controlPlaneParameters("demo");
const join = joinParameter("demo");
const bucket = "arn:aws:s3:::demo-snapshots";

const scripts = "arn:aws:s3:::demo-scripts";
const worker = workerPolicy(scope, [join], "demo-win2022", scriptsArn(scripts, "windows"));
const linuxScripts = scriptsArn(scripts, "linux");
const machine = controlPlanePolicy(
  scope,
  { read: Object.values(read), write: [join, initialised] },
  { snapshots: bucket, scripts: linuxScripts },
);
const cloudController = cloudControllerPolicy(scope, "vpc-1");
const ebsDriver = ebsDriverPolicy(scope);
const autoscaler = autoscalerPolicy(scope);
const all: Readonly<Record<string, PolicyDocument>> = { worker, machine, cloudController, ebsDriver, autoscaler };
const controlPlane = [machine, cloudController, ebsDriver, autoscaler];

const parameter = (name: string): string => `arn:aws:ssm:eu-central-1:123456789012:parameter${name}`;
const getParameter = (name: string): Call => ({ action: "ssm:GetParameter", resource: parameter(name) });
const decrypt = (name: string, via = "ssm.eu-central-1.amazonaws.com"): Call => ({
  action: "kms:Decrypt",
  resource: scope.keyArn,
  context: { "kms:ViaService": via, "kms:EncryptionContext:PARAMETER_ARN": parameter(name) },
});
const group = (name: string): string =>
  `arn:aws:autoscaling:eu-central-1:123456789012:autoScalingGroup:11111111-2222:autoScalingGroupName/${name}`;
const owned = { "aws:ResourceTag/kubernetes.io/cluster/demo": "owned" };
const foreign = { "aws:ResourceTag/kubernetes.io/cluster/other": "owned" };
const ec2 = (resource: string): string => `arn:aws:ec2:eu-central-1:123456789012:${resource}`;
const everyParameter = [...Object.values(read), initialised, join];

describe("the evaluator of policies", () => {
  it("matches as IAM does", () => {
    assert.ok(matches("arn:a:*:b", "arn:a:x:y:b"));
    assert.ok(!matches("arn.a", "arnxa"));
    assert.ok(matches("a?c", "abc"));
  });

  it("lets a deny win, needs every condition, and knows no operator that it does not know", () => {
    const allow = { Sid: "A", Effect: "Allow", Action: ["s3:Get*"], Resource: ["*"] } as const;
    const deny = { Sid: "D", Effect: "Deny", Action: ["s3:GetObject"], Resource: ["x"] } as const;
    assert.ok(allows([policy(allow)], { action: "s3:getobject", resource: "x" }));
    assert.ok(!allows([policy(allow)], { action: "s3:PutObject", resource: "x" }));
    assert.ok(!allows([policy(allow, deny)], { action: "s3:GetObject", resource: "x" }));
    const conditional = { ...allow, Condition: { StringEquals: { a: "1", b: ["2", "3"] } } };
    assert.ok(!allows([policy(conditional)], { action: "s3:GetObject", resource: "x", context: { a: "1" } }));
    assert.ok(allows([policy(conditional)], { action: "s3:GetObject", resource: "x", context: { a: "1", b: "3" } }));
    const odd = policy({ ...allow, Condition: { StringFuzzy: { a: "1" } } });
    assert.throws(() => allows([odd], { action: "s3:GetObject", resource: "x" }), /does not know.*StringFuzzy/);
  });
});

// What each of them grants stands in the tables of docs/security.md, which are made of them.
describe("every policy", () => {
  for (const [name, document] of Object.entries(all)) {
    it(`${name}: has no wildcard in an action, and resource * only for the listed calls`, () => {
      for (const statement of document.Statement) {
        const wildcards = statement.Action.filter((action) => action.includes("*"));
        assert.deepEqual(wildcards, []);
        if ((statement.Resource ?? []).includes("*"))
          assert.deepEqual(
            statement.Action.filter((action) => !unscopedActions.includes(action)),
            [],
            statement.Sid,
          );
      }
    });

    it(`${name}: has named, distinct statements`, () => {
      const ids = document.Statement.map(({ Sid }) => Sid);
      assert.deepEqual([...new Set(ids)], ids);
      for (const id of ids) assert.match(id, /^[A-Za-z0-9]+$/);
    });
  }

  it("stays below the 6,144 characters of a policy, with the longest names there can be", () => {
    const long = { ...scope, cluster: "c".repeat(20), region: "ap-southeast-2", keyArn: `${scope.keyArn}${"0".repeat(40)}` };
    const { initialised: marker, ...keys } = controlPlaneParameters(long.cluster);
    const parameters = { read: Object.values(keys), write: [joinParameter(long.cluster), marker] };
    const longBucket = `arn:aws:s3:::${"b".repeat(63)}`;
    for (const document of [
      workerPolicy(long, [joinParameter(long.cluster)], "g".repeat(43), scriptsArn(longBucket, "windows")),
      controlPlanePolicy(long, parameters, { snapshots: longBucket, scripts: scriptsArn(longBucket, "linux") }),
      cloudControllerPolicy(long, `vpc-${"0".repeat(17)}`),
      ebsDriverPolicy(long),
      autoscalerPolicy(long),
    ])
      assert.ok(JSON.stringify(document).length < 6144, `${JSON.stringify(document).length} characters`);
  });

  it("names the partition of its region", () => {
    assert.deepEqual(["eu-central-1", "cn-north-1", "us-gov-west-1"].map(partition), ["aws", "aws-cn", "aws-us-gov"]);
  });
});

describe("a worker", () => {
  it("reads the join secret and no other parameter", () => {
    for (const name of [...everyParameter, "/fenestra/other/join", "/fenestra/demo", "/someone/else"]) {
      assert.equal(allows([worker], getParameter(name)), name === join, name);
      assert.equal(allows([worker], decrypt(name)), name === join, name);
    }
  });

  it("uses the key by Parameter Store only", () => {
    assert.equal(allows([worker], decrypt(join, "s3.eu-central-1.amazonaws.com")), false);
    assert.equal(allows([worker], { action: "kms:Decrypt", resource: scope.keyArn }), false);
  });

  it("writes nothing, lists nothing, touches no other key", () => {
    for (const action of ["ssm:PutParameter", "ssm:GetParametersByPath", "ssm:GetParameters", "ssm:DescribeParameters"])
      assert.equal(allows([worker], { action, resource: parameter(join) }), false, action);
    assert.equal(allows([worker], { ...decrypt(join), resource: `${scope.keyArn}2` }), false);
    assert.equal(allows([worker], { ...decrypt(join), action: "kms:Encrypt" }), false);
  });

  it("reads the scripts of its system and nothing else in a bucket, and writes nothing there", () => {
    const linux = workerPolicy(scope, [join], "demo-linux", linuxScripts);
    for (const [document, own, others] of [
      [worker, "windows", "linux"],
      [linux, "linux", "windows"],
    ] as const) {
      const can = (action: string, resource: string): boolean => allows([document], { action, resource });
      assert.equal(can("s3:GetObject", `${scripts}/${own}/abc`), true);
      assert.equal(can("s3:GetObject", `${scripts}/${others}/abc`), false);
      assert.equal(can("s3:GetObject", `${scripts}/other`), false);
      assert.equal(can("s3:GetObject", `${bucket}/etcd/1.db`), false);
      assert.equal(can("s3:ListBucket", scripts), false);
      assert.equal(can("s3:PutObject", `${scripts}/${own}/abc`), false);
    }
  });

  it("reports for its own group only", () => {
    for (const action of ["autoscaling:CompleteLifecycleAction", "autoscaling:RecordLifecycleActionHeartbeat"]) {
      const call = (name: string): Call => ({ action, resource: group(name) });
      assert.equal(allows([worker], call("demo-win2022")), true, action);
      assert.equal(allows([worker], call("demo-win2022-a")), false, action);
      assert.equal(allows([worker], call("demo-linux")), false, action);
    }
  });

  it("can do nothing with machines, disks, load balancers or roles", () => {
    for (const action of ["ec2:TerminateInstances", "ec2:AttachVolume", "iam:PassRole", "autoscaling:SetInstanceHealth"])
      assert.equal(allows([worker], { action, resource: "*", context: owned }), false, action);
  });
});

describe("a control-plane machine", () => {
  it("reads exactly its own parameters", () => {
    for (const name of everyParameter) {
      assert.equal(allows([machine], getParameter(name)), true, name);
      assert.equal(allows([machine], decrypt(name)), true, name);
    }
    for (const name of ["/fenestra/other/control-plane/kubernetes-ca", "/fenestra/demo/control-plane/other"]) {
      assert.equal(allows([machine], getParameter(name)), false, name);
      assert.equal(allows([machine], decrypt(name)), false, name);
    }
  });

  it("writes the join secret and the marker, never a key", () => {
    for (const name of everyParameter) {
      const writable = name === join || name === initialised;
      assert.equal(allows(controlPlane, { action: "ssm:PutParameter", resource: parameter(name) }), writable, name);
      assert.equal(allows(controlPlane, { ...decrypt(name), action: "kms:Encrypt" }), writable, name);
    }
  });

  it("keeps snapshots in its bucket, removes old ones there, and reaches no other bucket", () => {
    const on = (action: string, resource: string): boolean => allows(controlPlane, { action, resource });
    assert.equal(on("s3:PutObject", `${bucket}/etcd/1.db`), true);
    assert.equal(on("s3:GetObject", `${bucket}/etcd/1.db`), true);
    assert.equal(on("s3:ListBucket", bucket), true);
    assert.equal(on("s3:DeleteObject", `${bucket}/etcd/1.db`), false);
    assert.equal(on("s3:DeleteBucket", bucket), false);
    assert.equal(on("s3:GetObject", "arn:aws:s3:::demo-snapshots-of-others/1.db"), false);
  });

  it("gives back machines of this cluster only", () => {
    for (const action of ["TerminateInstanceInAutoScalingGroup", "StartInstanceRefresh", "RecordLifecycleActionHeartbeat"]) {
      const call = (context: Record<string, string>): Call => ({ action: `autoscaling:${action}`, resource: group("demo-linux"), context });
      assert.equal(allows([machine], call(owned)), true, action);
      assert.equal(allows([machine], call(foreign)), false, action);
    }
  });
});

describe("the controllers", () => {
  it("make and change only what is marked as the cluster's", () => {
    const made = { "aws:RequestTag/kubernetes.io/cluster/demo": "owned" };
    const lb = "arn:aws:elasticloadbalancing:eu-central-1:123456789012:loadbalancer/net/x/1";
    const create = { action: "elasticloadbalancing:CreateLoadBalancer", resource: lb };
    assert.equal(allows([cloudController], { ...create, context: made }), true);
    assert.equal(allows([cloudController], create), false);
    const remove = { action: "elasticloadbalancing:DeleteLoadBalancer", resource: lb };
    assert.equal(allows([cloudController], { ...remove, context: owned }), true);
    assert.equal(allows([cloudController], { ...remove, context: foreign }), false);
    const open = { action: "ec2:AuthorizeSecurityGroupIngress", resource: ec2("security-group/sg-1") };
    assert.equal(allows([cloudController], { ...open, context: owned }), true);
    assert.equal(allows([cloudController], open), false);
    const group = { action: "ec2:CreateSecurityGroup", resource: ec2("vpc/vpc-1") };
    assert.equal(allows([cloudController], group), true);
    assert.equal(allows([cloudController], { ...group, resource: ec2("vpc/vpc-2") }), false);
    const tag = { action: "ec2:CreateTags", resource: ec2("security-group/sg-1"), context: made };
    assert.equal(allows([cloudController], tag), false, "tags are set only while a group is made");
    const creating = { ...made, "ec2:CreateAction": "CreateSecurityGroup" };
    assert.equal(allows([cloudController], { ...tag, context: creating }), true);
  });

  it("of volumes cannot reach the disks of etcd, which carry no tag of the driver", () => {
    const driver = { ...owned, "aws:ResourceTag/ebs.csi.aws.com/cluster": "true" };
    for (const action of ["ec2:AttachVolume", "ec2:DetachVolume", "ec2:DeleteVolume", "ec2:ModifyVolume"]) {
      const call = { action, resource: ec2("volume/vol-1") };
      assert.equal(allows(controlPlane, { ...call, context: driver }), true, action);
      assert.equal(allows(controlPlane, { ...call, context: { "aws:ResourceTag/Name": "etcd" } }), false, action);
      assert.equal(allows(controlPlane, { ...call, context: owned }), false, action);
    }
  });

  it("of volumes clone one of the cluster's into one of the cluster's", () => {
    const tags = (of: string) => ({ [`aws:${of}/ebs.csi.aws.com/cluster`]: "true", [`aws:${of}/kubernetes.io/cluster/demo`]: "owned" });
    const can = (context: Record<string, string>, action = "CopyVolumes") =>
      allows([ebsDriver], { action: `ec2:${action}`, resource: ec2("volume/vol-1"), context });
    const creating = { ...tags("RequestTag"), "ec2:CreateAction": "CopyVolumes" };
    const may = [can(tags("ResourceTag")), can(tags("RequestTag")), can(creating, "CreateTags"), can(owned)];
    assert.deepEqual(may, [true, true, true, false]);
  });

  it("of size resize this cluster's groups only", () => {
    const call = { action: "autoscaling:SetDesiredCapacity", resource: group("demo-linux") };
    assert.equal(allows([autoscaler], { ...call, context: owned }), true);
    assert.equal(allows([autoscaler], { ...call, context: foreign }), false);
    assert.equal(allows([autoscaler], call), false);
  });

  it("make no role and hand none on", () => {
    const role = "arn:aws:iam::123456789012:role/aws-service-role/elasticloadbalancing.amazonaws.com/AWSServiceRole";
    const context = { "iam:AWSServiceName": "elasticloadbalancing.amazonaws.com" };
    for (const action of ["iam:CreateServiceLinkedRole", "iam:PassRole"])
      assert.equal(allows(controlPlane, { action, resource: role, context }), false, action);
  });
});
