import type { Ask, Reply } from "../question.ts";
import { awsSender } from "./client.ts";

export const sender = (region: string) => awsSender(region, () => undefined);

/** What is left of a group's roll. */
export async function rollProblems(ask: Ask, name: string): Promise<readonly string[]> {
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
}
