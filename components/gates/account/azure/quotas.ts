import { mapOf } from "../../values.ts";
import { coresShort, made, namesOf } from "../needs.ts";
import { type Ask, notAsked, type Question, type Reply, shortOf } from "../question.ts";
import { skusOf, vcpusOf } from "./machines.ts";
import { type AzureMachine, type AzureNeeds, path } from "./needs.ts";

type Provider = "Compute" | "Network";

async function usagesOf(ask: Ask, { subscription, region }: AzureNeeds, provider: Provider): Promise<readonly Reply[]> {
  const at = `${subscription}/providers/Microsoft.${provider}/locations/${region}/usages`;
  return (await ask(`Microsoft.${provider}/locations/usages/read`, path(at, "2024-07-01"))).list("value");
}

/** Machines of one size: this cluster's, or those that go. */
interface Running {
  readonly name: string;
  readonly size: string;
  readonly isSpot: boolean;
  readonly count: number;
}

async function running(ask: Ask, { group, goes, cluster }: AzureNeeds): Promise<readonly Running[]> {
  const all: Running[] = [];
  for (const kind of ["virtualMachineScaleSets", "virtualMachines"]) {
    const at = path(`${group.id}/providers/Microsoft.Compute/${kind}`, "2024-07-01");
    for (const each of (await ask(`Microsoft.Compute/${kind}/read`, at, /NotFound$/)).list("value")) {
      // An existing group may have another cluster's.
      const isOwn =
        goes === undefined ? each.text("tags.fenestra:cluster", "") === cluster : each.text("name", "") === goes;
      if (!isOwn) continue;
      all.push({
        name: each.text("name", ""),
        size: each.text("sku.name", "") || each.text("properties.hardwareProfile.vmSize"),
        isSpot: each.text("properties.virtualMachineProfile.priority", "") === "Spot",
        count: each.number("sku.capacity", 1),
      });
    }
  }
  return all;
}

const raise =
  ({ subscription, region }: AzureNeeds, provider: Provider, name: string) =>
  (limit: number): string =>
    `az quota update --resource-name ${name} --scope ${subscription}/providers/Microsoft.${provider}/locations/${region} --limit-object value=${limit}`;

/** Names of usages differ by version: any of them counts. */
const counted = [
  [
    "address-quota",
    "public addresses",
    "PublicIPAddress",
    /^(IPv4)?Standard(Sku|SKU)PublicIpAddresses$|^PublicIPAddresses$/,
  ],
  ["network-quota", "load balancers", "LoadBalancer", /^LoadBalancers$/],
  ["network-quota", "NAT gateways", "NatGateway", /^NatGateways$/],
  ["network-quota", "virtual networks", "VirtualNetwork", /^VirtualNetworks$/],
  ["network-quota", "network security groups", "NetworkSecurityGroup", /^NetworkSecurityGroups$/],
] as const;

const counting = (id: string): Question<AzureNeeds> => ({
  id,
  async *run(needs, ask) {
    const usages = await usagesOf(ask, needs, "Network");
    // What the cluster has is already in the numbers.
    if ((await running(ask, needs)).length > 0) return;
    // Those of the program, each of which gets an address when it is made.
    const services = made(needs.program, "kubernetes:core/v1:Service").filter(
      ({ inputs: { spec, metadata } }) =>
        mapOf(spec).type === "LoadBalancer" &&
        mapOf(mapOf(metadata).annotations)["service.beta.kubernetes.io/azure-load-balancer-internal"] !== "true",
    ).length;
    for (const [of, what, type, pattern] of counted) {
      const needed =
        made(needs.program, `azure-native:network:${type}`).length + (id === "address-quota" ? services : 0);
      if (of !== id || needed === 0) continue;
      const quotas = usages.filter((each) => pattern.test(each.text("name.value")));
      if (quotas.length === 0) yield notAsked(`Azure tells no quota of ${what}`);
      for (const each of quotas) {
        const name = each.text("name.value");
        const [limit, others] = [each.number("limit"), each.number("currentValue")];
        yield* shortOf({
          ...{ what, limit, others, counts: [needed], raise: raise(needs, "Network", name) },
          quota: `${name} of ${needs.region}`,
        });
      }
    }
  },
});

export const quotaQuestions: readonly Question<AzureNeeds>[] = [
  {
    // Of the region and of each family, up to the autoscalers' bounds.
    id: "vcpu-quota",
    ofMachine: true,
    async *run(needs, ask) {
      const skuOf = await skusOf(ask, needs);
      const usages = await usagesOf(ask, needs, "Compute");
      const own = await running(ask, needs);
      const isNamed = namesOf(needs.program);
      const familyOf = (size = ""): string => skuOf(size)?.text("family", "") ?? "";
      const quotasOf = ({ spot, sizes: [size] }: AzureMachine) =>
        spot ? ["lowPriorityCores"] : ["cores", familyOf(size)];
      for (const quota of new Set(needs.machines.flatMap(quotasOf))) {
        const found = usages.find((each) => each.text("name.value").toLowerCase() === quota.toLowerCase());
        if (found === undefined) {
          yield notAsked(`Azure tells no quota ${quota}`);
          continue;
        }
        const group = needs.machines.filter((each) => quotasOf(each).includes(quota));
        const vcpus = ({ sizes: [size = ""] }: AzureMachine): number => vcpusOf(skuOf(size));
        const sizes = new Set(group.flatMap((each) => each.sizes.map((size) => size.toLowerCase())));
        // One that goes may have another size; others count where they are needed again.
        const isCounted = ({ size, isSpot }: Running) =>
          isSpot === (quota === "lowPriorityCores") &&
          (needs.goes === undefined
            ? sizes.has(size.toLowerCase())
            : isSpot || quota === "cores" || quota === familyOf(size));
        const leaves = ({ name }: Running) => needs.goes === undefined && !isNamed(name);
        const coresOf = (all: readonly Running[]) =>
          all.reduce((sum, { size, count }) => sum + count * vcpusOf(skuOf(size)), 0);
        const ownCores = coresOf(own.filter(isCounted));
        yield* coresShort("Azure", group, vcpus, {
          what: "vCPUs",
          quota: `${quota} of ${needs.region}`,
          limit: found.number("limit"),
          others: Math.max(0, found.number("currentValue") - ownCores),
          leaving: coresOf(own.filter(isCounted).filter(leaves)),
          runs: ownCores > 0,
          raise: raise(needs, "Compute", quota),
        });
      }
    },
  },
  counting("address-quota"),
  counting("network-quota"),
];
