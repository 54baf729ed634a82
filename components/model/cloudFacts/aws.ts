import { at } from "../json.ts";
import { type CloudFacts, names } from "./facts.ts";
import { ec2Id, partition } from "./ids.ts";
import { awsArch, awsMachineSize, awsSizes } from "./machineSizes.ts";

/** Zones of today's accounts, where not a, b and c: some regions have closed one, us-west-1 gives two. */
const firstLetters: Readonly<Record<string, string>> = {
  "ap-northeast-1": "acd",
  "ca-central-1": "abd",
  "us-west-1": "ac",
};

/** The last zone where that is not c (AWS documentation, "AWS Availability Zones"). */
const lastLetters: Readonly<Record<string, string>> = {
  "ap-northeast-1": "d",
  "ap-northeast-2": "d",
  "ca-central-1": "d",
  "us-east-1": "f",
  "us-west-2": "d",
};

/** Zones have letters behind the region's name, which differ by account (EC2, DescribeAvailabilityZones). */
const zones: CloudFacts["zones"] = {
  ofRegion: true,
  pattern: (region) => new RegExp(`^${region}[a-${lastLetters[region] ?? "c"}]$`),
  refusal: (region) => ({
    message: "is not a zone of the region",
    allowed: `${region}a to ${region}${lastLetters[region] ?? "c"}`,
  }),
  label: "topology.k8s.aws/zone-id",
  first: (region) => [...(firstLetters[region] ?? "abc")].map((letter) => `${region}${letter}`),
  query: (region) => `aws ec2 describe-availability-zones --region ${region}`,
};

/**
 * Beginnings of names that AWS reserves, by type: Elastic Load Balancing API, CreateLoadBalancer; EC2 API,
 * CreateSecurityGroup; S3, "Bucket naming rules".
 */
export const awsPrefixes: Readonly<Record<string, readonly string[]>> = {
  "lb/loadBalancer:LoadBalancer": ["internal-"],
  "ec2/securityGroup:SecurityGroup": ["sg-"],
  "s3/bucket:Bucket": ["sthree-", "xn--", "amzn-s3-demo-"],
};

const ownPrefixes = Object.values(awsPrefixes).flat();

/**
 * Most tags of a group that a call adds or takes away (Amazon EC2 Auto Scaling User Guide, "Tag naming and usage
 * restrictions"); an update is one call of each kind (hashicorp/terraform-provider-aws,
 * internal/service/autoscaling/tags_gen.go, `updateTags`). A new group takes all of its tags.
 */
const mostTagsAtOnce = 25;

/** What AWS has against an update of a group's tags. */
export function tagRefusal(old: unknown, now: unknown): string | undefined {
  const [before, after] = [tagTexts(old), tagTexts(now)];
  const removed = [...before].filter(([key]) => !after.has(key));
  const written = [...after].filter(([key, text]) => before.get(key) !== text);
  const most = Math.max(removed.length, written.length);
  return most <= mostTagsAtOnce
    ? undefined
    : `is refused: ${most} tags at once, and AWS takes ${mostTagsAtOnce}; change tags, labels and taints in two updates`;
}

const tagTexts = (tags: unknown): ReadonlyMap<string, string> =>
  new Map(
    (Array.isArray(tags) ? tags : []).map((tag) => [
      String(at(tag, "key")),
      `${at(tag, "value")} ${at(tag, "propagateAtLaunch")}`,
    ]),
  );

export const aws: CloudFacts = {
  name: "aws",
  settings: names(`
    iam addons.logs.cloudwatch addons.gmsa.credentialSpecs[].kmsKey
    access.workloadIdentity.serviceAccounts[].policies access.workloadIdentity.serviceAccounts[].statements
    network.existing.tagSubnets network.existing.subnets.*.public
    pools[].furtherSizes pools[].onDemand pools[].instanceProfile pools[].maxAge pools[].update.maxUnavailable`),
  podNetworks: ["flannel"],
  nameRefusal: (name) =>
    ownPrefixes.some((prefix) => `${name}-`.startsWith(prefix))
      ? {
          message: "makes the name of a resource that AWS refuses",
          allowed: `a name that is not one of these and does not begin with one: ${ownPrefixes.join(" ")}`,
        }
      : undefined,
  apiRetirements: [],
  words: {
    title: "AWS",
    account: "AWS account",
    network: "VPC",
    secrets: "Parameter Store",
    secret: "Parameter",
    bucket: "Bucket",
  },
  account: { pattern: /^\d{12}$/, words: "an AWS account id, 12 digits", fake: "000000000000" },
  regions: {
    pattern: /^[a-z]{2}(-[a-z]+)+-\d+$/,
    words: "the name of a region of AWS, such as eu-central-1",
    example: "eu-central-1",
    // Amazon EC2 User Guide, "Regions and zones".
    known: names(`
      us-east-1 us-east-2 us-west-1 us-west-2 us-gov-east-1 us-gov-west-1 ca-central-1 ca-west-1 mx-central-1 sa-east-1
      af-south-1 il-central-1 me-central-1 me-south-1 ap-east-1 ap-east-2 ap-south-1 ap-south-2 ap-northeast-1 ap-northeast-2
      ap-northeast-3 ap-southeast-1 ap-southeast-2 ap-southeast-3 ap-southeast-4 ap-southeast-5 ap-southeast-6 ap-southeast-7
      eu-central-1 eu-central-2 eu-north-1 eu-south-1 eu-south-2 eu-west-1 eu-west-2 eu-west-3`),
    refusal: (region) =>
      /^(cn|us-iso[a-z]*|eu-iso[a-z]*)-/.test(region)
        ? `is a region ${region.startsWith("cn-") ? "in China" : "of its own network"}, where endpoints have a domain that Fenestra's machines do not use`
        : undefined,
    partition,
  },
  zones,
  sizes: {
    pattern: /^[a-z][a-z0-9-]*\.[a-z0-9-]+$/,
    words: "an EC2 instance type such as m7i.large",
    default: "m7i.large",
    read: awsMachineSize,
    arch: awsArch,
    another: (name) => {
      const size = name.replace(/^[^.]*/, "");
      const families = [name.charAt(0), "m"].flatMap((letter) => ["6i", "7i"].map((each) => `${letter}${each}`));
      return families.map((each) => each + size).find((each) => each !== name && awsSizes.has(each)) ?? "m6i.large";
    },
    known: "c5, m5, r5 and later from large on, t3 and later from medium to 2xlarge",
    nesting: "a size of c8i, m8i or r8i with at most 192 processors",
    // Of EC2's types of 2026 (DescribeInstanceTypes, EbsOptimizedSupport and SupportedUsageClasses).
    diskRefusal: (size) =>
      /^(t[12]\.|([cm]1|m3)\.medium|m1\.small|m2\.xlarge|m3\.large|[cr]3\.large|([cr]3|[gi]2)\.8xlarge)/.test(size)
        ? {
            message: "is never EBS-optimised, which every machine of Fenestra is",
            allowed: "a size that can be, such as t3.large or m7i.large",
          }
        : undefined,
    spotRefusal: (size) =>
      /^(hpc|mac|u-|u\d|trn2u\.|t2\.nano)/.test(size)
        ? { message: "is never given as a spot machine", allowed: "a size of another family, or spot: false" }
        : undefined,
    startsFirst: () => true,
  },
  ownMachine: () => 'variables.machine.endsWith("/" + object.metadata.name)',
  images: {
    pattern: ec2Id("ami"),
    words: "latest or an AMI id, ami- with 8 or 17 hexadecimal digits",
    ofOther: () => undefined,
  },
  disks: { types: ["gp3", "io2"], windowsGb: 120, windowsLeastGb: 30, mostGb: 4096 },
  tags: {
    // IAM restricts tags of roles to these characters (IAM API Reference, Tag).
    fits: (name, value) => /^[\p{L}\p{Z}\p{N}_.:/=+\-@]*$/u.test(name + value),
    refusal: {
      message: "has a character that AWS refuses in tags of roles",
      allowed: "letters, digits, spaces and _ . : / = + - @",
    },
    takesName: false,
    most: undefined,
    ofGroup: 4 + 2 + 3,
    roll: true,
    // Keys of tags have 128 characters.
    ignoreCase: false,
    longestHint: 128 - "k8s.io/cluster-autoscaler/node-template/label/".length,
    ignoresBeginnings: true,
  },
  balancerLooks: { every: 10, failures: 2 },
  network: {
    // A zone's public part must be a /27: the cloud controller's load balancers require eight free addresses (Elastic
    // Load Balancing, Classic Load Balancers, "Prepare your VPC and EC2 instances").
    smallest: 21,
    // Amazon EC2 User Guide, resource ids.
    id: { pattern: ec2Id("vpc"), words: "the id of a VPC, such as vpc-0123456789abcdef0" },
    subnet: {
      isId: (id) => ec2Id("subnet").test(id),
      refusal: () => ({
        message: "is not the id of a subnet",
        allowed: "the id of a subnet, such as subnet-0123456789abcdef0",
      }),
    },
    // Interfaces begin with their own: 9001 within a network.
    unsplit: undefined,
    subnetsSpanZones: false,
    natPorts: undefined,
    sharedSubnet: "a subnet of its own for each zone and purpose",
    resourceGroups: false,
    podsOnInterfaces: false,
    addressAnnotations: false,
    balancersInNetwork: false,
    publicSubnets: true,
    // A rule each: 60 by default, which preflight asks, and never more (Amazon VPC User Guide, "Amazon VPC quotas").
    mostCallers: 1000,
    accountOf: () => undefined,
    natRefusal: undefined,
    // As EC2Launch v2 writes them: metadata, activation, clock and resolver (ovn-org/ovn-kubernetes#4587).
    services: [254, 123, 249, 250, 251, 253],
    metadata: [{ address: "169.254.169.254", port: 80 }],
    deafUdpPorts: [],
  },
  access: {
    dnsZone: { pattern: /^[^/]/, words: "the id of a hosted zone of Route 53" },
    rights: ["policies", "statements"],
    rsaTokens: false,
    signsObjects: true,
    keyAlgorithm: "ECDSA-P256",
    logs: "cloudwatch",
  },
  timings: {
    drain: { linux: 600, windows: 600 },
    // Gone two minutes after the notice (documentation of spot interruption notices).
    spotDrain: { linux: 90, windows: 100 },
    // The group's lifecycle hook.
    termination: { linux: 900, windows: 900 },
    heartbeats: true,
    // A network balancer's targets get new connections for two minutes after they are deregistered, by measurements
    // (kubernetes-sigs/aws-load-balancer-controller#2366, aws/containers-roadmap#470); one more for the controller.
    balancerLeaves: 180,
  },
  machines: {
    // 16 KB before base64 (Amazon EC2 User Guide, "Run commands when you launch an instance").
    userDataBytes: 16_384,
    // Answers live for one hop only.
    guardsMetadata: false,
    rollsSpot: true,
    // Amazon EC2 API Reference, InstanceStatusEvent. A group replaces what is stopped.
    drainEvents: {
      leaves: ["instance-retirement", "instance-stop"],
      returns: ["instance-reboot", "system-maintenance", "system-reboot"],
    },
    windows: {
      longestGroup: Number.POSITIVE_INFINITY,
      // EC2Launch does not survive a reboot from within, so the task does it all.
      foreground: false,
      // User data also runs again (EC2 User Guide, EC2Launch v2 settings).
      generalize: {
        command: [
          ...["C:\\Program Files\\Amazon\\EC2Launch\\EC2Launch.exe", "sysprep"],
          ...["--clean", "--block", "--shutdown=false"],
        ],
        agents: [],
        firstLogon: false,
      },
      statusFiles: "",
      console: "COM1",
      clock: {
        calls: [["/config", "/manualpeerlist:169.254.169.123,0x9", "/syncfromflags:manual", "/update"]],
        registry: [],
      },
      cloudLogs: ["C:\\ProgramData\\Amazon\\EC2Launch\\log"],
    },
  },
};
