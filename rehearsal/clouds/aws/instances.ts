import type { SimulatedMachine } from "../../../plan/fakes/machines.ts";
import { type EndpointAnswer, pageOf } from "../server.ts";
import { type AwsMachine, privateDnsName } from "./metadata.ts";

/** EC2's DescribeInstances by ids, or by the value of one tag (Amazon EC2 API reference, DescribeInstances). */
export function describeInstances(all: readonly AwsMachine[], form: URLSearchParams): EndpointAnswer {
  const others = /^(?!(Action|Version|NextToken|InstanceId\.\d+|Filter\.1\.(Name|Value\.1))$)/;
  const [filter = "tag:", value] = ["Name", "Value.1"].map((part) => form.get(`Filter.1.${part}`) ?? undefined);
  const strange = [...form.keys()].find((key) => others.test(key));
  if (strange !== undefined || !filter.startsWith("tag:") || /[*?]/.test(value ?? ""))
    return refused("InvalidParameterValue", `no simulation of ${strange ?? `the filter ${filter}`}`);
  const ids = [...form].flatMap(([key, id]) => (key.startsWith("InstanceId.") ? id : []));
  const missing = ids.find((id) => !all.some((machine) => machine.id === id));
  if (missing !== undefined)
    return refused("InvalidInstanceID.NotFound", `The instance ID '${missing}' does not exist`);
  const found = all.filter(
    ({ id, tags }) => (ids.length === 0 || ids.includes(id)) && tags[filter.slice("tag:".length)] === value,
  );
  const items = new Map(found.map((machine) => [machine.id, instanceItem(machine)]));
  const page = pageOf(items.keys(), "", form.get("NextToken"));
  if (page === undefined) return refused("InvalidParameterValue", "The token is invalid");
  const set = page.names.map((id) => `<item><instancesSet>${items.get(id)}</instancesSet></item>`).join("");
  const next = page.next === "" ? "" : `<nextToken>${page.next}</nextToken>`;
  const body = `<DescribeInstancesResponse><reservationSet>${set}</reservationSet>${next}</DescribeInstancesResponse>`;
  return { status: 200, body };
}

/**
 * Milliseconds until lists have a new instance (Amazon EC2 Developer Guide, "Ensure idempotency", eventual
 * consistency).
 */
const lagMs = 2_000;

/** The machines that lists have by now. */
export function seen(machines: Iterable<AwsMachine>): readonly AwsMachine[] {
  return [...machines].filter(({ launched }) => Date.now() - launched.getTime() > lagMs);
}

function instanceItem(machine: AwsMachine): string {
  const { id, launched, privateIp: address, zone, size, tags, windows, terminated = false } = machine;
  const tagSet = Object.entries(tags).map(
    ([key, value]) => `<item><key>${escapeXml(key)}</key><value>${escapeXml(value)}</value></item>`,
  );
  // A terminated one has no interface, address and name any more.
  const of = (text: string) => (terminated ? "" : text);
  const card = `<status>in-use</status><privateIpAddress>${address}</privateIpAddress><privateIpAddressesSet><item><privateIpAddress>${address}</privateIpAddress></item></privateIpAddressesSet>`;
  return [
    `<item><instanceId>${id}</instanceId><instanceState><code>${terminated ? 48 : 16}</code><name>${terminated ? "terminated" : "running"}</name></instanceState>`,
    `<instanceType>${size}</instanceType><privateDnsName>${of(privateDnsName(machine))}</privateDnsName><launchTime>${launched.toISOString()}</launchTime>`,
    `<placement><availabilityZone>${zone}</availabilityZone></placement>${windows ? "<platform>windows</platform>" : ""}`,
    `${of(`<privateIpAddress>${address}</privateIpAddress>`)}<tagSet>${tagSet.join("")}</tagSet>`,
    `<networkInterfaceSet>${of(`<item>${card}</item>`)}</networkInterfaceSet></item>`,
  ].join("");
}

function escapeXml(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}

/** An error as EC2 gives it (Amazon EC2 Developer Guide, "Error codes for the Amazon EC2 API"). */
export function refused(code: string, message = code, status = 400): EndpointAnswer {
  return {
    status,
    body: `<Response><Errors><Error><Code>${code}</Code><Message>${message}</Message></Error></Errors></Response>`,
  };
}

export interface AwsGroup {
  readonly name: string;
  readonly arn: string;
  readonly desired: number;
  readonly tags: ReadonlyMap<string, string>;
  /** Newest version of its launch template. */
  readonly template: number;
}

/** An instance refresh (Amazon EC2 Auto Scaling API reference, InstanceRefresh). */
export interface Refresh {
  readonly id: string;
  readonly status: "InProgress" | "Successful";
  readonly started: Date;
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
    const own = machines.filter(({ group }) => group?.name === name);
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
  const { id, status, started } = refresh;
  const times = `<StartTime>${started.toISOString()}</StartTime>`;
  const member = `<member><InstanceRefreshId>${id}</InstanceRefreshId><Status>${status}</Status>${times}</member>`;
  return answer("DescribeInstanceRefreshes", `<InstanceRefreshes>${member}</InstanceRefreshes>`);
}

/**
 * The lifecycle actions of Auto Scaling groups: from its launch, and from the announcement of its end, an instance
 * waits at each hook of its group until the action is completed (Amazon EC2 Auto Scaling User Guide, "How lifecycle
 * hooks work"; CompleteLifecycleAction). Time ends no action here, and none is abandoned.
 */
export class LifecycleActions {
  /** `GROUP HOOK`, by the id of the instance. */
  readonly #waiting = new Map<string, readonly string[]>();

  launch({ id, group }: SimulatedMachine): void {
    this.#waiting.set(id, group?.launchHooks.map((hook) => `${group.name} ${hook}`) ?? []);
  }

  /** A machine's end is announced: it waits at its group's termination hooks alone. */
  terminate({ id, group }: SimulatedMachine): void {
    this.#waiting.set(id, group?.terminateHooks.map((hook) => `${group.name} ${hook}`) ?? []);
  }

  waits({ id }: Pick<SimulatedMachine, "id">): boolean {
    return (this.#waiting.get(id) ?? []).length > 0;
  }

  /**
   * CompleteLifecycleAction or RecordLifecycleActionHeartbeat, by the form that was sent.
   * @returns message of the ValidationError, if there is one
   */
  act(form: URLSearchParams): string | undefined {
    const id = form.get("InstanceId") ?? "";
    const action = `${form.get("AutoScalingGroupName")} ${form.get("LifecycleHookName")}`;
    const waiting = this.#waiting.get(id) ?? [];
    // The service's own text (convox/rack#2432). That a name of no hook gets it too is not documented; of all answers
    // it is the one that machines take for success.
    if (!waiting.includes(action)) return `No active Lifecycle Action found with instance ID ${id}`;
    if (form.get("Action") === "RecordLifecycleActionHeartbeat") return undefined;
    if (form.get("LifecycleActionResult") !== "CONTINUE") return "no simulation of other results than CONTINUE";
    this.#waiting.set(
      id,
      waiting.filter((one) => one !== action),
    );
    return undefined;
  }
}
