import { pageOf } from "../pages.ts";
import type { EndpointAnswer } from "../server.ts";
import { type AwsMachine, privateDnsName } from "./metadata.ts";

/**
 * EC2's DescribeInstances with filters (Amazon EC2 API reference, DescribeInstances: every filter must hold by one of
 * its values; `*` and `?` are wildcards; an unknown filter is refused).
 */
export function describeInstances(machines: Iterable<AwsMachine>, form: URLSearchParams): EndpointAnswer {
  const filters = filtersOf(form);
  const unknown = filters.find(({ name }) => readerOf(name) === undefined);
  if (unknown !== undefined) return refused("InvalidParameterValue", `The filter '${unknown.name}' is invalid`);
  if ([...form.keys()].some((key) => !/^(Action|Version|NextToken|InstanceId\.\d+|Filter\..*)$/.test(key)))
    return refused("UnknownParameter", [...form.keys()].join(", "));
  const all = [...machines];
  const ids = [...form].flatMap(([key, value]) => (key.startsWith("InstanceId.") ? value : []));
  const missing = ids.find((id) => !all.some((machine) => machine.id === id));
  if (missing !== undefined)
    return refused("InvalidInstanceID.NotFound", `The instance ID '${missing}' does not exist`);
  const found = all.filter(
    (machine) =>
      (ids.length === 0 || ids.includes(machine.id)) &&
      filters.every(({ name, values }) => values.some((value) => fits(readerOf(name)?.(machine), value))),
  );
  const names = new Map(found.map((machine) => [machine.id, machine]));
  const page = pageOf(names.keys(), "", form.get("NextToken"));
  if (page === undefined) return refused("InvalidParameterValue", "The token is invalid");
  const items = page.names.map((id) => {
    const machine = names.get(id);
    return machine === undefined ? "" : `<item><instancesSet>${instanceItem(machine)}</instancesSet></item>`;
  });
  const next = page.next === "" ? "" : `<nextToken>${page.next}</nextToken>`;
  return {
    status: 200,
    body: `<DescribeInstancesResponse><reservationSet>${items.join("")}</reservationSet>${next}</DescribeInstancesResponse>`,
  };
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
  const { id, launched, address, zone, instanceType, tags, windows, terminated = false } = machine;
  const tagSet = Object.entries(tags).map(
    ([key, value]) => `<item><key>${escapeXml(key)}</key><value>${escapeXml(value)}</value></item>`,
  );
  // A terminated one has no interface, address and name any more.
  const of = (text: string): string => (terminated ? "" : text);
  const card = `<status>in-use</status><privateIpAddress>${address}</privateIpAddress><privateIpAddressesSet><item><privateIpAddress>${address}</privateIpAddress></item></privateIpAddressesSet>`;
  return [
    `<item><instanceId>${id}</instanceId><instanceState><code>${terminated ? 48 : 16}</code><name>${stateOf(machine)}</name></instanceState>`,
    `<instanceType>${instanceType}</instanceType><privateDnsName>${of(privateDnsName(machine))}</privateDnsName><launchTime>${launched.toISOString()}</launchTime>`,
    `<placement><availabilityZone>${zone}</availabilityZone></placement>${windows ? "<platform>windows</platform>" : ""}`,
    `${of(`<privateIpAddress>${address}</privateIpAddress>`)}<tagSet>${tagSet.join("")}</tagSet>`,
    `<networkInterfaceSet>${of(`<item>${card}</item>`)}</networkInterfaceSet></item>`,
  ].join("");
}

function stateOf({ terminated = false }: AwsMachine): "running" | "terminated" {
  return terminated ? "terminated" : "running";
}

export function escapeXml(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}

interface Filter {
  readonly name: string;
  readonly values: readonly string[];
}

function filtersOf(form: URLSearchParams): readonly Filter[] {
  return [...form].flatMap(([key, name]) => {
    const number = /^Filter\.(\d+)\.Name$/.exec(key)?.[1];
    if (number === undefined) return [];
    return [
      { name, values: [...form].flatMap(([of, value]) => (of.startsWith(`Filter.${number}.Value.`) ? value : [])) },
    ];
  });
}

/** What a filter looks at; `undefined` where it is not simulated. */
function readerOf(filter: string): ((machine: AwsMachine) => string | undefined) | undefined {
  if (filter === "instance-id") return ({ id }) => id;
  if (filter === "instance-state-name") return stateOf;
  return filter.startsWith("tag:") ? ({ tags }) => tags[filter.slice("tag:".length)] : undefined;
}

function fits(value: string | undefined, pattern: string): boolean {
  const escaped = pattern.replaceAll(/[.+^${}()|[\]\\]/g, "\\$&");
  return value !== undefined && new RegExp(`^${escaped.replaceAll("*", ".*").replaceAll("?", ".")}$`, "s").test(value);
}

function refused(code: string, message: string): EndpointAnswer {
  return {
    status: 400,
    body: `<Response><Errors><Error><Code>${code}</Code><Message>${message}</Message></Error></Errors></Response>`,
  };
}
