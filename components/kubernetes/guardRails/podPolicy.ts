import { type Policy, podsWhen, templates, type Variables } from "./policy.ts";
import { text } from "./texts.ts";

interface Check {
  /** CEL that costs little and without which all is well. What `expression` alone needs is then not worked out. */
  readonly asks?: string;
  /** CEL that is true when all is well. Default: `true`. */
  readonly expression?: string;
  /** CEL that is true of each `c` of `variables.containers`, and of each volume `v`, when all is well. */
  readonly ofContainer?: string;
  readonly ofVolume?: string;
  /** CEL, which may ask `namespaceObject`, of where it is well in any case. */
  readonly orWhere?: string;
  /**
   * What is wrong and how to fix it; `{pod}` stands for the path of the pod's spec in the object, `{x}` for the text
   * `variables.x`.
   */
  readonly message: string;
}

/** What is held against some pods, wherever they are described. */
export interface PodRule {
  /** Its name among the variables. */
  readonly name: string;
  /** CEL under which it looks at a pod at all, of the CEL for the pod's spec, and for that before an update. */
  readonly when: (pod: string, before: string) => string;
  /** Label of namespaces in which it does not, and its value. */
  readonly unless?: readonly [label: string, value: string];
  /** Additional variables, in the order in which they refer to each other. `pod` and `before` exist already. */
  readonly variables?: Readonly<Record<string, string>>;
  readonly checks: readonly Check[];
  /** Operations on Pods that are checked; workloads are checked whenever their pod template changes. */
  readonly operations: ("CREATE" | "UPDATE")[];
  /** Whether it also looks when ephemeral containers are added to a pod, a subresource of it. Default: no. */
  readonly ephemeralContainers?: true;
  /** Whether it looks at many pods with which nothing is wrong: conditions then ask its checks, too. Default: no. */
  readonly mostlyWell?: true;
}

/** Rules on pods in one policy. */
export interface PodPolicy extends Pick<Policy, "name" | "params" | "bindings"> {
  readonly rules: readonly PodRule[];
}

/** The pod's spec in a policy's expressions. */
export const pod = "variables.pod";

/**
 * Path of a workload's pod template. Its author sees the warnings; those that the workload's controller gets are not
 * shown.
 */
export const workloadRules: Policy["resourceRules"] = [
  templates("apps", "deployments", "daemonsets", "statefulsets", "replicasets"),
  templates("batch", "jobs", "cronjobs"),
  templates("", "replicationcontrollers"),
];

/** Chooses by the kind of an object with a pod's spec in it. */
const byKind = (inPod: string, inCronJob: string, inTemplate: string): string =>
  `(object.kind == "Pod" ? ${inPod} : object.kind == "CronJob" ? ${inCronJob} : ${inTemplate})`;

/**
 * The pod's spec of an object. The kinds have no type in common, hence no type is checked: the tables of tests stand in
 * for that.
 */
const specOf = (object: string): string =>
  byKind(
    `dyn(${object}).spec`,
    `dyn(${object}).spec.jobTemplate.spec.template.spec`,
    `dyn(${object}).spec.template.spec`,
  );
const [now, before] = [specOf("object"), specOf("oldObject")];

/** CEL: the kind and the name of the object: whoever applies many sees which one is meant, and each of equal ones. */
const named = 'object.kind + " " + dyn(object).metadata.?name.orValue(dyn(object).metadata.?generateName.orValue(""))';

/** A message, or the expression that puts texts into it; where that fails, they are left out. */
function messageOf(message: string): Omit<Policy["validations"][number], "expression"> {
  const parts = message.split(/\{(\w+)\}/);
  const inText = (name: string): string => (name === "pod" ? "variables.path" : `variables.${name}`);
  const all = parts.map((part, index) => (index % 2 === 0 ? text(part) : inText(part)));
  return {
    message: message.replaceAll("{pod}", "spec").replaceAll(/\{\w+\}/g, ""),
    messageExpression: [named, text(": "), ...all].join(" + "),
  };
}

/** Where an expression has a variable. */
const uses = (name: string): RegExp => new RegExp(`\\bvariables[.]${name}\\b`, "g");

/** CEL with its variables as elements of lists of one: conditions know no others. */
function inlined(variables: Variables, expression: string): string {
  return Object.entries(variables)
    .toReversed()
    .reduce(
      (inner, [name, value]) =>
        inner.search(uses(name)) < 0
          ? inner
          : `[${value}].exists(${name}_, ${inner.replaceAll(uses(name), `${name}_`)})`,
      expression,
    )
    .replaceAll(uses("pod"), "it");
}

const all = (parts: readonly string[]): string => parts.map((part) => `(${part})`).join(" && ");

/** CEL: the request is one of those that this rule looks at, where others of its policy look at more. */
function looksAt({ operations, ephemeralContainers }: PodRule, rules: readonly PodRule[]): readonly string[] {
  const subresource = rules.some((rule) => rule.ephemeralContainers);
  if (rules.some((rule) => rule.operations.includes("UPDATE")) && !operations.includes("UPDATE"))
    return [
      `object.kind != "Pod" || request.operation == "CREATE"${ephemeralContainers ? " || has(request.subResource)" : ""}`,
    ];
  return subresource && !ephemeralContainers ? ["!has(request.subResource)"] : [];
}

/** The variables that expressions need, with those that these need, in their order; and the others. */
function divide(variables: NonNullable<PodRule["variables"]>, expressions: readonly string[]) {
  const needed = new Set<string>();
  const inside = [...expressions];
  const entries = Object.entries(variables);
  for (const [name, value] of entries.toReversed())
    if (inside.some((each) => uses(name).test(each))) {
      needed.add(name);
      inside.push(value);
    }
  const where = (isNeeded: boolean) => Object.fromEntries(entries.filter(([name]) => needed.has(name) === isNeeded));
  return [where(true), where(false)] as const;
}

/** CEL: what checks say of containers and of volumes, in one walk through each. */
function ofParts(checks: readonly Check[]): readonly string[] {
  const [containers, volumes] = [
    checks.flatMap(({ ofContainer }) => ofContainer ?? []),
    checks.flatMap(({ ofVolume }) => ofVolume ?? []),
  ];
  return [
    ...(containers.length === 0 ? [] : [`variables.containers.all(c, ${all(containers)})`]),
    ...(volumes.length === 0 ? [] : [`(!has(${pod}.volumes) || ${pod}.volumes.all(v, ${all(volumes)}))`]),
  ];
}

/** CEL: a check of the pod `it` fails. What only a check needs that does not ask is not worked out. */
function wrong({ checks, variables = {} }: PodRule): string {
  const plain = checks.filter(({ asks }) => asks === undefined);
  const well = [...plain.flatMap(({ expression }) => expression ?? []), ...ofParts(plain)];
  const [needed, others] = divide(variables, [...well, ...checks.flatMap(({ asks }) => asks ?? [])]);
  const fails = [
    ...well.map((each) => `!(${each})`),
    ...checks.flatMap(({ asks, expression = "true" }) =>
      asks === undefined ? [] : [`((${asks}) && ${inlined(others, `!(${expression})`)})`],
    ),
  ];
  return inlined(needed, fails.join(" || "));
}

/** CEL: this rule may have something to say of the pod `it`. */
function concerns(rule: PodRule, rules: readonly PodRule[]): string {
  return all([...looksAt(rule, rules), rule.when("it", `(${before})`), ...(rule.mostlyWell ? [wrong(rule)] : [])]);
}

/** CEL: a rule is meant, once there are variables. */
const isMeant = (rule: PodRule, rules: readonly PodRule[]): string =>
  all([
    ...(rule.unless === undefined
      ? []
      : [`namespaceObject.metadata.?labels[?${text(rule.unless[0])}].orValue("") != ${text(rule.unless[1])}`]),
    ...looksAt(rule, rules),
    rule.when(pod, "variables.before"),
  ]);

/** Whether it has so many checks that a variable says once whether it is meant; else its checks are spared one more. */
const isLong = ({ checks }: PodRule): boolean => checks.length > 2;

/**
 * The policy of the API server: it looks at pods when they are made, and at workloads when their pods are described.
 * For each policy the API server makes a map of the object for its condition, and three more where that holds, which
 * costs more than what is then asked (k8s.io/apiserver: plugin/cel/activation.go, plugin/policy/validating): so there
 * are few policies of many rules, and most conditions say no. Of several conditions none is spared when one says no.
 */
export function podPolicy({ name, rules, params, bindings }: PodPolicy): Policy {
  const operations = [...new Set(rules.flatMap((rule) => rule.operations))];
  return {
    name,
    bindings,
    ...(params === undefined ? {} : { params }),
    resourceRules: [
      podsWhen(...operations),
      ...(rules.some((rule) => rule.ephemeralContainers)
        ? [{ ...podsWhen("UPDATE"), resources: ["pods/ephemeralcontainers"] }]
        : []),
      ...workloadRules,
    ],
    conditions: {
      // A workload that is scaled or was there before the policy is left alone.
      concerned: all([
        `request.operation == "CREATE" || object.kind == "Pod" || ${now} != ${before}`,
        `[${now}].exists(it, ${rules.map((rule) => concerns(rule, rules)).join(" || ")})`,
      ]),
    },
    variables: {
      pod: now,
      before,
      path: byKind('"spec"', '"spec.jobTemplate.spec.template.spec"', '"spec.template.spec"'),
      ...Object.assign({}, ...rules.map(({ variables }) => variables)),
      ...Object.fromEntries(rules.flatMap((rule) => (isLong(rule) ? [[rule.name, isMeant(rule, rules)]] : []))),
    },
    validations: rules.flatMap((rule) =>
      rule.checks.map((check) => {
        const { asks, orWhere, expression, message } = check;
        const isWell = all([...(expression === undefined ? [] : [expression]), ...ofParts([check])]);
        return {
          expression: [
            `!(${isLong(rule) ? `variables.${rule.name}` : isMeant(rule, rules)})`,
            ...(asks === undefined ? [] : [`!(${asks})`]),
            ...(orWhere === undefined ? [] : [`(${orWhere})`]),
            `(${isWell})`,
          ].join(" || "),
          ...messageOf(message),
        };
      }),
    ),
  };
}
