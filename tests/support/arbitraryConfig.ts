import fc from "fast-check";
import { z } from "zod";
import { stackSchema } from "../../components/config/schema.ts";
import { readArtifactLock } from "../../components/model/artifacts.ts";
import { cloudFacts } from "../../components/model/cloudFacts/cloudFacts.ts";
import { operatingSystemNames, operatingSystems } from "../../components/model/operatingSystems.ts";
import { selectableVersions } from "../../components/model/releases.ts";
import { newAuthority } from "../../plan/fakes/certificates.ts";
import { settingsOf } from "./arbitrarySchema.ts";

/** A stack's config as plain values, keys without the project's prefix. */
export type PlainConfig = Record<string, unknown>;

const authority = newAuthority("Own").certificate;
const versions = selectableVersions(readArtifactLock());
const letter = fc.constantFrom(..."abcdefghijklmnopqrstuvwxyz");
const word = (most: number): fc.Arbitrary<string> => fc.string({ unit: letter, maxLength: most });
const azureGroup = "/subscriptions/01234567-89ab-cdef-0123-456789abcdef/resourceGroups/shared/providers";
const clouds = {
  aws: {
    regions: ["eu-central-1", "us-east-1", "us-gov-west-1"],
    zones: (region: string) => ["a", "b", "c"].map((letter) => region + letter),
    sizes: ["m7i.large", "m7i-flex.large", "t3.large", "c7i.2xlarge", "r7a.xlarge"],
    nesting: ["m8i.large", "r8i.xlarge", "c8i.2xlarge"],
    images: ["latest", "ami-0123456789abcdef0"],
    odd: "u7i-6tb.112xlarge",
    accountId: "123456789012",
  },
  azure: {
    regions: ["westeurope", "eastus2"],
    zones: () => ["1", "2", "3"],
    sizes: ["Standard_D2s_v5", "Standard_B2ms", "Standard_F4s_v2", "Standard_E8ds_v5"],
    nesting: ["Standard_D4s_v5", "Standard_E8as_v5"],
    images: ["latest", "24.04.202610010", `${azureGroup}/Microsoft.Compute/galleries/g/images/node/versions/1.2.3`],
    odd: "Standard_L8s_v3",
    accountId: "01234567-89ab-cdef-0123-456789abcdef",
  },
} as const;
type Cloud = (typeof clouds)[keyof typeof clouds];

/** Some of the keys: defaults are met as often as values. */
const some = (fields: Record<string, fc.Arbitrary<unknown>>): fc.Arbitrary<PlainConfig> =>
  fc.record(fields, { requiredKeys: [] });

const network = (prefixes: readonly number[], second: number, third: boolean): fc.Arbitrary<string> =>
  fc.constantFrom(...prefixes).map((prefix) => `10.${second}.${third && prefix > 17 ? 64 : 0}.0/${prefix}`);

/** Settings whose values depend on others: values only of those written out below. All others have their schema's. */
const tied: Readonly<Record<string, readonly string[]>> = {
  kubernetes: ["podCidr", "serviceCidr"],
  controlPlane: ["osDisk", "etcdDisk", "extraArgs"],
  addons: ["smb", "logs", "gmsa", "autoscalerLimits"],
  pools: [
    "name",
    "os",
    "count",
    "autoscale",
    "disk",
    "diskGb",
    "hybridBenefit",
    "metadataAcl",
    "spotMaxPrice",
    "hyperV",
    "kubelet",
    "ccgPlugin",
    "onDemand",
    "spot",
    "update",
    "maxAge",
  ],
};

/** Some settings' values, and the others' by schema. */
function withDerived<T extends object>(
  schema: z.core.$ZodType,
  group: string,
  known: fc.Arbitrary<T>,
): fc.Arbitrary<T> {
  const inner = schema instanceof z.ZodPrefault ? schema.unwrap() : schema;
  if (!(inner instanceof z.ZodObject)) throw new TypeError(`${group} is no mapping`);
  return fc
    .tuple(settingsOf(inner.partial(), tied[group] ?? []), known)
    .map(([others, own]) => ({ ...others, ...own }));
}

const derived = (
  group: "kubernetes" | "controlPlane" | "addons",
  known: Record<string, fc.Arbitrary<unknown>>,
): fc.Arbitrary<PlainConfig> => withDerived(stackSchema.shape[group], group, some(known));

/** How machines are bought and placed: for any pool of the cloud, for spot pools, and for others. */
const placements = {
  aws: {
    any: [
      {},
      { update: { maxSurge: "50%", maxUnavailable: 1 }, maxAge: 30 },
      { disk: { type: "io2", iops: 4000 } },
      { disk: { iops: 6000, throughput: 250, encryptionKey: `arn:aws:kms:eu-central-1:123456789012:key/mrk-1` } },
      { securityGroups: ["sg-0123456789abcdef0", "sg-1123456789abcdef0"] },
    ],
    spot: [
      { onDemand: { base: 1 } },
      { onDemand: { percentAboveBase: 50 }, spotMaxPrice: 0.2 },
      { spotMaxPrice: 0.25 },
    ],
    other: [
      { capacityReservation: "arn:aws:resource-groups:eu-central-1:123456789012:group/reserved" },
      { dedicatedHosts: "arn:aws:resource-groups:eu-central-1:123456789012:group/hosts" },
    ],
  },
  azure: {
    any: [
      {},
      { disk: { type: "StandardSSD_ZRS" } },
      { disk: { encryptionKey: `${azureGroup}/Microsoft.Compute/diskEncryptionSets/own` } },
      { securityGroups: [`${azureGroup}/Microsoft.Network/applicationSecurityGroups/agents`] },
    ],
    spot: [{ spotMaxPrice: 0.25 }],
    other: [
      { update: { maxSurge: 2 } },
      { capacityReservation: `${azureGroup}/Microsoft.Compute/capacityReservationGroups/reserved` },
    ],
  },
} as const;

/** First number of Windows images' versions. */
function build(os: unknown): string | undefined {
  const facts = Object.values(operatingSystems).find(({ name }) => name === os);
  return facts?.family === "windows" ? facts.build.slice("10.0.".length) : undefined;
}

/** Up to eight pools; the index keeps names apart. */
function pools(facts: Cloud, zones: readonly string[]): fc.Arbitrary<readonly PlainConfig[]> {
  const bounds = fc.tuple(fc.nat(4), fc.nat(4)).map(([a, b]) => ({ min: Math.min(a, b), max: Math.max(a, b, 1) }));
  const plain = fc.record(
    {
      name: word(3),
      os: fc.constantFrom(...operatingSystemNames),
      size: fc.constantFrom(...facts.sizes),
      image: fc.constantFrom(...facts.images),
      diskGb: fc.integer({ min: 127, max: 500 }),
      zones: fc.subarray([...zones], { minLength: 1 }),
      spot: fc.boolean(),
      kubelet: some({
        maxPods: fc.integer({ min: 10, max: 250 }),
        kubeReserved: some({ cpu: fc.constant("100m"), memory: fc.constant("300Mi") }),
        evictionHard: some({ "memory.available": fc.constant("300Mi"), "nodefs.available": fc.constant("5%") }),
      }),
      labels: fc.dictionary(fc.constantFrom("team", "example.com/tier", "a_b"), word(10), { maxKeys: 3 }),
      taints: fc.uniqueArray(
        fc.record({
          key: fc.constantFrom("dedicated", "example.com/x"),
          effect: fc.constantFrom("NoSchedule", "NoExecute"),
        }),
        { maxLength: 2, selector: ({ key, effect }) => key + effect },
      ),
    },
    { requiredKeys: ["name", "os"] },
  );
  const amount = fc.oneof(
    fc.constant({}),
    fc.record({ count: fc.nat(10) }),
    bounds.map((autoscale) => ({ autoscale })),
  );
  const special = fc.constantFrom("none", "none", "hyperV", "capacity");
  const { any, spot, other } = placements[facts === clouds.aws ? "aws" : "azure"];
  const placed = fc.record({
    any: fc.constantFrom(...any),
    spot: fc.constantFrom({}, ...spot),
    other: fc.constantFrom({}, ...other),
  });
  const pool = fc.tuple(
    withDerived(stackSchema.shape.pools.element, "pools", plain),
    amount,
    special,
    fc.constantFrom(...facts.nesting),
    placed,
  );
  return fc.array(pool, { minLength: 1, maxLength: 8 }).map((list) =>
    list.map(([base, count, kind, nesting, place], index) => ({
      ...place.any,
      ...(base.spot === true && base.size !== "Standard_B2ms" ? place.spot : place.other),
      ...base,
      // Azure gives no burstable size as a spot machine.
      ...(base.size === "Standard_B2ms" ? { spot: false } : {}),
      // With a zone's suffix nine characters at most.
      name: `p${index}${base.name}`,
      ...(base.image === "24.04.202610010" && base.os !== "linux" ? { image: `${build(base.os)}.5499.260809` } : {}),
      ...count,
      ...(kind === "hyperV" && base.os !== "linux" ? { hyperV: true, size: nesting } : {}),
      ...(kind === "capacity" ? { size: facts.odd, capacity: { vcpus: 8, memoryGib: 61.5 } } : {}),
    })),
  );
}

/** An existing network, with subnets in its first two ranges; on Azure zones share them. */
function existingNetwork(cloud: "aws" | "azure", zones: readonly string[], open: boolean): PlainConfig {
  const vnet = `/subscriptions/${clouds.azure.accountId}/resourceGroups/net/providers/Microsoft.Network/virtualNetworks/n`;
  const subnet = (kind: string, slot: number, cidr: string) =>
    cloud === "aws" ? { id: `subnet-0${kind}00000000000000${slot}`, cidr } : { id: `${vnet}/subnets/${kind}`, cidr };
  const slots = zones.map((zone, index): [string, unknown] => {
    const slot = cloud === "aws" ? index : 0;
    return [
      zone,
      {
        private: subnet("a", slot, `10.7.${slot * 64}.0/18`),
        controlPlane: subnet("b", slot, `100.64.0.${slot * 16}/28`),
        ...(cloud === "aws" && open ? { public: subnet("c", slot, `10.7.${192 + slot}.0/27`) } : {}),
      },
    ];
  });
  return {
    id: cloud === "aws" ? "vpc-00000000000000007" : vnet,
    moreCidrs: ["100.64.0.0/24"],
    subnets: Object.fromEntries(slots),
    ...(cloud === "aws" ? { tagSubnets: open } : { resourceGroup: "mine" }),
  };
}

function validConfig(cloud: "aws" | "azure", region: string, zoneCount: number): fc.Arbitrary<PlainConfig> {
  const facts = clouds[cloud];
  const zones = facts.zones(region).slice(0, zoneCount);
  const mirror = some({
    artifacts: fc.constantFrom("https://mirror.example.com", "http://10.0.0.5:8080/files/"),
    registries: fc.constantFrom({ "registry.k8s.io": "https://mirror.example.com/k8s" }, {}),
  });
  const isolated = fc.constant({
    mirror: { artifacts: "https://m.test", registries: { _default: "https://m.test" } },
    nat: "none",
  });
  const outbound = fc.oneof(
    ...(cloud === "aws" ? [isolated] : []),
    fc.record({ mirror, nat: fc.constantFrom("single", "perZone") }),
    fc.constant({ mirror: {}, nat: "single" }),
  );
  const optional = some({
    accountId: fc.constant(facts.accountId),
    environment: fc.constantFrom("development", "production"),
    kubernetes: derived("kubernetes", {
      version: fc.constantFrom(...versions),
      podCidr: network([12, 14, 16], 128, false),
      serviceCidr: network([12, 16, 20, 24], 96, true),
    }),
    controlPlane: derived("controlPlane", {
      size: fc.constantFrom(...facts.sizes),
      image: fc.constantFrom(...facts.images),
      osDisk: fc.constantFrom(...placements[cloud].any.map((any) => ("disk" in any ? any.disk : {}))),
      extraArgs: some({
        apiServer: some({ "max-requests-inflight": fc.constant("800"), "event-ttl": fc.constant("2h0m0s") }),
        etcd: some({ "heartbeat-interval": fc.constant("200") }),
      }),
      auditPolicy: fc.constant({ rules: [{ level: "Metadata", verbs: ["delete"] }] }),
    }),
    access: some({
      public: fc.constant({ allow: ["203.0.113.0/24", "198.51.100.7/32"] }),
      private: fc.constant({ allow: ["172.20.0.0/14"] }),
    }),
    addons: derived("addons", {
      smb: fc.constantFrom({}, { shares: [{ name: "files", source: "//files.test/pods", secret: "smb-files" }] }),
      gmsa: fc.constantFrom({}, { credentialSpecs: [] }),
      logs: fc.constant({
        otlp: { endpoint: "https://otlp.test/v1/logs", headers: [{ name: "Authorization", secret: "token" }] },
      }),
      // A snapshot is one of a disk.
    }).map((addons) => (addons.storage === false ? { ...addons, volumeSnapshots: false } : addons)),
    httpProxy: fc.constant("http://proxy.example.com:3128"),
    registryCredentials: fc.constant({ "registry.example.com": { username: "[secret]", password: "[secret]" } }),
    certificateAuthorities: fc.constant([authority]),
    secretsEncryption: fc.constant({ keys: ["key2", "key1"] }),
    ...(cloud === "aws" ? {} : { encryptionAtHost: fc.boolean() }),
    tags: fc.dictionary(
      fc.constantFrom("owner", "cost-center", "Umgebung"),
      fc.string({ unit: fc.constantFrom(..."aZß9 _.:/=+-@"), maxLength: 256 }),
    ),
  });
  const machines = fc.option(network([16, 17, 18, 19, 20, 21, ...(cloud === "azure" ? [22] : [])], 7, true), {
    nil: undefined,
  });
  const networks = fc.constantFrom("created", "created", "with name servers", "existing");
  return fc
    .record({
      name: word(9).map((rest) => `c${rest}`),
      optional,
      outbound,
      list: pools(facts, zones),
      machines,
      networks,
    })
    .map(({ name, optional: rest, outbound: { mirror: own, nat }, list, machines: cidr, networks: kind }) => ({
      cloud,
      name,
      region,
      network: {
        zones,
        ...(kind === "existing"
          ? {
              nat: nat === "perZone" ? "single" : nat,
              cidr: "10.7.0.0/16",
              existing: existingNetwork(cloud, zones, Object.hasOwn(rest.access ?? {}, "public")),
            }
          : { nat, ...(cidr === undefined ? {} : { cidr }) }),
        ...(kind === "with name servers" ? { dns: { servers: ["10.7.0.10"] } } : {}),
      },
      pools: list,
      mirror: own,
      ...rest,
      ...(rest.httpProxy !== undefined && rest.registryCredentials !== undefined
        ? { proxyCredentials: { username: "[secret]", password: "[secret]" } }
        : {}),
    }));
}

/** Configs that every rule accepts. */
export const arbitraryValidConfig: fc.Arbitrary<PlainConfig> = fc.oneof(
  ...(["aws", "azure"] as const).flatMap((cloud) =>
    clouds[cloud].regions.flatMap((region) =>
      [1, 2, 3].map((zones) =>
        // ARNs must be in the region.
        validConfig(cloud, region, zones).map(
          (config): PlainConfig =>
            JSON.parse(
              JSON.stringify(config)
                .replaceAll(":eu-central-1:", `:${region}:`)
                .replaceAll("arn:aws:", `arn:${cloudFacts.aws.regions.partition(region)}:`),
            ),
        ),
      ),
    ),
  ),
);

/** Sets a value in a tree of plain values, making mappings on the way. `undefined` removes. */
export function setAt(root: object, path: readonly (string | number)[], value: unknown): void {
  const [step, ...rest] = path;
  // A list's length is no place for a value, nor can JSON say it.
  if (step === undefined || (Array.isArray(root) && step === "length")) return;
  if (rest.length === 0) {
    if (value === undefined) Reflect.deleteProperty(root, step);
    else Object.defineProperty(root, step, { value, enumerable: true, configurable: true, writable: true });
    return;
  }
  const found: unknown = Object.hasOwn(root, step) ? Reflect.get(root, step) : undefined;
  const next = typeof found === "object" && found !== null ? found : {};
  Object.defineProperty(root, step, { value: next, enumerable: true, configurable: true, writable: true });
  setAt(next, rest, value);
}

/** A changed copy, by paths such as `pools.0.name`; `null` removes. */
export function changedAt(config: object, changes: Readonly<Record<string, unknown>>): PlainConfig {
  const copy: PlainConfig = { ...structuredClone(config) };
  for (const [path, value] of Object.entries(changes))
    setAt(
      copy,
      path.split(".").map((step) => (/^\d+$/.test(step) ? Number(step) : step)),
      value ?? undefined,
    );
  return copy;
}

const hostileKey = fc.constantFrom("__proto__", "constructor", "toString", "length", "", "a b", "0", "ключ");

/** Every path into a tree of plain values. */
function pathsOf(value: unknown, path: readonly (string | number)[] = []): (string | number)[][] {
  if (typeof value !== "object" || value === null) return [[...path]];
  const steps = Array.isArray(value) ? [...value.keys()] : Object.keys(value);
  return [[...path], ...steps.flatMap((step) => pathsOf(Reflect.get(value, step), [...path, step]))];
}

/** Valid configs with anything in any place: all types, missing keys, keys with a meaning in JavaScript. */
export function arbitraryWildConfig(): fc.Arbitrary<PlainConfig> {
  const edit = fc.record({
    at: fc.nat(10_000),
    key: fc.option(hostileKey, { nil: undefined, freq: 4 }),
    value: fc.oneof(
      fc.jsonValue({ maxDepth: 2 }),
      fc.constant(undefined),
      fc.constantFrom("x".repeat(500), -1, 1e21, "10.0.0.0/16"),
    ),
  });
  return fc.tuple(arbitraryValidConfig, fc.array(edit, { minLength: 1, maxLength: 4 })).map(([valid, edits]) => {
    const config = structuredClone(valid);
    for (const { at, key, value } of edits) {
      const paths = pathsOf(config);
      const path = paths[at % paths.length] ?? [];
      // A copy: one value may come for two edits, and one that contains itself would be endless.
      setAt(config, key === undefined ? path : [...path, key], structuredClone(value));
    }
    return config;
  });
}

/** Configs as people write them: valid, or hardly a config. */
export function arbitraryConfig(): fc.Arbitrary<PlainConfig> {
  return fc.oneof({ arbitrary: arbitraryValidConfig, weight: 3 }, { arbitrary: arbitraryWildConfig(), weight: 2 });
}
