import { roles } from "../../components/azure/roles.ts";
import { isPropertyList, isPropertyMap, type PropertyValue, Secret } from "../../components/gates/values.ts";
import { fromJson } from "../../components/model/json.ts";
import type { RecordedProgram, RecordedResource } from "../../plan/program/recorded.ts";
import { pathsOf as declaredPaths } from "../../plan/providers/declared.ts";

/** Words of inputs that decide publicness, encryption, TLS, protection from deletion, identity or network reach. */
const guarding =
  /public|encrypt|kms|keyId|tls|https|secur|protect|delet|destroy|retention|expiration|noncurrent|purge|rotation|versioning|identit|principal|roles?$|roleDefinitionId|subscriptionId|assume|polic(y|ies)$|policyArn|boundary|rbac|scope|access|acl|cidr|address(es)?$|addressprefix|ingress|egress|port$|ports$|range|internal$|protocol$|metadataoptions|login|password|bypass|audience|clientid|subject|issuer|lock|forward|snat|outbound|allowed|algorithm|gatewayId|natgateway|actions|defaultAction|rules$|ignoreTags|direction|priority|^tags\.kubernetes|^path$|^type$|value$|preserveClientIp|(name|dns)Servers$/i;

/** The same words where they say nothing of it. */
const elsewhere =
  /names?$|namePrefix$|^tags(?!\.kubernetes)|description|block(s|Size)|devices?.*(volumesize|volumetype|size|type|iops|throughput|rate|deviceName)$|(maintenance|upgrade|repairs?)policy|terminationpolicies|^sku|acceler|tagSpecifications|healthCheck|lockDuration|mediatype|routingHttp|locality|country|province|postal|street|organizationalUnit|email|serialNumber|cors|logging|ipv6|carrier|commandToExecute|domainNameLabel|keyData$/i;

const isGuard = (path: string) => guarding.test(path) && !elsewhere.test(path);

/** A name without the cluster's; resources that differ in zone, pool or number alone are one row. */
const shortOf = (name: string) =>
  name
    .replace(/^(aws|azure)-dev-(?=.)/, "")
    .replace(/^pool-[a-z0-9]+-/, "pools-")
    .replace(/(?<=(^|-)(private|public|control-plane|nat|api-\w+|object|read))-([a-c]|\d|[0-9a-f]{8,})(?=-|$)/, "");

/** By which texts resources and roles name each other. */
function referencesOf({ resources }: RecordedProgram): (text: string) => string {
  const names = new Map<string, string>(Object.entries(roles).map(([name, id]) => [id, name]));
  for (const { id, outputs, name, type } of resources)
    if (/^(aws|azure-native):/.test(type))
      for (const text of [id, ...["arn", "principalId", "clientId", "bucket", "name"].map((key) => outputs[key])])
        if (typeof text === "string" && /^(?=.*[\d:/]).{11}/.test(text) && !names.has(text))
          names.set(text, `<${shortOf(name)}>`);
  const all = new RegExp(
    [...names.keys()]
      .sort((a, b) => b.length - a.length)
      .map((text) => text.replaceAll(/[^\w-]/g, "\\$&"))
      .join("|"),
    "g",
  );
  return (text) =>
    text.replaceAll(all, (each) => names.get(each) ?? each).replaceAll(/\/subscriptions\/\S*\/(?=\w+$|<)/g, "");
}

const plainOf = (value: unknown) => JSON.stringify(value ?? "").replaceAll(/["[\]]/g, "");

/** A statement of a policy: effect, whose, actions, resources, conditions. */
function statement(given: object) {
  const { Effect, Principal, Action, Resource, Condition }: Record<string, unknown> = { ...given };
  const parts = [Effect, Principal, Action, Resource === undefined ? undefined : `on ${plainOf(Resource)}`];
  return [...parts, ...(Condition === undefined ? [] : ["if", Condition])].map(plainOf).filter(Boolean).join(" ");
}

function textOf(value: PropertyValue) {
  if (value instanceof Secret) return "[secret]";
  const document = typeof value === "string" && value.startsWith("{") ? fromJson(value) : undefined;
  const statements: unknown = Reflect.get(Object(document), "Statement");
  if (Array.isArray(statements)) return statements.map(statement).join("; ");
  return isPropertyList(value) ? "[]" : String(value);
}

/** Guarding inputs and options of a resource with their values. */
function factsOf({ inputs, options }: RecordedResource, named: (text: string) => string): ReadonlyMap<string, string> {
  const found = new Map<string, readonly string[]>();
  const add = (path: string, value: PropertyValue) => {
    if (isPropertyList(value) && value.length > 0) for (const item of value) add(path, item);
    else if (isPropertyMap(value)) for (const [key, each] of Object.entries(value)) add(`${path}.${key}`, each);
    else if (isGuard(path)) found.set(path, [...(found.get(path) ?? []), named(textOf(value))]);
  };
  for (const [key, value] of Object.entries(inputs)) add(key, value);
  if (options.protect === true) found.set("protect", ["true"]);
  if (options.retainOnDelete === true) found.set("retainOnDelete", ["true"]);
  return new Map([...found].map(([path, texts]) => [path, texts.join(",")]));
}

/** By type, name and input the values. */
type Guards = ReadonlyMap<string, ReadonlyMap<string, ReadonlyMap<string, string>>>;

const kindOf = (type: string) => type.replace(/^[\w-]+:(index\/)?|\/\w+(?=:)/g, "");

const madeBy = ({ resources }: RecordedProgram) =>
  resources.filter(
    ({ type, read }) => /^(aws|azure-native|tls|random|pulumi:providers:a)/.test(type) && read === undefined,
  );

function guardsOf(program: RecordedProgram): Guards {
  const named = referencesOf(program);
  const types = Map.groupBy(madeBy(program), ({ type }) => kindOf(type));
  return new Map([...types].map(([type, each]) => [type, rowsOf(type, each, named)]));
}

function rowsOf(type: string, each: readonly RecordedResource[], named: (text: string) => string) {
  const rows = new Map<string, Map<string, string>>();
  for (const one of each) {
    const facts = [...factsOf(one, named)];
    const row = rows.get(shortOf(one.name)) ?? new Map<string, string>();
    // What belongs together is one value: ends and ports, who with which role where.
    const rule = facts.map(([, value]) => value).join(" ");
    for (const [path, value] of /(Rule|RoleAssignment|PolicyAttachment)$/.test(type)
      ? [["rule", rule] as const]
      : facts)
      row.set(path, [...new Set([...(row.get(path)?.split("|") ?? []), value])].sort().join("|"));
    rows.set(shortOf(one.name), row);
  }
  return rows;
}

/** What is declared of a type, would guard, and is sent nowhere. */
function unsentOf(each: readonly RecordedResource[]) {
  const kept = each.map(
    ({ type, inputs }) =>
      new Set(
        declaredPaths(type, inputs, ({ value }) => value === undefined).map((path) => path.replaceAll("[*]", "")),
      ),
  );
  const sent = new Set(each.flatMap(({ inputs }) => pathsOf(inputs)));
  // Another resource says the rest itself.
  const isReference = (path: string) => {
    const [parent = ""] = /^.*(address(es)?|gateway|groups?|pools|disk|subnet)\./i.exec(path) ?? [];
    return parent !== "" && sent.has(`${parent}id`);
  };
  return [...new Set(kept.flatMap((paths) => [...paths]))]
    .filter((path) => isGuard(path.replace(/.*\./, "")) && !sent.has(path) && path !== "type" && !isReference(path))
    .sort();
}

function pathsOf(value: PropertyValue, path = ""): readonly string[] {
  if (isPropertyList(value)) return value.flatMap((item) => pathsOf(item, path));
  const below = isPropertyMap(value) ? Object.entries(value) : [];
  return [path, ...below.flatMap(([key, each]) => pathsOf(each, path === "" ? key : `${path}.${key}`))];
}

/**
 * The table: for each type a line for those of its resources that say the same, as in the first program; what another
 * program says otherwise follows its title.
 */
export function guardTable(programs: Readonly<Record<string, RecordedProgram>>) {
  const all = Object.entries(programs).map(([title, program]) => [title, guardsOf(program)] as const);
  const resources = Map.groupBy(Object.values(programs).flatMap(madeBy), ({ type }) => kindOf(type));
  const keysOf = (get: (guards: Guards) => ReadonlyMap<string, unknown> | undefined) => [
    ...new Set(all.flatMap(([, guards]) => [...(get(guards)?.keys() ?? [])])),
  ];
  const cell = (type: string, name: string, path: string) => {
    const values = all.flatMap(([title, guards]) => {
      const row = guards.get(type)?.get(name);
      return row === undefined ? [] : [[title, row.get(path) ?? "none"] as const];
    });
    const first = values.find(([title]) => title === all[0]?.[0])?.[1];
    const others = values.flatMap(([title, value]) => (value === first ? [] : [`(${title})${value}`]));
    return `${path}=${first ?? ""}${others.join("")}`;
  };
  const linesOf = (type: string) => {
    const rows = keysOf((guards) => guards.get(type)).map((name): readonly [string, string] => {
      return [
        name,
        keysOf((guards) => guards.get(type)?.get(name))
          .map((path) => cell(type, name, path))
          .join(" ")
          .replace(/^rule=/, ""),
      ];
    });
    const alike = [...Map.groupBy(rows, ([, text]) => text)].filter(([text]) => text !== "");
    const unsent = unsentOf(resources.get(type) ?? []);
    return [
      ...alike.map(
        ([text, of]) =>
          `${of
            .map(([name]) => name)
            .sort()
            .join(",")}: ${text}`,
      ),
      ...(unsent.length === 0 ? [] : [`never: ${unsent.join(" ")}`]),
    ];
  };
  return [...resources.keys()]
    .sort()
    .flatMap((type) => linesOf(type).map((line) => `${type} ${line}\n`))
    .join("");
}
