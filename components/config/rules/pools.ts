import { z } from "zod";
import { cloudFacts } from "../../model/cloudFacts/cloudFacts.ts";
import { machineSize, poolGroups, poolScheduling, windowsTaint } from "../../model/pools.ts";
import { childPath, type Problem, problem, refuse } from "../../model/problem.ts";
import { windowsFields } from "../machineSchema.ts";
import { hasFields, hasSettings, poolRule, type Rules } from "./rule.ts";

/** Name part of label and taint keys, and values: at most 63 characters (Kubernetes, labels and selectors). */
const keyName = /^[A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?$/;

const labelValue = /^([A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?)?$/;

/** Prefix of such a key: a DNS subdomain of at most 253 characters. */
const keyPrefix = /^(?=.{1,253}$)[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*$/;

function isQualifiedName(key: string): boolean {
  const slash = key.indexOf("/");
  return keyName.test(key.slice(slash + 1)) && (slash < 0 || keyPrefix.test(key.slice(0, slash)));
}

/** NodeRestriction refuses most of Kubernetes' prefixes from a kubelet (kubernetes.io, admission controllers). */
const reservedPrefix = /^([^/]*\.)?(kubernetes\.io|k8s\.io|fenestra\.dev)\//;

const keyForm =
  "an optional DNS prefix with a slash, then up to 63 letters, digits, - _ . with a letter or digit at both ends";

const valueForm = "nothing, or up to 63 letters, digits, - _ . with a letter or digit at both ends";

const ownPrefix = "a prefix of your own, or none: kubernetes.io, k8s.io and fenestra.dev are taken";

function keyProblems(key: string, path: string, kind: "label" | "taint" | "annotation"): readonly Problem[] {
  if (!isQualifiedName(key))
    return refuse(path, key, `is not the name of ${kind === "annotation" ? "an" : "a"} ${kind}`, keyForm);
  return reservedPrefix.test(key)
    ? refuse(path, key, `is ${kind === "annotation" ? "an" : "a"} ${kind} that Kubernetes or Fenestra sets`, ownPrefix)
    : [];
}

/**
 * Most tags of a resource (Amazon EC2 Auto Scaling API, CreateAutoScalingGroup; Azure documentation, tag resources).
 */
const mostGroupTags = 50;

const windowsOnly = z.object(windowsFields).keyof().options;

export const poolRules: Rules = {
  ...Object.fromEntries(
    windowsOnly.map((field) => [
      field,
      poolRule(["os", field], [], ({ os, [field]: value }, path) =>
        os !== "linux" || value === windowsFields[field].parse(undefined)
          ? []
          : refuse(`${path}.${field}`, value, "is meant for Windows pools", "no value on Linux"),
      ),
    ]),
  ),
  names: poolRule(["name", "os", "zones", "perZone"], ["cloud", "network.zones"], (pool, path, settings) => {
    const { words, machines } = cloudFacts[settings.cloud];
    const most = machines.windows.longestGroup;
    if (pool.os === "linux") return [];
    return poolGroups(pool, settings["network.zones"]).flatMap(({ name }) =>
      name.length <= most
        ? []
        : refuse(
            `${path}.name`,
            pool.name,
            `makes the group name ${name} of ${name.length} characters, too long for Windows machines on ${words.title}`,
            `at most ${most} characters, zone suffix included: a Windows computer name has 15, of which ${words.title} takes ${15 - most}`,
            "shorten the name",
          ),
    );
  }),
  bounds: poolRule(["autoscale"], [], ({ autoscale }, path) =>
    autoscale !== undefined && autoscale.min > autoscale.max
      ? refuse(
          `${path}.autoscale`,
          { min: autoscale.min, max: autoscale.max },
          "has min above max",
          "a min that is at most max",
        )
      : [],
  ),
  fromNothing: poolRule(["autoscale", "size"], ["cloud"], ({ autoscale, size }, path, { cloud }) => {
    const { sizes } = cloudFacts[cloud];
    const name = size ?? sizes.default;
    return autoscale?.min !== 0 || sizes.startsFirst(name)
      ? []
      : refuse(
          `${path}.autoscale.min`,
          0,
          `starts no machine of ${name}, which the cluster autoscaler does not know`,
          "1 or more, or a size of version 6",
        );
  }),
  count: poolRule(["name", "autoscale", "count", "zones", "perZone"], ["network.zones"], (pool, path, settings) => {
    const { autoscale, count: wanted } = pool;
    if (autoscale === undefined || wanted === undefined || autoscale.min > autoscale.max) return [];
    const { min, max } = autoscale;
    const groups = pool.perZone ? poolGroups(pool, settings["network.zones"]).length : 1;
    return wanted >= min * groups && wanted <= max * groups
      ? []
      : refuse(
          `${path}.count`,
          wanted,
          "lies outside the bounds of autoscale",
          `${min * groups} to ${max * groups}${groups > 1 ? `, since the bounds hold for each of ${groups} zones` : ""}`,
          "leave count out to start with the least",
        );
  }),
  zones: poolRule(["zones"], ["network.zones"], (pool, path, settings) => {
    const known = settings["network.zones"];
    const own = pool.zones ?? [];
    return own.flatMap((zone, index) => {
      const at = `${path}.zones[${index}]`;
      if (!known.includes(zone)) {
        return refuse(at, zone, "is not a zone of the network", `one of network.zones: ${known.join(", ")}`);
      }
      return own.indexOf(zone) === index ? [] : refuse(at, zone, "is listed twice", "each zone once");
    });
  }),
  labels: poolRule(["labels"], [], (pool, path) =>
    Object.entries(pool.labels).flatMap(([name, value]) => {
      const at = childPath(`${path}.labels`, name);
      return [
        ...keyProblems(name, at, "label"),
        ...(labelValue.test(value) ? [] : refuse(at, value, "is not a label value", valueForm)),
      ];
    }),
  ),
  annotations: poolRule(["annotations"], [], (pool, path) =>
    Object.keys(pool.annotations).flatMap((name) =>
      keyProblems(name, childPath(`${path}.annotations`, name), "annotation"),
    ),
  ),
  taints: poolRule(["taints"], [], (pool, path) =>
    pool.taints.flatMap(({ key, value }, index) => {
      const at = `${path}.taints[${index}]`;
      const form = problem(`${at}.value`, value, "is not a taint's value", valueForm);
      return [...keyProblems(key, `${at}.key`, "taint"), ...(labelValue.test(value) ? [] : [form])];
    }),
  ),
  /** A node has each pair of key and effect once, whatever the value (Kubernetes API, validation of node taints). */
  repeatedTaints: poolRule(["os", "taints"], [], (pool, path) => {
    const ids = pool.taints.map(({ key, effect }) => `${key}:${effect}`);
    return ids.flatMap((id, index) => {
      const ours = pool.os !== "linux" && id === `${windowsTaint.key}:${windowsTaint.effect}`;
      if (!ours && ids.indexOf(id) === index) return [];
      return refuse(
        `${path}.taints[${index}]`,
        id,
        ours ? "is set by Fenestra on Windows" : "is listed twice",
        "each key and effect once",
      );
    });
  }),
  /** The autoscaler learns an empty group's labels and taints from its tags, whose number is limited. */
  hints: poolRule(
    ["name", "os", "size", "capacity", "autoscale", "labels", "taints", "hyperV", "ccgPlugin"],
    ["cloud", "tags", "network.pods"],
    (pool, path, { cloud, tags, "network.pods": pods }) => {
      const size = machineSize(cloud, pool.size ?? cloudFacts[cloud].sizes.default, pool.capacity);
      if (pool.autoscale === undefined || size === undefined) return [];
      const { kubeletLabels, ownLabels, taints } = poolScheduling(pool, pool.name, size);
      const { ofGroup, longestHint, ignoreCase } = cloudFacts[cloud].tags;
      const { words } = cloudFacts[cloud];
      const keys = [...Object.keys({ ...ownLabels, ...kubeletLabels }), ...new Set(taints.map(({ key }) => key))];
      // The number of pods is another hint there.
      const free = mostGroupTags - ofGroup - Object.keys(tags).length - Number(pods === "azure-cni");
      const long = keys.filter((key) => key.length > longestHint);
      const twins = ignoreCase
        ? keys.filter((key, at) => keys.findIndex((each) => each.toLowerCase() === key.toLowerCase()) !== at)
        : [];
      return [
        ...twins.map((key) =>
          problem(
            path,
            key,
            "differs from another label or taint by case only, and a pool with autoscale names both in tags",
            `keys that differ without regard to case, as ${words.title} compares tags`,
          ),
        ),
        ...long.map((key) =>
          problem(
            path,
            key,
            "is a label or taint too long for a pool with autoscale, which must name it in a tag",
            `keys of at most ${longestHint} characters on ${words.title}`,
          ),
        ),
        ...(keys.length <= free
          ? []
          : refuse(
              path,
              keys.length,
              "is too many labels and taints: each needs a tag of the autoscaled group, beside the stack's own",
              `at most ${free}, those that Fenestra sets included: a group of machines has ${mostGroupTags} tags`,
              "take away tags, labels or taints",
            )),
      ];
    },
  ),
  /** Group names are unique in the cluster, across pools. */
  groupNames: ({ settings, pools }) => {
    if (!hasSettings(settings, ["network.zones"])) return [];
    const seen = new Map<string, number>();
    return pools.flatMap((pool, index) => {
      if (!hasFields(pool, ["name", "zones", "perZone"])) return [];
      // A zone listed twice has its own rule.
      const groups = new Set(poolGroups(pool, settings["network.zones"]).map(({ name }) => name));
      return [...groups].flatMap((name) => {
        const first = seen.get(name);
        if (first === undefined) {
          seen.set(name, index);
          return [];
        }
        return refuse(
          `config.fenestra:pools[${index}].name`,
          pool.name,
          `makes the group name ${name}, which config.fenestra:pools[${first}] has already`,
          "names that stay unique when perZone appends the zone's last letter or digit",
        );
      });
    });
  },
};
