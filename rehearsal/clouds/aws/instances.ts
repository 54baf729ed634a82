import type { EndpointAnswer } from "../server.ts";
import type { AwsMachine } from "./metadata.ts";

/**
 * EC2's DescribeInstances, as far as filters go (Amazon EC2 API reference, DescribeInstances: all filters must hold, one of the values of
 * each; `*` and `?` are wildcards; a filter that it does not know is refused).
 */
export function describeInstances(machines: Iterable<AwsMachine>, form: URLSearchParams): EndpointAnswer {
  const filters = filtersOf(form);
  const unknown = filters.find(({ name }) => readerOf(name) === undefined);
  if (unknown !== undefined) return refused("InvalidParameterValue", `The filter '${unknown.name}' is invalid`);
  if ([...form.keys()].some((key) => !/^(Action|Version|Filter\..*)$/.test(key)))
    return refused("UnknownParameter", [...form.keys()].join(", "));
  const found = [...machines].filter((machine) =>
    filters.every(({ name, values }) => values.some((value) => fits(readerOf(name)?.(machine), value))),
  );
  const items = found.map(
    ({ id, launched }) =>
      `<item><instancesSet><item><instanceId>${id}</instanceId><launchTime>${launched.toISOString()}</launchTime></item></instancesSet></item>`,
  );
  return {
    status: 200,
    body: `<DescribeInstancesResponse><reservationSet>${items.join("")}</reservationSet></DescribeInstancesResponse>`,
  };
}

interface Filter {
  readonly name: string;
  readonly values: readonly string[];
}

function filtersOf(form: URLSearchParams): readonly Filter[] {
  return [...form].flatMap(([key, name]) => {
    const number = /^Filter\.(\d+)\.Name$/.exec(key)?.[1];
    if (number === undefined) return [];
    return [{ name, values: [...form].flatMap(([of, value]) => (of.startsWith(`Filter.${number}.Value.`) ? value : [])) }];
  });
}

/** What a filter looks at; `undefined` for a filter that is not simulated. */
function readerOf(filter: string): ((machine: AwsMachine) => string | undefined) | undefined {
  if (filter === "instance-id") return ({ id }) => id;
  // Every machine of the rehearsal runs.
  if (filter === "instance-state-name") return () => "running";
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
