import { pageOf } from "../pages.ts";
import type { EndpointAnswer } from "../server.ts";
import { escapeXml } from "./instances.ts";
import type { LifecycleActions } from "./lifecycle.ts";
import type { AwsMachine } from "./metadata.ts";

export interface AwsGroup {
  readonly name: string;
  readonly desired: number;
  readonly tags: ReadonlyMap<string, string>;
  /** Newest version of its launch template. */
  readonly template: number;
}

/** An instance refresh (Amazon EC2 Auto Scaling API reference, InstanceRefresh). */
export interface Refresh {
  readonly id: string;
  readonly status: "InProgress" | "Successful" | "Failed";
  readonly started: Date;
  readonly reason: string;
}

/**
 * DescribeAutoScalingGroups with a filter by one tag, in pages (Amazon EC2 Auto Scaling API reference, version
 * 2011-01-01).
 */
export function describeGroups(
  groups: readonly AwsGroup[],
  machines: readonly AwsMachine[],
  lifecycle: LifecycleActions,
  form: URLSearchParams,
): EndpointAnswer {
  const key = form.get("Filters.member.1.Name")?.replace(/^tag:/, "") ?? "";
  const value = form.get("Filters.member.1.Values.member.1") ?? "";
  const found = new Map(groups.filter(({ tags }) => tags.get(key) === value).map((group) => [group.name, group]));
  const page = pageOf(found.keys(), "", form.get("NextToken"));
  if (page === undefined) return { status: 400, body: "<Error><Code>InvalidNextToken</Code></Error>" };
  const members = page.names.map((name) => {
    const own = machines.filter(({ group }) => group === name);
    return `<member><AutoScalingGroupName>${escapeXml(name)}</AutoScalingGroupName><DesiredCapacity>${found.get(name)?.desired}</DesiredCapacity>${template(found.get(name)?.template)}<Instances>${own.map((machine) => member(machine, lifecycle.waits(machine))).join("")}</Instances></member>`;
  });
  const next = page.next === "" ? "" : `<NextToken>${page.next}</NextToken>`;
  return answer("DescribeAutoScalingGroups", `<AutoScalingGroups>${members.join("")}</AutoScalingGroups>${next}`);
}

function template(version = 1): string {
  return `<LaunchTemplate><LaunchTemplateId>lt-1</LaunchTemplateId><Version>${version}</Version></LaunchTemplate>`;
}

function member({ id, zone, lifecycleState, template: version }: AwsMachine, waits: boolean): string {
  const phase = lifecycleState === "Terminated" ? "Terminating:Wait" : waits ? "Pending:Wait" : "InService";
  const state = `<LifecycleState>${phase}</LifecycleState>`;
  return `<member><InstanceId>${id}</InstanceId><AvailabilityZone>${zone}</AvailabilityZone>${state}${template(version)}</member>`;
}

function answer(action: string, result: string): EndpointAnswer {
  return { status: 200, body: `<${action}Response><${action}Result>${result}</${action}Result></${action}Response>` };
}

/** DescribeInstanceRefreshes of a group, only the newest. */
export function describeRefreshes(refresh: Refresh | undefined): EndpointAnswer {
  if (refresh === undefined) return answer("DescribeInstanceRefreshes", "<InstanceRefreshes/>");
  const { id, status, started, reason } = refresh;
  const times = `<StartTime>${started.toISOString()}</StartTime><StatusReason>${escapeXml(reason)}</StatusReason>`;
  const member = `<member><InstanceRefreshId>${id}</InstanceRefreshId><Status>${status}</Status>${times}</member>`;
  return answer("DescribeInstanceRefreshes", `<InstanceRefreshes>${member}</InstanceRefreshes>`);
}
