import assert from "node:assert/strict";
import { awsNeeds } from "../../preflight/aws/needs.ts";
import { awsQuestions } from "../../preflight/aws/questions.ts";
import type { Outcome } from "../../preflight/question.ts";
import { askIn, code, here, sendTo, type World } from "./world.ts";

const zones = ["eu-central-1a", "eu-central-1b", "eu-central-1c"];
const arn = "arn:aws:sts::123456789012:assumed-role/deployer/me";
const quota = (value: number) => ({ Quota: { Value: value } });
const allowed = ({ input }: { input: object }) => ({
  EvaluationResults:
    "ActionNames" in input && Array.isArray(input.ActionNames)
      ? input.ActionNames.map((name: string) => ({ EvalActionName: name, EvalDecision: "allowed" }))
      : [],
});
const instance = (count: number) => ({
  Reservations: [
    {
      Instances: Array.from({ length: count }, () => ({
        InstanceType: "m7i.large",
        State: { Name: "running" },
        CpuOptions: { CoreCount: 1, ThreadsPerCore: 2 },
      })),
    },
  ],
});
const subnet = (SubnetId: string, AvailabilityZone: string, free = 200) => ({
  ...{ SubnetId, AvailabilityZone, VpcId: "vpc-0a1b2c3d4e5f60718", AvailableIpAddressCount: free },
});
const existing = ["a", "b"].flatMap((zone) =>
  ["a", "b", "c"].map((role) => subnet(`subnet-0${role}00000000000000${zone}`, `eu-central-1${zone}`)),
);
const routes = (State: string) => ({
  RouteTables: [
    {
      VpcId: "vpc-0a1b2c3d4e5f60718",
      Associations: [{ Main: true }],
      Routes: [{ DestinationCidrBlock: "0.0.0.0/0", State }],
    },
  ],
});

/** An account that has room for everything. */
const roomy: World = {
  "sts:GetCallerIdentity": { Account: "123456789012", Arn: arn },
  "ec2:DescribeRegions": { Regions: [{ RegionName: "eu-central-1", OptInStatus: "opt-in-not-required" }] },
  "ec2:DescribeAvailabilityZones": { AvailabilityZones: zones.map((ZoneName) => ({ ZoneName, State: "available" })) },
  "ec2:DescribeInstanceTypes": {
    InstanceTypes: ["m7i.large", "m7i.xlarge", "m8i.xlarge"].map((InstanceType) => ({
      InstanceType,
      VCpuInfo: { DefaultVCpus: InstanceType.endsWith("xlarge") ? 4 : 2 },
    })),
  },
  "ec2:DescribeInstanceTypeOfferings": {
    InstanceTypeOfferings: zones.flatMap((Location) =>
      ["m7i.large", "m7i.xlarge", "m8i.xlarge"].map((InstanceType) => ({ InstanceType, Location })),
    ),
  },
  "ec2:DescribeInstances": instance(1),
  "servicequotas:GetServiceQuota": quota(500),
  "ec2:DescribeAddresses": { Addresses: [] },
  "ec2:DescribeVpcs": { Vpcs: [] },
  "ec2:DescribeInternetGateways": { InternetGateways: [] },
  "ec2:GetAllowedImagesSettings": { State: "disabled" },
  "ssm:GetParameter": { Parameter: { Value: "ami-1" } },
  "ec2:DescribeImages": {
    Images: [
      {
        ImageId: "ami-1",
        State: "available",
        Architecture: "x86_64",
        RootDeviceName: "/dev/sda1",
        BlockDeviceMappings: [{ DeviceName: "/dev/sda1", Ebs: { VolumeSize: 30 } }],
      },
    ],
  },
  "ec2:DescribeVpcBlockPublicAccessOptions": { VpcBlockPublicAccessOptions: { InternetGatewayBlockMode: "off" } },
  "ec2:DescribeTags": { Tags: [] },
  "elasticloadbalancing:DescribeLoadBalancers": { LoadBalancers: [] },
  "kms:ListAliases": { Aliases: [] },
  "kms:DescribeKey": { KeyMetadata: { KeyState: "Enabled", KeyUsage: "ENCRYPT_DECRYPT" } },
  "kms:GetKeyPolicy": { Policy: "AWSServiceRoleForAutoScaling" },
  "ssm:DescribeParameters": { Parameters: [] },
  "iam:GetRole": { Role: { Arn: "arn:aws:iam::123456789012:role/teams/deployer" } },
  "iam:SimulatePrincipalPolicy": allowed,
  "iam:GetAccountSummary": { SummaryMap: { Roles: 10, RolesQuota: 1000, Policies: 1, PoliciesQuota: 1500 } },
  "ec2:DescribeSubnets": { Subnets: existing },
  "ec2:DescribeRouteTables": routes("active"),
  "ec2:RunInstances": code("DryRunOperation"),
  "ec2:AllocateAddress": code("DryRunOperation"),
};

const ask = (world: World, scene: Partial<Parameters<typeof askIn>[2]> = {}) =>
  askIn(awsQuestions, awsNeeds, { stack: "aws-dev", ...scene }, sendTo({ ...roomy, ...world }), (own, more) => ({
    ...own,
    ...more,
  }));

const denies =
  (...actions: readonly string[]) =>
  ({ input }: { input: object }) => ({
    EvaluationResults: allowed({ input }).EvaluationResults.map((each: { EvalActionName: string }) =>
      actions.includes(each.EvalActionName) ? { ...each, EvalDecision: "implicitDeny" } : each,
    ),
  });

type Case = readonly [id: string, outcome: Outcome, says: RegExp, world: World, scene?: Parameters<typeof ask>[1]];
const key = "arn:aws:kms:eu-central-1:123456789012:key/disks";
const disk = { stack: "aws-prod", changes: { controlPlane: { replicas: 3, osDisk: { encryptionKey: key } } } };

const poolDisk = {
  changes: {
    pools: [
      { name: "linux", os: "linux", count: 2, disk: { encryptionKey: key } },
      { name: "win", os: "windows-2022", count: 1 },
    ],
  },
};

/** Each question, seen refused or doubted; the first test sees all of them fine. */
const cases: readonly Case[] = [
  [
    "account",
    "refused",
    /these are credentials of 999999999999.*AWS_PROFILE/,
    { "sts:GetCallerIdentity": { Account: "999999999999", Arn: arn } },
    { changes: { accountId: "123456789012" } },
  ],
  [
    "account",
    "refused",
    /is off.*enable-region/,
    { "ec2:DescribeRegions": { Regions: [{ RegionName: "eu-central-1", OptInStatus: "not-opted-in" }] } },
  ],
  [
    "vcpu-quota",
    "refused",
    /14 vCPUs are needed.*is 16.*others use 4.*--quota-code L-1216C47A --desired-value/,
    { "servicequotas:GetServiceQuota": quota(16), "ec2:DescribeInstances": instance(2) },
  ],
  ["vcpu-quota", "doubtful", /while pools roll/, { "servicequotas:GetServiceQuota": quota(16) }],
  [
    "new-account",
    "doubtful",
    /PendingVerification/,
    {
      "ec2:DescribeInstances": instance(0),
      "servicequotas:GetServiceQuota": code("NoSuchResourceException"),
      "servicequotas:GetAWSDefaultServiceQuota": quota(100),
    },
  ],
  [
    "address-quota",
    "refused",
    /L-0263D0A3 is 5, others use 5/,
    { "servicequotas:GetServiceQuota": quota(5), "ec2:DescribeAddresses": { Addresses: [{}, {}, {}, {}, {}] } },
  ],
  [
    "network-quota",
    "refused",
    /VPCs are needed.*request-service-quota-increase/,
    { "servicequotas:GetServiceQuota": quota(1), "ec2:DescribeVpcs": { Vpcs: [{}] } },
  ],
  [
    "size",
    "refused",
    /m7i.large is not offered in eu-central-1a.*zones of eu-central-1b/,
    {
      "ec2:DescribeInstanceTypeOfferings": {
        InstanceTypeOfferings: [{ InstanceType: "m7i.large", Location: "eu-central-1b" }],
      },
    },
  ],
  [
    "size",
    "refused",
    /no zone eu-central-1b.*fenestra:network zones/,
    { "ec2:DescribeAvailabilityZones": { AvailabilityZones: [{ ZoneName: "eu-central-1a" }] } },
  ],
  ["image", "refused", /withdrawn/, { "ec2:DescribeImages": code("InvalidAMIID.NotFound") }],
  [
    "image",
    "refused",
    /Allowed AMIs is on/,
    { "ec2:DescribeImages": { Images: [] }, "ec2:GetAllowedImagesSettings": { State: "enabled" } },
  ],
  [
    "image",
    "refused",
    /diskGb: 200/,
    {
      "ec2:DescribeImages": {
        Images: [
          {
            ImageId: "ami-1",
            RootDeviceName: "/",
            BlockDeviceMappings: [{ DeviceName: "/", Ebs: { VolumeSize: 200 } }],
          },
        ],
      },
    },
  ],
  [
    "keys",
    "refused",
    /is PendingDeletion.*encryptionKey/,
    { "kms:DescribeKey": { KeyMetadata: { KeyState: "PendingDeletion", KeyUsage: "ENCRYPT_DECRYPT" } } },
    disk,
  ],
  [
    "keys",
    "doubtful",
    /does not name AWSServiceRoleForAutoScaling/,
    { "kms:GetKeyPolicy": { Policy: "{}" } },
    poolDisk,
  ],
  [
    "existing-network",
    "refused",
    /has 1 free addresses/,
    { "ec2:DescribeSubnets": { Subnets: existing.map((each) => ({ ...each, AvailableIpAddressCount: 1 })) } },
    { stack: "aws-existing" },
  ],
  [
    "existing-network",
    "refused",
    /no way out/,
    { "ec2:DescribeRouteTables": routes("blackhole") },
    { stack: "aws-existing" },
  ],
  [
    "existing-network",
    "refused",
    /there is no subnet/,
    { "ec2:DescribeSubnets": { Subnets: [] } },
    { stack: "aws-existing" },
  ],
  [
    "account-switches",
    "refused",
    /block-bidirectional/,
    {
      "ec2:DescribeVpcBlockPublicAccessOptions": {
        VpcBlockPublicAccessOptions: { InternetGatewayBlockMode: "block-bidirectional" },
      },
    },
  ],
  [
    "names",
    "refused",
    /delete-parameters --names \/fenestra\/aws-dev\/join/,
    { "ssm:DescribeParameters": { Parameters: [{ Name: "/fenestra/aws-dev/join" }] } },
  ],
  [
    "names",
    "fine",
    /^$/,
    {
      "ssm:DescribeParameters": { Parameters: [{ Name: "/fenestra/aws-dev/join" }] },
      "ec2:DescribeTags": { Tags: [{}] },
    },
  ],
  [
    "rights",
    "refused",
    /role\/teams\/deployer may not ec2:CreateVpc.*"Action":\["ec2:CreateVpc"\]/,
    { "iam:SimulatePrincipalPolicy": denies("ec2:CreateVpc") },
  ],
  [
    "rights",
    "doubtful",
    /organization denies/,
    {
      "iam:SimulatePrincipalPolicy": (call) => ({
        EvaluationResults: allowed(call).EvaluationResults.map((each: object) => ({
          ...each,
          EvalDecision: "implicitDeny",
          OrganizationsDecisionDetail: { AllowedByOrganizations: false },
        })),
      }),
    },
  ],
  [
    "service-roles",
    "refused",
    /create-service-linked-role --aws-service-name autoscaling/,
    {
      "iam:GetRole": ({ input }) =>
        JSON.stringify(input).includes("AutoScaling")
          ? code("NoSuchEntityException")({ right: "iam:GetRole", input })
          : roomy["iam:GetRole"],
      "iam:SimulatePrincipalPolicy": denies("iam:CreateServiceLinkedRole"),
    },
  ],
  [
    "identity-quota",
    "doubtful",
    /999 of 1000/,
    { "iam:GetAccountSummary": { SummaryMap: { Roles: 999, RolesQuota: 1000 } } },
  ],
  [
    "organization",
    "refused",
    /policy of the organization.*decode-authorization-message --encoded-message abc/,
    {
      "ec2:RunInstances": code(
        "UnauthorizedOperation",
        "denied",
        "with an explicit deny in a service control policy. Encoded authorization failure message: abc",
      ),
    },
  ],
  ["reach-api", "refused", /add 198.51.100.1\/32/, {}, { asker: { ...here, address: "198.51.100.1" } }],
  ["reach-api", "not asked", /--address/, {}, { asker: { local: [] } }],
  ["reach-api", "doubtful", /inside only/, {}, { stack: "aws-private" }],
  ["clock", "refused", /300 s.*set-ntp/, {}, { skewMs: 300_000 }],
];

describe("the questions to AWS", function () {
  this.timeout(60_000);

  it("have nothing against an account with room, for each example", async () => {
    for (const stack of ["aws-dev", "aws-prod", "aws-existing"]) {
      const found = Object.values(await ask({}, { stack })).filter(({ outcome }) => outcome !== "fine");
      assert.deepEqual(
        found.flatMap(({ objections }) =>
          objections.filter((each) => each.outcome === "refused" || each.outcome === "not asked"),
        ),
        [],
        stack,
      );
    }
  });

  for (const [id, outcome, says, world, scene] of cases)
    it(`${id}: ${outcome}, ${says.source}`, async () => {
      const { [id]: answer } = await ask(world, scene);
      assert.equal(answer?.outcome, outcome, JSON.stringify(answer));
      if (outcome !== "fine")
        assert.match(answer?.objections.map(({ text, mend }) => `${text} ${mend}`).join(" ") ?? "", says);
    });

  it("have a case for each of them", () => {
    const seen = new Set(cases.map(([id]) => id));
    assert.deepEqual(
      awsQuestions.map(({ id }) => id).filter((id) => !seen.has(id)),
      [],
    );
  });

  it("name the right of any call that is forbidden, and never fail or pass by silence", async () => {
    const faults = [
      ["AccessDenied", "denied", /^needs /],
      ["ThrottlingException", "none", /ThrottlingException/],
      ["SELF_SIGNED_CERT_IN_CHAIN", "none", /SELF_SIGNED/],
      ["ENOTFOUND", "none", /ENOTFOUND/],
    ] as const;
    const scenes = [{}, poolDisk, { stack: "aws-existing" }];
    for (const right of Object.keys(roomy))
      for (const [name, kind, says] of faults) {
        // A dry run that is forbidden is an answer.
        if (kind === "denied" && /RunInstances|AllocateAddress/.test(right)) continue;
        const answers = await Promise.all(scenes.map((scene) => ask({ [right]: code(name, kind) }, scene)));
        const silent = answers.flatMap((each) => Object.values(each)).flatMap(({ objections }) => objections);
        assert.ok(
          silent.some(({ outcome, text }) => outcome === "not asked" && says.test(text)),
          `${right} ${name}`,
        );
      }
    // Half an answer is none.
    const half = await ask({ "ec2:DescribeInstanceTypes": {} });
    assert.match(half["vcpu-quota"]?.objections[0]?.text ?? "", /not understood/);
    const never = () => new Promise(() => {});
    const hang = await ask({ "sts:GetCallerIdentity": never });
    assert.equal(hang.account?.outcome, "not asked");
    // Nobody there at all is no "yes" to everything.
    const nobody = await ask(Object.fromEntries(Object.keys(roomy).map((right) => [right, code("ENOTFOUND", "none")])));
    assert.equal(nobody.account?.outcome, "refused");
  });
});
