import { z } from "zod";
import { made } from "../needs.ts";
import { type Ask, doubtful, notAsked, type Question, refused, unless } from "../question.ts";
import type { AwsMachine, AwsNeeds } from "./needs.ts";

const tagged = z.object({ Tags: z.array(z.object({ Key: z.string(), Value: z.string() })).default([]) });

const isOwn = ({ Tags }: z.output<typeof tagged>, cluster: string): boolean =>
  Tags.some(({ Key, Value }) => Key === "fenestra:cluster" && Value === cluster);

const instances = z.object({
  Reservations: z.array(
    z.object({
      Instances: z.array(
        tagged.extend({
          InstanceType: z.string(),
          InstanceLifecycle: z.string().optional(),
          State: z.object({ Name: z.string() }),
          CpuOptions: z.object({ CoreCount: z.number(), ThreadsPerCore: z.number() }),
        }),
      ),
    }),
  ),
});

/** Machines that count against quotas, of the whole region. */
const runningInstances = async (ask: Ask) =>
  (await ask({ right: "ec2:DescribeInstances", input: {} }, instances)).Reservations.flatMap(
    (each) => each.Instances,
  ).filter(({ State }) => /^(pending|running|stopping|shutting-down)$/.test(State.Name));

const sizes = z.object({
  InstanceTypes: z.array(z.object({ InstanceType: z.string(), VCpuInfo: z.object({ DefaultVCpus: z.number() }) })),
});

const quota = z.object({ Quota: z.object({ Value: z.number() }) });

/** A quota, and whether only AWS's default is known: new accounts have less than that. */
async function quotaOf(ask: Ask, ServiceCode: string, QuotaCode: string) {
  const input = { ServiceCode, QuotaCode };
  const own = await unless(/^NoSuchResource/, ask({ right: "servicequotas:GetServiceQuota", input }, quota), undefined);
  const found = own ?? (await ask({ right: "servicequotas:GetAWSDefaultServiceQuota", input }, quota));
  return { limit: found.Quota.Value, isDefault: own === undefined };
}

const raise = (service: string, code: string, value: number): string =>
  `aws service-quotas request-service-quota-increase --service-code ${service} --quota-code ${code} --desired-value ${value}`;

/** Quotas of vCPUs by the families that they are for, on demand and spot (Service Quotas, `ec2`). */
const vcpuQuotas: readonly (readonly [families: RegExp, onDemand: string, spot: string])[] = [
  [/^[acdhimrtz]\d/, "L-1216C47A", "L-34B43A08"],
  [/^(g|vt)\d/, "L-DB2E81BA", "L-3819A6DF"],
  [/^x\d/, "L-7295265B", "L-E3A00192"],
  [/^p\d/, "L-417A185B", "L-7212CCBC"],
  [/^f\d/, "L-74FC7D96", "L-88CF9481"],
];

const codeOf = (size: string, spot: boolean): string | undefined => {
  const [, onDemand, forSpot] = vcpuQuotas.find(([families]) => families.test(size)) ?? [];
  return spot ? forSpot : onDemand;
};

/** vCPUs with what others use, with surge and up to the autoscalers' bounds. */
const vcpus: Question<AwsNeeds> = {
  id: "vcpu-quota",
  async *run({ machines, cluster }, ask) {
    const names = [...new Set(machines.flatMap((each) => each.sizes))];
    const input = { Filters: [{ Name: "instance-type", Values: names }] };
    const { InstanceTypes } = await ask({ right: "ec2:DescribeInstanceTypes", input }, sizes);
    const known = new Map(InstanceTypes.map(({ InstanceType, VCpuInfo }) => [InstanceType, VCpuInfo.DefaultVCpus]));
    const running = await runningInstances(ask);
    // Of several sizes the largest that the account has.
    const of = (machine: AwsMachine, count: number): number =>
      count * Math.max(0, ...machine.sizes.map((size) => known.get(size) ?? 0));
    const groups = Map.groupBy(machines, ({ sizes: [size = ""], spot }) => codeOf(size, spot));
    for (const [code, group] of groups) {
      const [first] = group;
      if (first === undefined) continue;
      if (code === undefined) {
        yield notAsked(`the quota of ${first.sizes.join(", ")} is not known here`);
        continue;
      }
      const { limit, isDefault } = await quotaOf(ask, "ec2", code);
      const used = running.filter((each) => codeOf(each.InstanceType, each.InstanceLifecycle === "spot") === code);
      const sum = (list: typeof used): number =>
        list.reduce((all, { CpuOptions }) => all + CpuOptions.CoreCount * CpuOptions.ThreadsPerCore, 0);
      const others = sum(used.filter((each) => !isOwn(each, cluster)));
      const total = (count: (machine: AwsMachine) => number): number =>
        group.reduce((all, machine) => all + of(machine, count(machine)), 0);
      const [base, rolling, most] = [
        total(({ count }) => count),
        total(({ count, surge }) => count + surge),
        total((each) => Math.max(each.most, each.count + each.surge)),
      ];
      const what = `the quota ${code} of vCPUs${first.spot ? " for spot" : ""} is ${limit}${isDefault ? " by default" : ""}, others use ${others}`;
      const mend = `${raise("ec2", code, most + others)}, or fewer or smaller machines in ${group.map(({ setting }) => setting).join("; ")}`;
      if (base + others > limit) yield refused(`${base} vCPUs are needed; ${what}`, mend);
      else if (rolling + others > limit)
        // What runs already must roll; at first nothing does.
        yield (used.length > 0 && sum(used) > others ? refused : doubtful)(
          `${rolling} vCPUs are needed while pools roll; ${what}`,
          mend,
        );
      else if (most + others > limit)
        yield doubtful(`${most} vCPUs are needed when pools are at their largest; ${what}`, mend);
    }
  },
};

/** An account in which nothing has run has limits that no call tells. */
const newAccount: Question<AwsNeeds> = {
  id: "new-account",
  async *run(_, ask) {
    const running = await runningInstances(ask);
    const { isDefault } = await quotaOf(ask, "ec2", "L-1216C47A");
    if (running.length === 0 && isDefault)
      yield doubtful(
        "nothing runs in this region and its quotas were never changed: new accounts have less than they are told, and AWS verifies them first (PendingVerification)",
        raise("ec2", "L-1216C47A", 64),
      );
  },
};

/** Things of which a region or an account has a quota, with the list of those that there are. */
const countedThings = [
  ["address-quota", "public addresses", "ec2/eip:Eip", "ec2", "L-0263D0A3", "ec2:DescribeAddresses", "Addresses"],
  ["network-quota", "VPCs", "ec2/vpc:Vpc", "vpc", "L-F678F1CE", "ec2:DescribeVpcs", "Vpcs"],
  [
    "network-quota",
    "internet gateways",
    "ec2/internetGateway:InternetGateway",
    "vpc",
    "L-A4707A72",
    "ec2:DescribeInternetGateways",
    "InternetGateways",
  ],
] as const;

const counting = (id: string): Question<AwsNeeds> => ({
  id,
  async *run({ program, cluster }, ask) {
    for (const [of, what, type, service, code, right, list] of countedThings) {
      const needed = made(program, `aws:${type}`);
      if (of !== id || needed === 0) continue;
      const answer = await ask({ right, input: {} }, z.object({ [list]: z.array(tagged) }));
      const others = (answer[list] ?? []).filter((each) => !isOwn(each, cluster)).length;
      const { limit } = await quotaOf(ask, service, code);
      if (needed + others > limit)
        yield refused(
          `${needed} ${what} are needed; the quota ${code} is ${limit}, others use ${others}`,
          raise(service, code, needed + others),
        );
    }
  },
});

export const quotas: readonly Question<AwsNeeds>[] = [
  vcpus,
  newAccount,
  ...new Set(countedThings.map(([id]) => id)),
].map((each) => (typeof each === "string" ? counting(each) : each));
