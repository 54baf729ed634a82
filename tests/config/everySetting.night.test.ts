import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import path from "node:path";
import { schemaOf } from "../../components/config/cloudSchema.ts";
import { configJsonSchema, type JsonSchema } from "../../components/config/jsonSchema.ts";
import { loadConfig } from "../../components/config/load.ts";
import { stackNames } from "../../components/config/stackFile.ts";
import { cloudFacts } from "../../components/model/cloudFacts/cloudFacts.ts";
import { ConfigError } from "../../components/model/problem.ts";
import { placeOf, simulatedCloud } from "../../plan/fakes/cloud.ts";
import { runProgramWithHooks } from "../../plan/program/runProgram.ts";
import { withEveryAddOn } from "../../rehearsal/testkit/cluster.ts";
import { changedConfigs } from "../plan/changedConfigs.ts";
import { changedAt } from "../support/arbitraryConfig.ts";
import { leavesOf } from "../support/leaves.ts";
import { memo } from "../support/memo.ts";
import { configTexts, stackConfig, testStacks } from "../support/stacks.ts";
import { plainConfig } from "./settings.ts";

const entry = path.join(import.meta.dirname, "../../index.ts");

const quantities = { cpu: "100m", memory: "500Mi", "ephemeral-storage": "1Gi" };
const signals = ["nodefs.available", "nodefs.inodesFree", "imagefs.available", "imagefs.inodesFree", "pid.available"];
const thresholds = { "memory.available": "500Mi", ...Object.fromEntries(signals.map((signal) => [signal, "9%"])) };
const periods = Object.fromEntries(Object.keys(thresholds).map((signal) => [signal, "2m"]));
const domain = { dnsName: "corp.example.com", netBiosName: "CORP", sid: "S-1-5-21-1-2-3", guid: crypto.randomUUID() };
const account = (secret: object) => ({ credentialSpecs: [{ name: "web", account: "web1", domain, ...secret }] });
const kmsKey = "arn:aws:kms:eu-central-1:123456789012:key/1234abcd-12ab-34cd-56ef-1234567890ab";
const arn = "arn:aws:secretsmanager:eu-central-1:123456789012:secret:web-AbCdEf";
const shop = "/subscriptions/00000000-0000-4000-8000-000000000000/resourceGroups/shop/providers";
const statement = { actions: ["s3:GetObject"], resources: ["arn:aws:s3:::orders/*"] };
const endpoint = "https://otlp.test/v1/logs";
const secrets = { group: "", resources: ["secrets"], resourceNames: ["orders"] };
const quota = { apiVersion: "apiserver.config.k8s.io/v1", kind: "ResourceQuotaConfiguration", limitedResources: [] };
const vaultSecret = `${shop}/Microsoft.KeyVault/vaults/vault/secrets/web`;
const diskSet = `${shop}/Microsoft.Compute/diskEncryptionSets/set-1`;

/** What neither an example nor a changed config has, on each cloud's development stack. */
const more: Readonly<Record<string, readonly Readonly<Record<string, unknown>>[]>> = {
  both: [
    { "pools.0.kubelet": { evictionHard: thresholds, kubeReserved: quantities, systemReserved: quantities } },
    { "pools.0.kubelet": { evictionSoft: thresholds, evictionSoftGracePeriod: periods } },
    { "addons.logs.otlp": { endpoint, headers: [{ name: "x-api-key", secret: "otlp", key: "token" }] } },
    {
      "controlPlane.auditPolicy.rules": [{ level: "Metadata", resources: [secrets] }],
      "controlPlane.admission": [{ name: "ResourceQuota", configuration: quota }],
    },
  ],
  aws: [
    {
      "addons.gmsa": account({ secret: arn, kmsKey }),
      "pools.1.image": "ami-0a1b2c3d4e5f60719",
      "pools.1.ccgPlugin": true,
      // Another pool may have it: without any the account's secret is refused.
      "pools.2.image": "ami-0a1b2c3d4e5f60719",
    },
    { "controlPlane.osDisk": { encryptionKey: kmsKey }, "pools.0.disk": { encryptionKey: kmsKey } },
    {
      "access.serviceAccountKeys": ["rsa-1"],
      "access.workloadIdentity.serviceAccounts": [{ namespace: "shop", name: "orders", statements: [statement] }],
    },
    { "pools.0.size": "u7i-6tb.112xlarge", "pools.0.capacity": { vcpus: 448, memoryGib: 6144 } },
  ],
  azure: [
    { "addons.gmsa": account({ secret: vaultSecret }), "pools.1.ccgPlugin": true },
    { "controlPlane.osDisk": { encryptionKey: diskSet }, "pools.0.disk": { encryptionKey: diskSet } },
    { "access.dns": { name: "api1.shop.example.com", zone: `${shop}/Microsoft.Network/dnsZones/shop.example.com` } },
    { "pools.0.size": "Standard_L8s_v3", "pools.0.capacity": { vcpus: 8, memoryGib: 64 } },
  ],
};

/** A hash of all resources with their inputs, without the outputs, which repeat the config. */
const recorded = memo(async (config: Readonly<Record<string, string>>): Promise<string> => {
  const simulate = simulatedCloud(placeOf(config), "fake");
  const { program } = await runProgramWithHooks({ entry, stack: "s", config, mode: "known-outputs", simulate });
  return createHash("sha256").update(JSON.stringify(program.resources)).digest("hex");
});

type Path = readonly (string | number)[];

/** Places of a setting: `pools[].os` is at `pools[0].os` and `pools[1].os`. */
function placesOf(value: unknown, [step, ...rest]: readonly string[], at: Path = []): readonly Path[] {
  if (step === undefined) return value === undefined ? [] : [at];
  if (typeof value !== "object" || value === null) return [];
  const keys = step === "[]" || step === "*" ? Object.keys(value) : [step];
  return keys.flatMap((key) =>
    placesOf(Reflect.get(value, key), rest, [...at, Array.isArray(value) ? Number(key) : key]),
  );
}

/** A copy with another value; `undefined` removes. */
function withValue(config: unknown, [step, ...rest]: Path, value: unknown): unknown {
  if (step === undefined) return value;
  const copy = Array.isArray(config) ? [...config] : { ...Object(config) };
  Reflect.set(copy, step, withValue(Reflect.get(copy, step), rest, value));
  return copy;
}

/** Keys of the schema may have dots: `memory.available`. */
const stepsOf = (name: string): readonly string[] =>
  name
    .replaceAll("[]", ".[]")
    .replaceAll(/\b(memory|nodefs|imagefs|pid)\.(available|inodesFree)/g, "$1\u0000$2")
    .split(".")
    .map((step) => step.replace("\u0000", "."));

/** Other values that a setting's schema may take; the rules decide for a config. */
function otherValues({ anyOf = [], ...schema }: JsonSchema, value: unknown): readonly unknown[] {
  const text = typeof value === "string" ? value : "";
  const list = Array.isArray(value) ? value : [];
  const number = typeof value === "number" ? value : Number(schema.default ?? schema.minimum ?? 0);
  const digitChanged = [/\d(?=\D*$)/, /\d/]
    .flatMap((place) => ["1", "2"].map((digit) => text.replace(place, digit)))
    .filter((other) => other !== text);
  const byType: Readonly<Record<string, readonly unknown[]>> = {
    boolean: [true, false],
    string: [
      ...(schema.format === "uuid" ? [domain.guid] : []),
      ...(schema.examples ?? []),
      ...digitChanged,
      `${text}x`,
    ],
    integer: [number + 2, number + 1, number - 1, number + 10, number * 2, schema.minimum, schema.maximum],
    number: [number + 1, number - 1, number + 0.5, schema.minimum],
    array: [
      list.slice(0, -1),
      ...(schema.items === undefined ? [] : otherValues(schema.items, list[0]).map((one) => [...list, one])),
    ],
    object: [{}, { a: "b" }, { ...Object(value), b: "c" }],
  };
  return [
    ...(schema.enum ?? []),
    ...(byType[schema.type ?? ""] ?? []),
    ...anyOf.flatMap((each) => otherValues(each, value)),
    undefined,
  ];
}

function isTaken(config: Readonly<Record<string, string>>): boolean {
  try {
    return loadConfig(config).name !== "";
  } catch (error) {
    if (error instanceof ConfigError) return false;
    throw error;
  }
}

/** A cloud's examples, as they are and with every add-on, changed configs, and this test's own. */
function basesOf(cloud: string): readonly object[] {
  const examples = stackNames(testStacks)
    .filter((stack) => stack.startsWith(cloud))
    .flatMap((stack) => [stackConfig(stack), withEveryAddOn(stackConfig(stack))]);
  const changed = changedConfigs.filter((each) => each.cloud === cloud).map(({ after }) => after);
  const own = [...(more.both ?? []), ...(more[cloud] ?? [])].map((changes) =>
    changedAt(plainConfig(stackConfig(`${cloud}-dev`)), changes),
  );
  assert.deepEqual(
    own.filter((config) => !isTaken(configTexts(config))),
    [],
  );
  return [...[...examples, ...changed].map(plainConfig), ...own];
}

/** Settings without another value to try here, and who sees their effect. */
const seenElsewhere: Readonly<Record<string, string>> = {
  cloud: "the other cloud's examples",
  "network.existing.subnets.*.private.cidr": "goes with the id: tests/program/existingNetwork.slow.test.ts",
  "network.existing.subnets.*.controlPlane.cidr": "as above",
  "network.existing.subnets.*.public.cidr": "as above",
  region: "zones go with it: tests/plan/changedConfigs.yaml",
  acknowledge: "a finding's level, no resource: tests/plan/findings.test.ts",
  "proxyCredentials.username": "its password is encrypted: tests/machine/credentials.test.ts",
  "proxyCredentials.password": "as above",
  "registryCredentials.*.username": "as above",
  "registryCredentials.*.password": "as above",
};

/** The config with an id changed wherever it stands: ids of subnets begin with their network's. */
function elsewhereToo(base: object, place: Path, other: unknown): readonly unknown[] {
  const value = place.reduce((part: unknown, step) => Reflect.get(Object(part), step), base);
  return typeof value === "string" && value.startsWith("/") && typeof other === "string"
    ? [JSON.parse(JSON.stringify(base).replaceAll(value, other))]
    : [];
}

/** What another value of a setting does, in the first config where one can be tried. */
async function effectOf(name: string, schema: JsonSchema, bases: readonly object[]): Promise<string> {
  const steps = stepsOf(name);
  const within = (path: readonly string[], rest: readonly string[]) =>
    bases.flatMap((base) => placesOf(base, path).map((place) => ({ base, place: [...place, ...rest] })));
  const isPlain = (path: readonly string[]): boolean => path.every((step) => step !== "[]" && step !== "*");
  const places = [
    ...within(steps, []),
    ...within(steps.slice(0, -1), steps.slice(-1)),
    ...within(steps.slice(0, -2), isPlain(steps.slice(-2)) ? steps.slice(-2) : []),
    ...(isPlain(steps) ? bases.map((base) => ({ base, place: steps })) : []),
  ];
  const tries = places.flatMap(({ base, place }) => {
    const value = place.reduce((part: unknown, step) => Reflect.get(Object(part), step), base);
    return otherValues(schema, value)
      .filter((other) => JSON.stringify(other) !== JSON.stringify(value))
      .map((other, order) => ({ base, place, other, order }));
  });
  // Each kind of value in the first three configs that take it.
  const equal = new Map<number, number>();
  for (const { base, place, other, order } of tries.sort((a, b) => a.order - b.order)) {
    const known = equal.get(order) ?? 0;
    if (known === 3) continue;
    const after = [withValue(base, place, other), ...elsewhereToo(base, place, other)]
      .map((config) => configTexts(Object(config)))
      .find(isTaken);
    if (after === undefined) continue;
    if ((await recorded(configTexts({ ...base }))) !== (await recorded(after))) return "changes";
    equal.set(order, known + 1);
  }
  return equal.size > 0 ? "does nothing" : "has no other value";
}

describe("each setting of a stack file", function () {
  this.timeout(120_000);
  for (const { name: cloud } of Object.values(cloudFacts)) {
    const bases = memo(async () => basesOf(cloud));
    const settings = leavesOf(configJsonSchema(schemaOf(cloud)));
    for (const [name, schema] of settings.filter(([each]) => !Object.hasOwn(seenElsewhere, each)))
      it(`changes what is made on ${cloud}: ${name}`, async () =>
        assert.equal(await effectOf(name, schema, await bases()), "changes"));
  }

  it("is seen where the list says, and is still a setting", () => {
    const names = new Set(leavesOf(configJsonSchema()).map(([name]) => name));
    assert.deepEqual(
      Object.keys(seenElsewhere).filter((key) => !names.has(key)),
      [],
    );
  });
});
