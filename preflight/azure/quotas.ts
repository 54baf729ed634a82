import { z } from "zod";
import { made } from "../needs.ts";
import { type Ask, doubtful, notAsked, type Question, refused, unless } from "../question.ts";
import { skusOf, vcpusOf } from "./machines.ts";
import { type AzureMachine, type AzureNeeds, get, listed } from "./needs.ts";

const usages = listed(z.object({ name: z.object({ value: z.string() }), currentValue: z.number(), limit: z.number() }));

const usagesOf = (ask: Ask, { subscription, region }: AzureNeeds, provider: "Compute" | "Network") =>
  ask(
    get(
      `Microsoft.${provider}/locations/usages/read`,
      `${subscription}/providers/Microsoft.${provider}/locations/${region}/usages`,
      provider === "Compute" ? "2024-07-01" : "2024-05-01",
    ),
    usages,
  );

/** Machines of this cluster that run, by their size. */
async function running(ask: Ask, { group }: AzureNeeds): Promise<ReadonlyMap<string, number>> {
  const kinds = [
    ["virtualMachineScaleSets", z.object({ sku: z.object({ name: z.string(), capacity: z.number() }) })],
    ["virtualMachines", z.object({ properties: z.object({ hardwareProfile: z.object({ vmSize: z.string() }) }) })],
  ] as const;
  const counts = new Map<string, number>();
  for (const [kind, item] of kinds) {
    const call = get(`Microsoft.Compute/${kind}/read`, `${group.id}/providers/Microsoft.Compute/${kind}`, "2024-07-01");
    const { value } = await unless(/NotFound$/, ask(call, listed(item)), { value: [] });
    for (const each of value) {
      const [size, count] =
        "sku" in each ? [each.sku.name, each.sku.capacity] : [each.properties.hardwareProfile.vmSize, 1];
      counts.set(size, (counts.get(size) ?? 0) + count);
    }
  }
  return counts;
}

const raise = (needs: AzureNeeds, provider: string, name: string, limit: number): string =>
  `az quota update --resource-name ${name} --scope ${needs.subscription}/providers/Microsoft.${provider}/locations/${needs.region} --limit-object value=${limit}`;

const vcpus: Question<AzureNeeds> = {
  id: "vcpu-quota",
  async *run(needs, ask) {
    const [skus, { value }, own] = [
      await skusOf(ask, needs),
      await usagesOf(ask, needs, "Compute"),
      await running(ask, needs),
    ];
    const quotaOf = (machine: AzureMachine): readonly string[] =>
      machine.spot ? ["lowPriorityCores"] : ["cores", skus.get(machine.sizes[0] ?? "")?.family ?? ""];
    const names = new Set(needs.machines.flatMap(quotaOf));
    for (const name of names) {
      const quota = value.find((each) => each.name.value.toLowerCase() === name.toLowerCase());
      if (quota === undefined) {
        yield notAsked(`Azure tells no quota ${name}`);
        continue;
      }
      const group = needs.machines.filter((machine) => quotaOf(machine).includes(name));
      const total = (count: (machine: AzureMachine) => number): number =>
        group.reduce((sum, machine) => sum + count(machine) * vcpusOf(skus, machine.sizes[0]), 0);
      const sizes = new Set(group.flatMap((machine) => machine.sizes));
      const ownCores = [...own].reduce(
        (sum, [size, count]) => sum + (sizes.has(size) ? count * vcpusOf(skus, size) : 0),
        0,
      );
      const others = Math.max(0, quota.currentValue - ownCores);
      const [base, rolling] = [total(({ count }) => count), total(({ count, surge }) => count + surge)];
      const what = `the quota ${name} of ${needs.region} is ${quota.limit}, others use ${others}`;
      const mend = `${raise(needs, "Compute", name, rolling + others)}, or fewer or smaller machines in ${group.map(({ setting }) => setting).join("; ")}`;
      if (base + others > quota.limit) yield refused(`${base} vCPUs are needed; ${what}`, mend);
      else if (rolling + others > quota.limit)
        yield (ownCores > 0 ? refused : doubtful)(`${rolling} vCPUs are needed while pools roll; ${what}`, mend);
    }
  },
};

/** Names of usages differ by version: any of them. */
const counted = [
  [
    "address-quota",
    "public addresses",
    "network:PublicIPAddress",
    /^(StandardSkuPublicIpAddresses|IPv4StandardSkuPublicIpAddresses|PublicIPAddresses)$/,
  ],
  ["network-quota", "load balancers", "network:LoadBalancer", /^LoadBalancers$/],
  ["network-quota", "NAT gateways", "network:NatGateway", /^NatGateways$/],
  ["network-quota", "virtual networks", "network:VirtualNetwork", /^VirtualNetworks$/],
  ["network-quota", "network security groups", "network:NetworkSecurityGroup", /^NetworkSecurityGroups$/],
] as const;

const counting = (id: string): Question<AzureNeeds> => ({
  id,
  async *run(needs, ask) {
    const { value } = await usagesOf(ask, needs, "Network");
    const own = [...(await running(ask, needs)).values()].some((count) => count > 0);
    for (const [of, what, type, pattern] of counted) {
      const needed = made(needs.program, `azure-native:${type}`);
      if (of !== id || needed === 0) continue;
      const quotas = value.filter(({ name }) => pattern.test(name.value));
      if (quotas.length === 0) yield notAsked(`Azure tells no quota of ${what}`);
      for (const { name, currentValue, limit } of quotas)
        if (!own && needed + currentValue > limit)
          yield refused(
            `${needed} ${what} are needed; the quota ${name.value} of ${needs.region} is ${limit}, ${currentValue} are in use`,
            raise(needs, "Network", name.value, needed + currentValue),
          );
    }
  },
});

export const quotas: readonly Question<AzureNeeds>[] = [vcpus, counting("address-quota"), counting("network-quota")];
