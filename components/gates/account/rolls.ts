import type { ClusterSpec } from "../../model/clusterSpec.ts";
import { type AskRoll, Unasked } from "../poolGate.ts";
import { type Ask, CallError, Reply, type Send } from "./question.ts";

/** What passes by itself: a busy cloud, a network that comes back. */
const passing = /^E[A-Z]+$|Throttl|TooMany|RequestLimit|[Tt]imeout|Abort|^(429|5\d\d)$/;

/** Each loads its cloud's SDK alone. */
const senders: Readonly<Record<ClusterSpec["cloud"], (region: string) => Promise<Send>>> = {
  aws: async (region) => (await import("./aws/client.ts")).awsSender(region, () => undefined),
  azure: async () => (await import("./azure/client.ts")).azureSender(() => undefined),
};

/** @param given default: calls with this process's credentials */
export function rollQuestion({ cloud, region }: Pick<ClusterSpec, "cloud" | "region">, given?: Send): AskRoll {
  let sender: Promise<Send> | undefined;
  const ask: Ask = async (right, input = {}) => {
    const call = { right, input };
    sender ??= given === undefined ? senders[cloud](region) : Promise.resolve(given);
    return new Reply(call, await (await sender)(call, AbortSignal.timeout(30_000)));
  };
  return async (id) => {
    try {
      return await problems[cloud](ask, id);
    } catch (error) {
      if (!(error instanceof CallError) || (error.kind === "none" && passing.test(error.code))) throw error;
      throw new Unasked(error.kind === "denied" ? `it needs ${error.call.right}` : `${error.message} (${error.code})`);
    }
  };
}

const problems: Readonly<Record<ClusterSpec["cloud"], (ask: Ask, id: string) => Promise<readonly string[]>>> = {
  aws: async (ask, name) => {
    const found = await ask("autoscaling:DescribeAutoScalingGroups", { AutoScalingGroupNames: [name] });
    const group = found.find("AutoScalingGroups", "AutoScalingGroupName", name);
    if (group === undefined) return [`AWS has no group ${name}`];
    const mixed = "MixedInstancesPolicy.LaunchTemplate.LaunchTemplateSpecification";
    const template = (each: Reply, path: string) =>
      [`${path}.LaunchTemplateId`, `${path}.Version`].map((field) => each.text(field, "")).join(" version ");
    const wanted = template(group, group.text(`${mixed}.LaunchTemplateId`, "") === "" ? "LaunchTemplate" : mixed);
    const older = group
      .list("Instances", [])
      .filter((each) => template(each, "LaunchTemplate") !== wanted)
      .map((each) => `machine ${each.text("InstanceId")} is not made of ${wanted}`);
    const rolls = await ask("autoscaling:DescribeInstanceRefreshes", { AutoScalingGroupName: name });
    const [newest] = rolls
      .list("InstanceRefreshes", [])
      // One that waits for its start is the newest.
      .toSorted((a, b) => b.time("StartTime", Number.POSITIVE_INFINITY) - a.time("StartTime", Number.POSITIVE_INFINITY))
      .map((each) => ({ status: each.text("Status"), reason: each.text("StatusReason", "") }));
    if (newest === undefined || /^(Successful|Cancelled)$/.test(newest.status)) return older;
    return [...older, `the roll of ${name} is ${newest.status}${newest.reason === "" ? "" : `: ${newest.reason}`}`];
  },
  // An update of the set answers after its roll; what it left out keeps the older model.
  azure: async (ask, id) => {
    const at = `${id}/virtualMachines?api-version=2024-07-01`;
    const found = await ask("Microsoft.Compute/virtualMachineScaleSets/virtualMachines/read", at);
    return found
      .list("value")
      .filter((each) => each.is("properties.latestModelApplied", false))
      .map((each) => `machine ${each.text("instanceId")} has an older model`);
  },
};
