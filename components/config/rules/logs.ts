import { cloudFacts } from "../../model/cloudFacts/cloudFacts.ts";
import { type Problem, refuse } from "../problem.ts";
import { type Rule, rule } from "./rule.ts";

const path = "config.fenestra:addons.logs";
const destinations = ["cloudwatch", "azureMonitor", "otlp"] as const;

const oneDestination = rule(["cloud", "addons.logs"], ({ cloud, "addons.logs": logs }) => {
  if (logs === undefined) return [];
  const named = destinations.filter((name) => logs[name] !== undefined);
  const own = cloudFacts[cloud].access.logs;
  const foreign = named.find((name) => name !== own && name !== "otlp");
  const allowed = `one of ${own} and otlp`;
  if (foreign !== undefined) return refuse(`${path}.${foreign}`, logs[foreign], "is a service of the other cloud", allowed);
  if (named.length === 1) return [];
  return refuse(path, named, named.length === 0 ? "names no destination" : "names two", allowed);
});

/** Collectors never use the identity of their node, which has the rights of the machine. */
const ownIdentity = rule(
  ["cloud", "addons.logs", "access.workloadIdentity"],
  ({ cloud, "addons.logs": logs, "access.workloadIdentity": workloadIdentity }): readonly Problem[] => {
    const service = cloudFacts[cloud].access.logs;
    if (logs?.[service] === undefined || workloadIdentity !== undefined) return [];
    return refuse(
      `${path}.${service}`,
      logs[service],
      "needs an identity of the collectors' own",
      `${service} only with access.workloadIdentity`,
      "add access.workloadIdentity: {}, or send to an endpoint of otlp with headers",
    );
  },
);

const headerNames = rule(["addons.logs"], ({ "addons.logs": logs }) => {
  const names = logs?.otlp?.headers.map(({ name }) => name.toLowerCase()) ?? [];
  return names.flatMap((name, index) =>
    names.indexOf(name) === index
      ? []
      : refuse(`${path}.otlp.headers[${index}].name`, logs?.otlp?.headers[index]?.name, "is listed twice", "each name once"),
  );
});

export const logRules: readonly Rule[] = [oneDestination, ownIdentity, headerNames];
