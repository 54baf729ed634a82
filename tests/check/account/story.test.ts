import { questions } from "../../../check/account/aws/account.ts";
import { awsNeeds } from "../../../components/gates/account/aws/needs.ts";
import { askIn, cloudOf, differing, type Following, firstDay, follow, sendTo } from "./world.ts";

const key = "arn:aws:kms:eu-central-1:123456789012:key/disks";
const pool = { os: "linux", size: "m7i.large", image: "ami-0a1b2c3d4e5f60718", diskGb: 40, count: 1 };

const changes = {
  accountId: "123456789012",
  network: { zones: ["eu-central-1a", "eu-central-1c"], nat: "single" },
  access: { public: { allow: ["198.51.100.0/24"] } },
  pools: [
    { ...pool, name: "old", zones: ["eu-central-1a"] },
    { ...pool, name: "keyed", image: "latest", diskGb: 50, zones: ["eu-central-1a"], disk: { encryptionKey: key } },
    { ...pool, name: "small", image: "latest", zones: ["eu-central-1a"] },
    { ...pool, name: "rare", image: "latest", size: "m7i.xlarge", diskGb: 50, zones: ["eu-central-1a"] },
  ],
};
const { day, poolOf, mends } = firstDay(changes);
const account: Record<string, unknown> = {
  "sts:GetCallerIdentity Account": "999999999999",
  "ec2:DescribeRegions Regions.0.OptInStatus": "not-opted-in",
  "ec2:DescribeAvailabilityZones AvailabilityZones.2.State": "impaired",
  "ec2:DescribeInstanceTypeOfferings InstanceTypeOfferings.1.InstanceType": "t2.nano",
  "ec2:DescribeImages Images.0.BlockDeviceMappings.0.Ebs.VolumeSize": 45,
  "ec2:DescribeImages $when": { [pool.image]: { $code: "InvalidAMIID.NotFound" } },
  "servicequotas:GetServiceQuota $when": { "L-1216C47A": { Quota: { Value: 1 } } },
  "kms:DescribeKey $when": { [key]: { KeyMetadata: { KeyState: "Disabled", KeyUsage: "ENCRYPT_DECRYPT" } } },
  "iam:SimulatePrincipalPolicy $denies": ["ec2:CreateVpc", "iam:CreateServiceLinkedRole"],
  "iam:GetRole $when": { AutoScaling: { $code: "NoSuchEntityException" } },
  "ec2:DescribeVpcBlockPublicAccessOptions VpcBlockPublicAccessOptions.InternetGatewayBlockMode": "block-bidirectional",
  "ssm:DescribeParameters Parameters": [{ Name: "/fenestra/aws-dev/join" }],
};

const mended = (name: string) => (): void => {
  delete account[name];
};

const following: Following = [
  ...mends,
  [
    /^another image in fenestra:pools, pool (\w+)$/,
    (_, name) => {
      poolOf(name).image = "latest";
    },
  ],
  [/^set AWS_PROFILE to a profile of/, mended("sts:GetCallerIdentity Account")],
  [/^aws account enable-region --region-name eu-central-1,/, mended("ec2:DescribeRegions Regions.0.OptInStatus")],
  [
    /^fenestra:network zones: of (.+)$/,
    (_, zones = "") => {
      changes.network.zones = zones.split(", ");
    },
  ],
  [
    /^zones of ([\w-]+), .* in fenestra:pools, pool (\w+)$/,
    (_, zone = "", name) => {
      poolOf(name).zones = [zone];
    },
  ],
  [
    /^aws service-quotas request-service-quota-increase --service-code ec2 --quota-code (\S+) --desired-value (\d+)/,
    (_, code = "", value) => {
      account["servicequotas:GetServiceQuota $when"] = { [code]: { Quota: { Value: Number(value) } } };
    },
  ],
  [/^aws kms enable-key --key-id arn:\S+disks,/, mended("kms:DescribeKey $when")],
  [
    /^a policy with .*"Action":\["ec2:CreateVpc"\]/,
    () => {
      account["iam:SimulatePrincipalPolicy $denies"] = ["iam:CreateServiceLinkedRole"];
    },
  ],
  [/^aws iam create-service-linked-role --aws-service-name autoscaling.amazonaws.com$/, mended("iam:GetRole $when")],
  [
    /modify-vpc-block-public-access-options --internet-gateway-block-mode off$/,
    mended("ec2:DescribeVpcBlockPublicAccessOptions VpcBlockPublicAccessOptions.InternetGatewayBlockMode"),
  ],
  [/aws ssm delete-parameters --names \/fenestra\/aws-dev\/join$/, mended("ssm:DescribeParameters Parameters")],
];

describe("a first day on a new account", function () {
  this.timeout(300_000);

  it("is mended by following the messages and nothing else", async () => {
    const { roomy } = cloudOf("aws");
    const ask = () => askIn(questions, awsNeeds, "aws-dev", day, sendTo(differing(roomy, account)));
    await follow(ask, following);
  });
});
