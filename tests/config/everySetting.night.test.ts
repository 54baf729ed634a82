import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { fileURLToPath } from "node:url";
import { configJsonSchema, type JsonSchema } from "../../components/config/jsonSchema.ts";
import { loadConfig } from "../../components/config/load.ts";
import { ConfigError } from "../../components/config/problem.ts";
import { stackNames } from "../../components/config/stackFile.ts";
import { placeOf, simulatedCloud } from "../../plan/fakes/cloud.ts";
import { runProgramWithHooks } from "../../plan/program/runProgram.ts";
import { withEveryAddOn } from "../../rehearsal/testkit/cluster.ts";
import { changedAt } from "../support/arbitraryConfig.ts";
import { memo } from "../support/memo.ts";
import { configTexts, stackConfig, testStacks } from "../support/stacks.ts";

const entry = fileURLToPath(new URL("../../index.ts", import.meta.url));

const quantities = { cpu: "100m", memory: "500Mi", "ephemeral-storage": "1Gi" };
const thresholds = {
  "memory.available": "500Mi",
  "nodefs.available": "12%",
  "nodefs.inodesFree": "6%",
  "imagefs.available": "14%",
  "imagefs.inodesFree": "7%",
  "pid.available": "8%",
};
const periods = Object.fromEntries(Object.keys(thresholds).map((signal) => [signal, "2m"]));
const domain = { dnsName: "corp.example.com", netBiosName: "CORP", sid: "S-1-5-21-1-2-3", guid: crypto.randomUUID() };
const headers = [{ name: "Authorization", secret: "log-token", key: "token" }];
const arn = "arn:aws:secretsmanager:eu-central-1:123456789012:secret:web-AbCdEf";
const kmsKey = "arn:aws:kms:eu-central-1:123456789012:key/1234abcd-12ab-34cd-56ef-1234567890ab";
const fast = { type: "gp3", iops: 4000, throughput: 250, encryptionKey: kmsKey };
const account = (secret: object) => ({ credentialSpecs: [{ name: "web", account: "web1", domain, ...secret }] });
const keys = { "access.serviceAccountKeys": ["rsa-1"] };
const orders = { namespace: "shop", name: "orders" };
const azureScope = "/subscriptions/00000000-0000-4000-8000-000000000000/resourceGroups/shop";
const compute = `${azureScope}/providers/Microsoft.Compute`;
const azureRule = `${azureScope}/providers/Microsoft.Insights/dataCollectionRules/logs`;

/** What no example has: changes of each cloud's development stack, by path. The second pool is of Windows. */
const common = [
  { "pools.0.kubelet": { evictionHard: thresholds, kubeReserved: quantities, systemReserved: quantities } },
  { "pools.0.kubelet": { evictionSoft: thresholds, evictionSoftGracePeriod: periods } },
  { "addons.logs": { otlp: { endpoint: "https://otlp.example.com/v1", headers } } },
  { "pools.0.update": { maxSurge: 2 }, "access.names": ["api.corp.example.com"] },
  { "mirror.registries": { "ghcr.io": "https://mirror.corp.test/ghcr" } },
  { "kubernetes.version": "1.37.1" },
  { "pools.0.waitForNodes": false, "network.dns": { servers: ["10.0.0.4"] } },
];
const more: Readonly<Record<string, readonly Readonly<Record<string, unknown>>[]>> = {
  aws: [
    ...common,
    { "pools.0.zones": ["eu-central-1a"] },
    { "controlPlane.osDisk": fast, "controlPlane.etcdDisk": fast },
    { "pools.0.capacityReservation": "arn:aws:resource-groups:eu-central-1:123456789012:group/reserved" },
    { "pools.0.dedicatedHosts": "arn:aws:resource-groups:eu-central-1:123456789012:group/hosts" },
    { "pools.0.securityGroups": ["sg-0123456789abcdef0"] },
    { "pools.0.instanceProfile": "arn:aws:iam::123456789012:instance-profile/own" },
    { "pools.0.update": { maxUnavailable: 1 } },
    { "pools.0.disk": fast },
    { "network.dns": { servers: ["10.0.0.4"], searchDomain: "corp.example.com" } },
    {
      "addons.gmsa": account({ secret: arn, kmsKey }),
      "pools.1.image": "ami-0a1b2c3d4e5f60719",
      "pools.1.ccgPlugin": true,
    },
    { "pools.0.size": "u7i-6tb.112xlarge", "pools.0.capacity": { vcpus: 448, memoryGib: 6144 } },
    { "pools.0.spot": true, "pools.0.spotMaxPrice": 0.1 },
    { ...keys, "addons.logs.cloudwatch.retentionDays": 90, "access.workloadIdentity": {} },
    { ...keys, "access.workloadIdentity.serviceAccounts": [{ ...orders, policies: ["arn:aws:iam::aws:policy/A"] }] },
    {
      ...keys,
      "access.workloadIdentity.serviceAccounts": [
        { ...orders, statements: [{ actions: ["s3:GetObject"], resources: ["arn:aws:s3:::b/*"] }] },
      ],
    },
    { "access.dns": { name: "api.shop.example.com", zone: "Z0123456789ABCDEFGHIJ" } },
    { "registryAccess.resources": ["arn:aws:ecr:eu-central-1:123456789012:repository/a"] },
  ],
  azure: [
    ...common,
    { "pools.0.zones": ["1"], "pools.0.dedicatedHosts": `${compute}/hostGroups/hosts` },
    { "pools.0.capacityReservation": `${compute}/capacityReservationGroups/reserved` },
    { "pools.0.securityGroups": [`${azureScope}/providers/Microsoft.Network/applicationSecurityGroups/agents`] },
    { "pools.0.disk.encryptionKey": `${compute}/diskEncryptionSets/own` },
    { "pools.0.disk": { type: "StandardSSD_LRS" } },
    {
      "addons.gmsa": account({ secret: `${azureScope}/providers/Microsoft.KeyVault/vaults/vault/secrets/web` }),
      "pools.1.ccgPlugin": true,
    },
    { "pools.0.size": "Standard_L8s_v3", "pools.0.capacity": { vcpus: 8, memoryGib: 64 } },
    {
      ...keys,
      "access.workloadIdentity.serviceAccounts": [
        { ...orders, roles: [{ role: "2a2b9908-6ea1-4ae2-8e65-a410df84e7d1", scope: azureScope }] },
      ],
    },
    {
      ...keys,
      "access.workloadIdentity": {},
      "addons.logs.azureMonitor": {
        endpoint:
          "https://logs-1.westeurope-1.ingest.monitor.azure.com/datacollectionRules/dcr-1/streams/Microsoft-OTLP-Logs/otlp/v1/logs",
        dataCollectionRule: azureRule,
      },
    },
    {
      "access.dns": {
        name: "api.shop.example.com",
        zone: `${azureScope}/providers/Microsoft.Network/dnsZones/shop.example.com`,
      },
    },
    { "registryAccess.resources": [`${azureScope}/providers/Microsoft.ContainerRegistry/registries/registry`] },
  ],
};

/** A hash of all resources with their inputs. The stack's outputs are none: they repeat the config. */
const recorded = memo(async (config: Readonly<Record<string, string>>): Promise<string> => {
  const simulate = simulatedCloud(placeOf(config), "fake");
  const { program } = await runProgramWithHooks({ entry, stack: "s", config, mode: "known-outputs", simulate });
  return createHash("sha256").update(JSON.stringify(program.resources)).digest("hex");
});

type Path = readonly (string | number)[];

/** Where a config has a setting: `pools[].os` is at `pools[0].os` and `pools[1].os`. */
function placesOf(value: unknown, [step, ...rest]: readonly string[], at: Path = []): readonly Path[] {
  if (step === undefined) return value === undefined ? [] : [at];
  if (typeof value !== "object" || value === null) return [];
  const keys = step === "[]" || step === "*" ? Object.keys(value) : [step];
  return keys.flatMap((key) =>
    placesOf(Reflect.get(value, key), rest, [...at, Array.isArray(value) ? Number(key) : key]),
  );
}

/** A copy with another value at a place; `undefined` takes the setting out. */
function withValue(config: unknown, [step, ...rest]: Path, value: unknown): unknown {
  if (step === undefined) return value;
  const copy = Array.isArray(config) ? [...config] : { ...Object(config) };
  Reflect.set(copy, step, withValue(Reflect.get(copy, step), rest, value));
  return copy;
}

/** Leaves of the schema with their names as in docs/configuration.md: `pools[].kubelet.podPidsLimit`. */
function leavesOf(schema: JsonSchema, path = ""): readonly (readonly [path: string, schema: JsonSchema])[] {
  const { properties = {}, items, additionalProperties, anyOf = [] } = schema;
  const below = [
    ...Object.entries(properties).flatMap(([key, value]) => leavesOf(value, path === "" ? key : `${path}.${key}`)),
    ...(items === undefined ? [] : leavesOf(items, `${path}[]`)),
    ...(typeof additionalProperties === "object" ? leavesOf(additionalProperties, `${path}.*`) : []),
    ...anyOf.flatMap((each) => leavesOf(each, path)),
  ].filter(([name]) => name !== path && !/\.\*$|\[\]$/.test(name));
  return below.length > 0 ? below : [[path, schema]];
}

/** Steps of a name; a key of the schema may have dots: `memory.available`. */
const stepsOf = (name: string): readonly string[] =>
  name
    .replaceAll("[]", ".[]")
    .replaceAll(/\b(memory|nodefs|imagefs|pid)\.(available|inodesFree)/g, "$1\u0000$2")
    .split(".")
    .map((step) => step.replace("\u0000", "."));

/** Other values of a setting that its schema may take; which of them a config takes is up to the rules. */
function otherValues({ anyOf = [], ...schema }: JsonSchema, value: unknown): readonly unknown[] {
  const text = typeof value === "string" ? value : "";
  const list = Array.isArray(value) ? value : [];
  const number = typeof value === "number" ? value : Number(schema.default ?? schema.minimum ?? 0);
  const byType: Readonly<Record<string, readonly unknown[]>> = {
    boolean: [true, false],
    string: [
      ...(schema.format === "uuid" ? [domain.guid] : []),
      ...(schema.examples ?? []),
      ...lastChanged(text),
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

/** A text with another last digit, or none where it has no digit. */
function lastChanged(text: string): readonly string[] {
  return ["1", "2"].map((digit) => text.replace(/\d(?=\D*$)/, digit)).filter((other) => other !== text);
}

/** The problems of a config, by their paths. */
function problemsOf(config: Readonly<Record<string, string>>): readonly string[] {
  try {
    loadConfig(config);
    return [];
  } catch (error) {
    if (error instanceof ConfigError) return error.problems.map(({ path, message }) => `${path} ${message}`);
    throw error;
  }
}

const parsed = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
};

const plainConfig = (config: Readonly<Record<string, string>>): object =>
  Object.fromEntries(Object.entries(config).map(([key, text]) => [key.replace(/^fenestra:/, ""), parsed(text)]));

/** Config values of all examples of a cloud, as they are and with every add-on. */
const basesOf = (cloud: string): readonly object[] =>
  stackNames(testStacks)
    .filter((stack) => stack.startsWith(cloud))
    .flatMap((stack) => [stackConfig(stack), withEveryAddOn(stackConfig(stack))])
    .map(plainConfig);

/** The same, and what only this test has. */
function withMore(cloud: string): readonly object[] {
  const own = (more[cloud] ?? []).map((changes) => changedAt(plainConfig(stackConfig(`${cloud}-dev`)), changes));
  const wrong = own.flatMap((config) => problemsOf(configTexts(config)));
  assert.deepEqual(wrong, []);
  return [...basesOf(cloud), ...own];
}

/** Settings of which no other value can be tried here, and who sees what they do. */
const seenElsewhere: Readonly<Record<string, string>> = {
  cloud: "the other cloud's examples",
  "network.existing.subnets.*.private.cidr": "goes with the id: tests/program/existingNetwork.slow.test.ts",
  "network.existing.subnets.*.controlPlane.cidr": "as above",
  "network.existing.subnets.*.public.cidr": "as above",
  "aws network.azureCni.podsPerNode": "with Azure CNI only",
  "aws access.workloadIdentity.serviceAccounts[].roles[].role": "rights on AWS are policies and statements",
  "aws access.workloadIdentity.serviceAccounts[].roles[].scope": "as above",
  "aws addons.logs.azureMonitor.endpoint": "one destination for each cloud",
  "aws addons.logs.azureMonitor.dataCollectionRule": "as above",
  region: "zones go with it: tests/plan/changedConfigs.yaml",
  acknowledge: "a finding's level, no resource: tests/plan/findings.test.ts",
  "proxyCredentials.username": "its password is encrypted: tests/machine/credentials.test.ts",
  "proxyCredentials.password": "encrypted: tests/machine/credentials.test.ts",
  "registryCredentials.*.username": "its password is encrypted: tests/machine/credentials.test.ts",
  "registryCredentials.*.password": "encrypted: tests/machine/credentials.test.ts",
};

describe("each setting of a stack file", function () {
  this.timeout(1_800_000);
  for (const cloud of ["aws", "azure"])
    it(`changes what is made on ${cloud}, or is refused there`, async () => {
      const bases = withMore(cloud);
      const without: string[] = [];
      for (const [name, schema] of leavesOf(configJsonSchema())) {
        if ([name, `${cloud} ${name}`].some((key) => Object.hasOwn(seenElsewhere, key))) continue;
        const effect = await effectOf(name, schema, bases);
        if (effect !== "changes") without.push(`${name} ${effect}`);
      }
      assert.deepEqual(without, []);
    });

  it("is seen where the list says, and is still a setting", () => {
    const names = new Set(leavesOf(configJsonSchema()).map(([name]) => name));
    assert.deepEqual(
      Object.keys(seenElsewhere).filter((key) => !names.has(key.replace(/^\w+ /, ""))),
      [],
    );
  });
});

/** What another value of a setting does, in the first of the configs where one can be tried. */
async function effectOf(name: string, schema: JsonSchema, bases: readonly object[]): Promise<string> {
  const steps = stepsOf(name);
  const within = (path: readonly string[], more: readonly string[]) =>
    bases.flatMap((base) => placesOf(base, path).map((place) => ({ base, place: [...place, ...more] })));
  const fixed = !steps.includes("[]") && !steps.includes("*");
  const places = [
    ...within(steps, []),
    ...within(steps.slice(0, -1), steps.slice(-1)),
    ...within(
      steps.slice(0, -2),
      steps.slice(-2).every((step) => step !== "[]" && step !== "*") ? steps.slice(-2) : [],
    ),
    ...(fixed ? bases.map((base) => ({ base, place: steps })) : []),
  ];
  const tries = places.flatMap(({ base, place }) => {
    const value = place.reduce((part: unknown, step) => Reflect.get(Object(part), step), base);
    return otherValues(schema, value)
      .filter((other) => JSON.stringify(other) !== JSON.stringify(value))
      .map((other, order) => ({ base, place, other, order }));
  });
  let equal = 0;
  let foreign = false;
  for (const { base, place, other } of tries.sort((a, b) => a.order - b.order)) {
    const after = configTexts(Object(withValue(base, place, other)));
    const problems = problemsOf(after);
    foreign ||= problems.some((each) => /is a setting of/.test(each));
    if (problems.length > 0) continue;
    if ((await recorded(configTexts({ ...base }))) !== (await recorded(after))) return "changes";
    equal += 1;
    if (equal === 40) break;
  }
  // A value that means nothing is taken of the other cloud's settings: false, an empty list.
  if (foreign) return "changes";
  return equal > 0 ? "does nothing" : "has no other value";
}
