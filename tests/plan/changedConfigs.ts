import { readFileSync } from "node:fs";
import path from "node:path";
import { parse } from "yaml";
import { z } from "zod";
import { loadConfig } from "../../components/config/load.ts";
import { registryFacts } from "../../components/model/cloudFacts/identities.ts";
import { ConfigError } from "../../components/model/problem.ts";
import { newAuthority } from "../../rehearsal/clouds/server.ts";
import { changedAt, configTexts } from "../support/stacks.ts";

const common = {
  kubernetes: { version: "1.36.4" },
  name: "c",
  controlPlane: { etcdDiskGb: 40 },
  access: { public: { allow: ["100.64.7.0/24"] } },
  pools: [
    { name: "linux", os: "linux", count: 2 },
    { name: "win", os: "windows-2022", count: 2 },
  ],
};
const network = { cidr: "10.0.0.0/16" };

const configs = {
  aws: {
    ...common,
    cloud: "aws",
    region: "eu-central-1",
    network: { ...network, zones: ["eu-central-1a", "eu-central-1b"] },
  },
  azure: { ...common, cloud: "azure", region: "westeurope", network: { ...network, zones: ["1", "2"] } },
} as const;
export type Cloud = keyof typeof configs;

const own = "/subscriptions/01234567-89ab-cdef-0123-456789abcdef/resourceGroups/shared/providers/Microsoft";

const scope = "/subscriptions/00000000-0000-4000-8000-000000000000/resourceGroups/shop";
const AUTHORITY = newAuthority("Own").certificate;

const values = {
  aws: {
    AUTHORITY,
    ACCOUNT: "210987654321",
    ANOTHER: "999999999999",
    ZONEOF: "Z0123456789ABCDEFGHIJ",
    SIZE: "m7i.2xlarge",
    NESTING: "m8i.large",
    REGISTRY: registryFacts.aws.example,
    IMAGE: "ami-0a1b2c3d4e5f60719",
    LINUX: "ami-0a1b2c3d4e5f60718",
    ZONE: "eu-central-1a",
    OTHER: "eu-central-1b",
    THIRD: "eu-central-1c",
    REGION: "eu-west-1",
    FIRST: "eu-west-1a",
    SECOND: "eu-west-1b",
    DISK: { type: "io2" },
    KEY: "arn:aws:kms:eu-central-1:123456789012:key/01234567-89ab-cdef-0123-456789abcdef",
    RIGHTS: { namespace: "shop", name: "orders", policies: ["arn:aws:iam::aws:policy/AmazonSQSReadOnlyAccess"] },
  },
  azure: {
    AUTHORITY,
    ACCOUNT: "01234567-89ab-cdef-0123-456789abcdef",
    ANOTHER: "11234567-89ab-cdef-0123-456789abcdef",
    ZONEOF:
      "/subscriptions/00000000-0000-4000-8000-000000000000/resourceGroups/dns/providers/Microsoft.Network/dnsZones/shop.example.com",
    GALLERY: `${own}.Compute/galleries/own/images/windows`,
    SIZE: "Standard_D8s_v5",
    NESTING: "Standard_D4s_v5",
    REGISTRY: registryFacts.azure.example,
    IMAGE: "20348.5499.260809",
    LINUX: "24.04.202610010",
    ZONE: "1",
    OTHER: "2",
    THIRD: "3",
    REGION: "northeurope",
    FIRST: "1",
    SECOND: "2",
    DISK: { type: "StandardSSD_LRS" },
    KEY: `${own}.Compute/diskEncryptionSets/own`,
    RIGHTS: { namespace: "shop", name: "orders", roles: [{ role: "2a2b9908-6ea1-4ae2-8e65-a410df84e7d1", scope }] },
  },
} as const;

type Changes = Readonly<Record<string, unknown>>;
const changes = z.record(z.string(), z.unknown());
export const file = path.join(import.meta.dirname, "changedConfigs.yaml");
export const cases = z
  .array(z.record(z.string(), z.union([changes.transform((to) => [{}, to] as const), z.tuple([changes, changes])])))
  .parse(parse(readFileSync(file, "utf8")))
  .flatMap((each, item) => Object.entries(each).map(([what, [from, to]]) => ({ item, what, from, to })));

/** A config with a change, in which a word in capitals is a value of the cloud. */
export function changedConfig(cloud: Cloud, config: object, change: Changes): Changes {
  const text = JSON.stringify(change).replaceAll(/"([A-Z]+)"/g, (all, key) =>
    key in values[cloud] ? JSON.stringify(Reflect.get(values[cloud], key)) : all,
  );
  return changedAt(config, changes.parse(JSON.parse(text)));
}

/** Whether a cloud has what a config sets. */
function isTaken(config: Changes) {
  try {
    return loadConfig(configTexts(config)).name !== "";
  } catch (error) {
    if (error instanceof ConfigError) return false;
    throw error;
  }
}

/** Configs before and after each change, on the clouds that take them. */
export const changedConfigs = cases.flatMap(({ what, from, to }) =>
  (["aws", "azure"] as const).flatMap((cloud) => {
    const before = changedConfig(cloud, configs[cloud], from);
    const config = changedConfig(cloud, before, to);
    return isTaken(before) && isTaken(config)
      ? [{ what, cloud, to, config, before: configTexts(before), after: configTexts(config) }]
      : [];
  }),
);
