import assert from "node:assert/strict";
import { loadConfig } from "../../components/config/load.ts";
import { clusterSpec } from "../../components/model/clusterSpec.ts";
import { type Cost, estimateCost } from "../../plan/cost/estimate.ts";
import { readPrices } from "../../plan/cost/prices.ts";
import { costInWords } from "../../plan/cost/text.ts";
import { Recording } from "../rehearsal/recording.ts";
import { stackConfig } from "../support/stacks.ts";

const prices = readPrices();

/** The estimate of a stack with two load balancers, one public in two zones, a NAT gateway and its address. */
function costOf(stack: string, changes: Readonly<Record<string, string>> = {}): Cost {
  const spec = clusterSpec(loadConfig({ ...stackConfig(stack), ...changes }));
  const objects = new Recording({ region: spec.region, accountId: "123456789012" });
  objects.add("aws:ec2/natGateway:NatGateway", "nat", {});
  objects.add("aws:ec2/eip:Eip", "nat", {});
  objects.add("aws:lb/loadBalancer:LoadBalancer", "in", { internal: true, subnets: ["a", "b"] });
  objects.add("aws:lb/loadBalancer:LoadBalancer", "out", { internal: false, subnets: ["a", "b"] });
  objects.add("aws:kms/key:Key", "key", {});
  return estimateCost(spec, objects.program(), prices);
}

describe("the estimate of the cost", () => {
  it("counts machines, licences, disks and what lies around them", () => {
    const cost = costOf("aws-dev");
    const machine = 0.12 * 730;
    const cents = (amount: number): number => Math.round(amount * 100) / 100;
    assert.deepEqual(cost.lines, [
      { what: "control plane", month: cents(machine + 0.0952 * (50 + 20)) },
      { what: "linux", month: cents(2 * (machine + 0.0952 * 50)) },
      { what: "win2019", month: cents(2 * (machine + 2 * 0.046 * 730 + 0.0952 * 120)) },
      { what: "win2022", month: cents(2 * (machine + 2 * 0.046 * 730 + 0.0952 * 120)) },
      { what: "1 NAT gateway", month: cents(0.052 * 730) },
      { what: "2 load balancers", month: cents(2 * 0.027 * 730) },
      { what: "3 public addresses", month: cents(3 * 0.005 * 730) },
      { what: "1 key", month: 1 },
    ]);
    assert.equal(cost.known, cents(cost.lines.reduce((total, { month }) => total + (month ?? 0), 0)));
    assert.equal(cost.complete, true);
  });

  it("says what is unknown in place of a figure: a size, spare capacity, a region, a disk's tier", () => {
    const month = (cost: Cost, name: string) => cost.lines.find(({ what }) => what === name)?.month;
    const prod = costOf("aws-prod");
    assert.equal(month(prod, "win2025"), null, "m8i has no price here");
    assert.equal(month(prod, "win2019"), 0, "no machine, no cost");
    assert.match(costInWords(prod), /^at least \d+ US dollars a month$/);
    const pools = JSON.stringify([{ name: "linux", os: "linux", spot: true }]);
    assert.equal(month(costOf("aws-dev", { "fenestra:pools": pools }), "linux"), null);
    const elsewhere = {
      "fenestra:region": "eu-north-1",
      "fenestra:network": JSON.stringify({ zones: ["eu-north-1a"] }),
    };
    assert.equal(costInWords(costOf("aws-dev", elsewhere)), "unknown");
    assert.equal(costOf("azure-dev").lines[0]?.month, Math.round((0.115 * 730 + 11 + 6) * 100) / 100);
    const large = JSON.stringify([{ name: "linux", os: "linux", diskGb: 300 }]);
    assert.equal(month(costOf("azure-dev", { "fenestra:pools": large }), "linux"), null);
  });
});
