import { stringify } from "yaml";
import { networkAround } from "../model/cidr.ts";
import { didYouMean } from "../model/problem.ts";
import type { JsonSchema } from "./jsonSchema.ts";

/** Whether the config would have nothing against another value in a place. */
export type Fits = (candidate: unknown) => boolean;

/**
 * What a refused value may have been meant as, in words. Only what fits is proposed: whoever follows a message is not
 * refused again.
 */
export function cureOf(value: unknown, fits: Fits): string | undefined {
  const cures = meanings(value).flatMap(([candidate, words]) =>
    candidate !== value && fits(candidate) ? `${words} ${stringify(candidate, inFlow).trim()}` : [],
  );
  return cures.length === 0 ? undefined : [...new Set(cures)].join(", or ");
}

const inFlow = { collectionStyle: "flow", flowCollectionPadding: false, lineWidth: 0 } as const;

function meanings(value: unknown): readonly (readonly [candidate: unknown, words: string])[] {
  if (typeof value === "number" || typeof value === "boolean")
    return [
      ...(value === true ? [[{}, "write its keys, or for its defaults"] as const] : []),
      [String(value), "put it in quotes:"],
    ];
  if (typeof value !== "string") return [];
  const isOn = /^(true|yes|on)$/i.test(value);
  const [host, address] = [/^[\w.-]+\.\w+[:/]/, /^(\d+(?:\.\d+){3})(?:\/\d+)?$/.exec(value)?.[1]];
  const written = [
    networkAround(value) ?? value,
    ...(address === undefined ? [] : [`${address}/32`, [`${address}/32`]]),
    ...(host.test(value) ? [`https://${value}`, `http://${value}`] : []),
    value.replace(/^http:/, "https:"),
    value.replace(/^https?:\/\//, ""),
    value.replace(/^(?=[A-Z]+\d)/, "Standard_"),
    value.toLowerCase().replaceAll(/[ _]/g, "-"),
  ];
  return [
    [[value], "put it in brackets:"],
    ...(isOn || /^(false|no|off)$/i.test(value) ? [[isOn, "without quotes:"] as const] : []),
    ...(/^\d+$/.test(value) ? [[Number(value), "without quotes:"] as const] : []),
    ...written.map((each) => [each, "write"] as const),
  ];
}

/** How to write a value of another form, or which of the choices it means. @param here the schema in its place */
export function remedyOf(
  here: JsonSchema | undefined,
  value: unknown,
  choices: readonly string[],
  fits: Fits,
): string | undefined {
  if (choices.length > 0) return slipOf(value, choices);
  const wanted = here?.type;
  if (wanted === "object" && Array.isArray(value)) return "write a mapping, without the hyphens: NAME: VALUE";
  if (wanted === "object" && value === false)
    return here?.properties?.perHour === undefined ? "remove it" : "write { perHour: 0 }";
  if (wanted === "array" && typeof value === "object" && value !== null && !Array.isArray(value))
    return listOf(value, Object.keys(here?.items?.properties ?? {}));
  const [, digits, unit = ""] = /^(\d+) ?([a-z%]+)$/i.exec(typeof value === "string" ? value : "") ?? [];
  if ((wanted === "integer" || wanted === "number") && digits !== undefined)
    return withoutUnit(Number(digits), unit, here?.description, fits);
  return undefined;
}

/** Of a mapping in place of a list of them, or one by their names. */
function listOf(value: object, known: readonly string[]): string | undefined {
  if (Object.keys(value).every((key) => known.includes(key))) return "put a hyphen before each item";
  const [[name, inner] = []] = Object.entries(value);
  return known.includes("name") && !Array.isArray(inner) ? `write a list: - name: ${name}` : undefined;
}

/** By the word for what a setting counts in, units that people write behind the number. */
const units: Readonly<Record<string, RegExp>> = {
  Percent: /^%$/,
  Minutes: /^m(in|inutes?)?$/i,
  Seconds: /^s(ec|econds?)?$/i,
  Hours: /^h(ours?)?$/i,
  Days: /^d(ays?)?$/i,
  GiB: /^g(i|b|ib)?$/i,
};

function withoutUnit(number: number, unit: string, description = "", fits: Fits): string {
  const counted = Object.entries(units).find(([word]) => new RegExp(`\\b${word}\\b`, "i").test(description));
  return counted?.[1].test(unit) && fits(number) ? `without its unit: ${number}` : "write a number without a unit";
}

/** Other products' words for a value. */
const aliases: Readonly<Record<string, string>> = { ubuntu: "linux", false: "none", off: "none", no: "none" };

/** The choice that a value means: by letters and digits alone, its beginning, another word for it, or a slip. */
function slipOf(value: unknown, choices: readonly string[]): string | undefined {
  if (typeof value !== "string" && typeof value !== "number" && typeof value !== "boolean") return undefined;
  const bare = (text: string) => text.toLowerCase().replaceAll(/[^a-z0-9]/g, "");
  const written = String(value);
  if (choices.includes(written)) return undefined;
  if (value === true) return `write ${choices.filter((choice) => choice !== "none").join(" or ")}`;
  const same = choices.find((choice) => bare(choice) === bare(written)) ?? aliases[written.toLowerCase()];
  if (same !== undefined && choices.includes(same)) return `write ${same}`;
  const begun = bare(written).length < 3 ? [] : choices.filter((choice) => bare(choice).startsWith(bare(written)));
  if (begun.length > 0) return `write ${begun.join(" or ")}`;
  return typeof value === "number" ? undefined : didYouMean(written.toLowerCase(), choices);
}

/** The releases that a slip of the version means; YAML reads 1.37 as a number. */
export function versionOf(value: unknown, known: readonly string[]): string | undefined {
  if (typeof value !== "string" && typeof value !== "number") return undefined;
  const written = String(value).replace(/^v/i, "");
  const meant = known.filter((version) => version === written || version.startsWith(`${written}.`));
  return meant.length === 0 ? undefined : `write ${meant.join(" or ")}`;
}

/** Settings, at most two, that have a key of that name below them, in words. */
export function elsewhere(key: string, schema: JsonSchema): string | undefined {
  const found = holdersOf(key, schema, "");
  return found.length === 0 || found.length > 2 ? undefined : `it is a key of ${found.join(" or ")}`;
}

function holdersOf(key: string, schema: JsonSchema, path: string): readonly string[] {
  if (schema.items !== undefined) return holdersOf(key, schema.items, `${path}[]`);
  return Object.entries(schema.properties ?? {}).flatMap(([name, inner]) => [
    ...(name === key && path !== "" ? [path] : []),
    ...holdersOf(key, inner, path === "" ? name : `${path}.${name}`),
  ]);
}

/** What goes unchanged into an argument of a resource, by the heading of its page. */
const recipe =
  (heading: string) =>
  (argument: string): string =>
    `set ${argument} by a transform: docs/transforms.md, "${heading}", has the lines`;
const speed = recipe("Speed of disks");
const bought = recipe("How machines are bought");
const networks = recipe("Networks");
const speedOfTemplate = (what: string): string => speed(`blockDeviceMappings[0].ebs.${what} of the launch template`);

/** What to do instead of a setting that went, or of a known tool, by its path without positions in lists. */
export const insteadOf: Readonly<Record<string, string>> = {
  "secretsEncryption.kmsKey":
    "remove it: keys of secretsEncryption are kept in the secret store of the cloud; docs/limits.md says why no key service encrypts Secrets",
  "addons.serviceMonitors":
    "remove it: examples/prometheus.yaml has the ServiceMonitors and the alerts, for kubectl apply",
  "addons.serviceMonitorLabels": "remove it: labels stand in your copy of examples/prometheus.yaml",
  "addons.autoscalerLimits": recipe("Limits of the autoscaler")(
    "--max-nodes-total=9 and others as arguments of the Deployment",
  ),
  "controlPlane.osDisk.iops": speedOfTemplate("iops"),
  "controlPlane.osDisk.throughput": speedOfTemplate("throughput"),
  "controlPlane.etcdDisk.type": speed("type of the volume, with its iops"),
  "controlPlane.etcdDisk.iops": speed("iops of the volume"),
  "controlPlane.etcdDisk.throughput": speed("throughput of the volume"),
  "pools.disk.iops": speedOfTemplate("iops"),
  "pools.disk.throughput": speedOfTemplate("throughput"),
  "pools.spotMaxPrice": bought("instanceMarketOptions, instancesDistribution or billingProfile"),
  "pools.hybridBenefit": bought('virtualMachineProfile.licenseType: "Windows_Server"'),
  "pools.capacityReservation": bought("capacityReservationSpecification or capacityReservation"),
  "pools.dedicatedHosts": bought("placement of the launch template, or hostGroup"),
  "pools.securityGroups": networks("networkInterfaces[0].securityGroups, or applicationSecurityGroups"),
  "network.vpc": "a network that is there goes to network.existing, with its id and subnets",
  "network.dns.searchDomain": networks("domainName of the DHCP options (AWS)"),
  nodePools: "name them in pools",
  nodeGroups: "name them in pools",
  "pools.min": "autoscale has min and max",
  "pools.max": "autoscale has min and max",
  "pools.diskSize": "it is diskGb, without a unit",
  "pools.instanceType": "it is size",
  "pools.vmSize": "it is size",
  "pools.replicas": "it is count",
  "pools.maxPods": "it is kubelet.maxPods",
  "controlPlane.count": "it is replicas",
  "controlPlane.etcdDisk.diskGb": "it is controlPlane.etcdDiskGb",
  "pools.disk.diskGb": "it is pools[].diskGb",
  "repair.enabled": "perHour: 0 switches it off",
  subscription: "it is accountId",
  subscriptionId: "it is accountId",
};
