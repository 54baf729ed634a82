import assert from "node:assert/strict";
import {
  autoscalerPolicy,
  cloudControllerPolicy,
  controlPlanePolicy,
  ebsDriverPolicy,
  scriptsArn,
  workerPolicy,
} from "../../components/aws/policies.ts";
import type { PolicyScope } from "../../components/aws/policyDocument.ts";
import { controlPlaneParameters, joinParameter } from "../../components/aws/secrets.ts";
import { allows, type Call } from "../../plan/fakes/iam.ts";
import { readDocument } from "../docs/documents.ts";

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

const parameter = (name: string): string => `arn:aws:ssm:eu-central-1:123456789012:parameter${name}`;
const getParameter = (name: string): Call => ({ action: "ssm:GetParameter", resource: parameter(name) });
const decrypt = (name: string, via = "ssm.eu-central-1.amazonaws.com"): Call => ({
  action: "kms:Decrypt",
  resource: scope.keyArn,
  context: { "kms:ViaService": via, "kms:EncryptionContext:PARAMETER_ARN": parameter(name) },
});
const group = (name: string): string =>
  `arn:aws:autoscaling:eu-central-1:123456789012:autoScalingGroup:11111111-2222:autoScalingGroupName/${name}`;
const ec2 = (resource: string): string => `arn:aws:ec2:eu-central-1:123456789012:${resource}`;
const owned = { "aws:ResourceTag/kubernetes.io/cluster/demo": "owned" };
const foreign = { "aws:ResourceTag/kubernetes.io/cluster/other": "owned" };
const made = { "aws:RequestTag/kubernetes.io/cluster/demo": "owned" };
const balancer = "arn:aws:elasticloadbalancing:eu-central-1:123456789012:loadbalancer/net/x/1";
const keys = Object.values(read);
const sized = { action: "autoscaling:SetDesiredCapacity", resource: group("demo-linux") };
const call = (action: string, resource: string, context?: Record<string, string>): Call => ({
  action,
  resource,
  ...(context && { context }),
});

/** What a worker never may: other secrets, scripts and groups, and any change. */
const refusedToWorkers: readonly Call[] = [
  ...[...keys, initialised, "/fenestra/other/join", "/fenestra/demo", "/someone/else"].flatMap((name) => [
    getParameter(name),
    decrypt(name),
  ]),
  decrypt(join, "s3.eu-central-1.amazonaws.com"),
  call("kms:Decrypt", scope.keyArn),
  { ...decrypt(join), resource: `${scope.keyArn}2` },
  { ...decrypt(join), action: "kms:Encrypt" },
  ...["PutParameter", "GetParametersByPath", "GetParameters", "DescribeParameters"].map((name) =>
    call(`ssm:${name}`, parameter(join)),
  ),
  ...[`${scripts}/linux/abc`, `${scripts}/other`, `${bucket}/etcd/1.db`].map((object) => call("s3:GetObject", object)),
  call("s3:ListBucket", scripts),
  call("s3:PutObject", `${scripts}/windows/abc`),
  ...["CompleteLifecycleAction", "RecordLifecycleActionHeartbeat"].flatMap((name) =>
    ["demo-win2022-a", "demo-linux"].map((other) => call(`autoscaling:${name}`, group(other))),
  ),
  ...["ec2:TerminateInstances", "ec2:AttachVolume", "iam:PassRole", "autoscaling:SetInstanceHealth"].map((name) =>
    call(name, "*", owned),
  ),
];

/** What a control-plane machine never may with all policies of its role: other clusters', its own keys, roles. */
const refusedToControlPlane: readonly Call[] = [
  ...["/fenestra/other/control-plane/kubernetes-ca", "/fenestra/demo/control-plane/other"].flatMap((name) => [
    getParameter(name),
    decrypt(name),
  ]),
  ...keys.flatMap((name) => [call("ssm:PutParameter", parameter(name)), { ...decrypt(name), action: "kms:Encrypt" }]),
  ...["s3:DeleteObject", "s3:DeleteObjectVersion"].map((name) => call(name, `${bucket}/etcd/1.db`)),
  call("s3:DeleteBucket", bucket),
  call("s3:GetObject", "arn:aws:s3:::demo-snapshots-of-others/1.db"),
  ...["TerminateInstanceInAutoScalingGroup", "StartInstanceRefresh", "RecordLifecycleActionHeartbeat"].map((name) =>
    call(`autoscaling:${name}`, group("demo-linux"), foreign),
  ),
  sized,
  { ...sized, context: foreign },
  call("elasticloadbalancing:CreateLoadBalancer", balancer),
  call("elasticloadbalancing:DeleteLoadBalancer", balancer, foreign),
  call("ec2:AuthorizeSecurityGroupIngress", ec2("security-group/sg-1")),
  call("ec2:CreateSecurityGroup", ec2("vpc/vpc-2")),
  // Tags only while a group is made.
  call("ec2:CreateTags", ec2("security-group/sg-1"), made),
  // Etcd's disks, without a tag of the driver.
  ...["AttachVolume", "DetachVolume", "DeleteVolume", "ModifyVolume", "CopyVolumes"].flatMap((name) =>
    [owned, { "aws:ResourceTag/Name": "etcd" }].map((tags) => call(`ec2:${name}`, ec2("volume/vol-1"), tags)),
  ),
  ...["iam:CreateServiceLinkedRole", "iam:PassRole"].map((name) =>
    call(name, "arn:aws:iam::123456789012:role/aws-service-role/elasticloadbalancing.amazonaws.com/AWSServiceRole", {
      "iam:AWSServiceName": "elasticloadbalancing.amazonaws.com",
    }),
  ),
];

describe("every policy", () => {
  it("stays below the 6,144 characters of a policy, with the longest names there can be", () => {
    const long = {
      ...scope,
      cluster: "c".repeat(20),
      region: "ap-southeast-2",
      keyArn: `${scope.keyArn}${"0".repeat(40)}`,
    };
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

  it("lets the EBS driver attach a volume that somebody brings once it has the tags of the documented command", () => {
    const { text } = readDocument("docs/operations/debugging.md");
    const tags = [...text.matchAll(/Key=([^,]+),Value=(\w+)/g)].map(([, key = "", value = ""]) => [
      `aws:ResourceTag/${key.replace("NAME", scope.cluster)}`,
      value,
    ]);
    const volume = { resource: "arn:aws:ec2:eu-central-1:123456789012:volume/vol-1" };
    for (const action of ["ec2:AttachVolume", "ec2:CreateSnapshot", "ec2:DeleteVolume"]) {
      assert.ok(!allows([ebsDriver], { action, ...volume }), action);
      assert.ok(allows([ebsDriver], { action, ...volume, context: Object.fromEntries(tags) }), action);
    }
  });

  // What each grants, plan.json says; that it suffices, a rehearsal shows.
  it("allows nobody what is somebody else's, or too much", () => {
    assert.deepEqual(
      refusedToWorkers.filter((each) => allows([worker], each)),
      [],
    );
    assert.deepEqual(
      refusedToControlPlane.filter((each) => allows([machine, cloudController, ebsDriver, autoscaler], each)),
      [],
    );
  });
});
