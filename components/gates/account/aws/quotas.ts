import { listOf, mapOf, resourceOfId, resourcesOfType, textOf } from "../../values.ts";
import { coresShort, made, namesOf } from "../needs.ts";
import { type Ask, doubtful, notAsked, type Question, type Reply, shortOf } from "../question.ts";
import { sizesOf } from "./machines.ts";
import type { AwsMachine, AwsNeeds } from "./needs.ts";

/** Whether a thing is this cluster's, by its tag. */
const isOwn = (thing: Reply, cluster: string, name?: string): boolean => {
  const tag = (key: string) => thing.find("Tags", "Key", key)?.text("Value");
  return tag("fenestra:cluster") === cluster && (name === undefined || tag("Name") === name);
};

/** The region's machines that count against quotas. */
const running = async (ask: Ask): Promise<readonly Reply[]> =>
  (await ask("ec2:DescribeInstances"))
    .list("Reservations")
    .flatMap((each) => each.list("Instances", []))
    .filter((each) => /^(pending|running|stopping|shutting-down)$/.test(each.text("State.Name")));

/** A quota, and whether only AWS's default is known, of which new accounts have less. */
async function quotaOf(ask: Ask, ServiceCode: string, QuotaCode: string) {
  const input = { ServiceCode, QuotaCode };
  const own = await ask("servicequotas:GetServiceQuota", input, /^NoSuchResource/);
  const found = own.isNone ? await ask("servicequotas:GetAWSDefaultServiceQuota", input) : own;
  return { limit: found.number("Quota.Value"), isDefault: own.isNone };
}

const raise =
  (service: string, code: string) =>
  (value: number): string =>
    `aws service-quotas request-service-quota-increase --service-code ${service} --quota-code ${code} --desired-value ${value}`;

/** Quotas of vCPUs by families, on demand and spot (Service Quotas, `ec2`). */
const vcpuQuotas = [
  [/^[acdhimrtz]\d/, "L-1216C47A", "L-34B43A08"],
  [/^(g|vt)\d/, "L-DB2E81BA", "L-3819A6DF"],
  [/^x\d/, "L-7295265B", "L-E3A00192"],
  [/^p\d/, "L-417A185B", "L-7212CCBC"],
  [/^f\d/, "L-74FC7D96", "L-88CF9481"],
] as const;

const codeOf = (size: string, spot: boolean): string | undefined =>
  vcpuQuotas.find(([families]) => families.test(size))?.[spot ? 2 : 1];

/** Things with a quota, and where the present ones are listed. */
const countedThings = [
  ["address-quota", "public addresses", "ec2/eip:Eip", "ec2 L-0263D0A3", "ec2:DescribeAddresses Addresses"],
  ["network-quota", "VPCs", "ec2/vpc:Vpc", "vpc L-F678F1CE", "ec2:DescribeVpcs Vpcs"],
  [
    "network-quota",
    "internet gateways",
    "ec2/internetGateway:InternetGateway",
    "vpc L-A4707A72",
    "ec2:DescribeInternetGateways InternetGateways",
  ],
  [
    "network-quota",
    "security groups",
    "ec2/securityGroup:SecurityGroup",
    "vpc L-E79EC296",
    "ec2:DescribeSecurityGroups SecurityGroups",
  ],
  [
    "network-quota",
    "network load balancers",
    "lb/loadBalancer:LoadBalancer",
    "elasticloadbalancing L-69A177A2",
    "elasticloadbalancing:DescribeLoadBalancers LoadBalancers LoadBalancerName",
  ],
  [
    "pool-quota",
    "groups of machines",
    "autoscaling/group:Group",
    "autoscaling L-CDE20ADC",
    "autoscaling:DescribeAutoScalingGroups AutoScalingGroups",
  ],
] as const;

/** MiB/s. */
const usualInitializationRate = 5_000;

const counting = (id: string): Question<AwsNeeds> => ({
  id,
  async *run({ program, cluster }, ask) {
    for (const [of, what, type, where, call] of countedThings) {
      const things = made(program, `aws:${type}`);
      if (of !== id || things.length === 0) continue;
      const [service = "", quota = ""] = where.split(" ");
      const [right = "", list = "", field = "-"] = call.split(" ");
      const names = things.map(({ inputs }) => textOf(inputs.name));
      const isOthers = (each: Reply) => !isOwn(each, cluster) && !names.includes(each.text(field, ""));
      const others = (await ask(right)).list(list).filter(isOthers).length;
      const { limit } = await quotaOf(ask, service, quota);
      yield* shortOf({ what, quota, limit, others, counts: [things.length], raise: raise(service, quota) });
    }
  },
});

export const quotaQuestions: readonly Question<AwsNeeds>[] = [
  {
    // Counted with others' use, with surge, and up to the autoscalers' bounds.
    id: "vcpu-quota",
    ofMachine: true,
    async *run({ program, machines, cluster, goes }, ask) {
      const isNamed = namesOf(program);
      const sizeOf = await sizesOf(ask, machines);
      const vcpus = (size: string) => sizeOf(size)?.number("VCpuInfo.DefaultVCpus") ?? 0;
      // Of several sizes the largest that the account has.
      const largest = ({ sizes }: AwsMachine) => Math.max(0, ...sizes.map(vcpus));
      const all = await running(ask);
      for (const [quota, group] of Map.groupBy(machines, ({ sizes: [size = ""], spot }) => codeOf(size, spot))) {
        const [first] = group;
        if (first === undefined) continue;
        if (quota === undefined) {
          yield notAsked(`the quota of ${first.sizes.join(", ")} is not known here`);
          continue;
        }
        const { limit, isDefault } = await quotaOf(ask, "ec2", quota);
        const used = all.filter(
          (each) => codeOf(each.text("InstanceType"), each.text("InstanceLifecycle", "") === "spot") === quota,
        );
        const coresOf = (isCounted: (each: Reply) => boolean): number =>
          used
            .filter(isCounted)
            .reduce(
              (sum, each) => sum + each.number("CpuOptions.CoreCount") * each.number("CpuOptions.ThreadsPerCore"),
              0,
            );
        const leaves = (each: Reply) =>
          goes === undefined && isOwn(each, cluster) && !isNamed(each.find("Tags", "Key", "Name")?.text("Value"));
        yield* coresShort("AWS", group, largest, {
          what: first.spot ? "vCPUs for spot" : "vCPUs",
          quota: isDefault ? `${quota}, AWS's default,` : quota,
          limit,
          others: coresOf((each) => !isOwn(each, cluster, goes)),
          leaving: coresOf(leaves),
          runs: used.some((each) => isOwn(each, cluster)),
          raise: raise("ec2", quota),
        });
      }
    },
  },
  {
    // An account in which nothing has run has limits that no call tells.
    id: "new-account",
    async *run(_, ask) {
      const { isDefault } = await quotaOf(ask, "ec2", "L-1216C47A");
      if (isDefault && (await running(ask)).length === 0)
        yield doubtful(
          "nothing runs in this region and its quotas were never changed: new accounts have less than they are told, and AWS verifies them first (PendingVerification)",
          raise("ec2", "L-1216C47A")(64),
        );
    },
  },
  {
    // Disks that start with a rate share one quota of the region (Amazon EBS User Guide, "Initialize Amazon EBS volumes").
    id: "initialization-quota",
    async *run({ machines }) {
      const rate = machines.reduce((sum, { template, count }) => {
        const [disk] = listOf(template.blockDeviceMappings);
        return sum + count * Number(mapOf(mapOf(disk).ebs).volumeInitializationRate ?? 0);
      }, 0);
      if (rate > usualInitializationRate)
        yield doubtful(
          `disks of Windows machines are read at ${rate} MiB/s when all start at once; AWS's default for a region, shared with others, is ${usualInitializationRate}, and more machines come later`,
          "ask for more of it in Service Quotas (Amazon EBS), or add machines by and by: fenestra:pools, count",
        );
    },
  },
  {
    // Gateways of a zone, whoever's network they are in.
    id: "nat-quota",
    async *run({ program, cluster }, ask) {
      const gateways = resourcesOfType(program, "aws:ec2/natGateway:NatGateway");
      if (gateways.length === 0) return;
      const Filter = [{ Name: "state", Values: ["pending", "available"] }];
      const others = (await ask("ec2:DescribeNatGateways", { Filter }))
        .list("NatGateways")
        .filter((each) => !isOwn(each, cluster));
      const subnets = await ask("ec2:DescribeSubnets");
      const inZone = Map.groupBy(others, (each) =>
        subnets.find("Subnets", "SubnetId", each.text("SubnetId", "-"))?.text("AvailabilityZone"),
      );
      const { limit } = await quotaOf(ask, "vpc", "L-FE5A380F");
      for (const { inputs } of gateways) {
        const zone = textOf(resourceOfId(program, inputs.subnetId)?.outputs.availabilityZone) ?? "";
        yield* shortOf({
          what: `NAT gateways in ${zone}`,
          quota: "L-FE5A380F",
          ...{ limit, others: inZone.get(zone)?.length ?? 0, counts: [1], raise: raise("vpc", "L-FE5A380F") },
        });
      }
    },
  },
  {
    // One rule for each network that may call the API.
    id: "rule-quota",
    async *run({ program, cluster }, ask) {
      const rules = resourcesOfType(program, "aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule");
      const quota = "L-0EA8095F";
      const { limit } = await quotaOf(ask, "vpc", quota);
      const present = (await ask("ec2:DescribeSecurityGroups")).list("SecurityGroups");
      for (const [id, group] of Map.groupBy(rules, ({ inputs }) => textOf(inputs.securityGroupId))) {
        const name = textOf(mapOf(resourceOfId(program, id ?? null)?.inputs.tags).Name);
        // Each network's rule is a resource of its own, made before the rules of others go.
        const leaving = present
          .filter((each) => name !== undefined && isOwn(each, cluster, name))
          .flatMap((each) => each.list("IpPermissions", []))
          .flatMap((each) => each.list("IpRanges", []))
          .filter((each) => !group.some(({ inputs }) => textOf(inputs.cidrIpv4) === each.text("CidrIp")));
        yield* shortOf({
          ...{ what: "inbound rules of a security group", quota, limit, others: 0, leaving: leaving.length },
          counts: [group.length],
          raise: (value) => `${raise("vpc", quota)(value)}, or change fewer networks of fenestra:access at once`,
        });
      }
    },
  },
  ...[...new Set(countedThings.map(([id]) => id))].map(counting),
];
