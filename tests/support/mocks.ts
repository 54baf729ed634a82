import path from "node:path";
import * as runtime from "@pulumi/pulumi/runtime/index.js";
import { loadConfig } from "../../components/config/load.ts";
import { type ClusterSpec, clusterSpec } from "../../components/model/clusterSpec.ts";
import { placeOf, simulatedCloud } from "../../plan/fakes/cloud.ts";
import type { ExistingResources } from "../../plan/fakes/provider.ts";
import { connected, type OutputMode, RecordingEngine, type SimulatedCloud } from "../../plan/program/engine.ts";
import { nameOfUrn, type RecordedProgram, type RecordedResource } from "../../plan/program/recorded.ts";
import { type ProgramResult as Recorded, runProgramWithHooks } from "../../plan/program/runProgram.ts";
import { configTexts, stackConfig } from "./stacks.ts";

export type { Recorded };

/** Account of simulated runs: AWS's documentation number. */
export const testAccount = "123456789012";

const entry = path.join(import.meta.dirname, "../../index.ts");

interface MockOptions {
  readonly mode?: OutputMode;
  readonly region?: string;
  readonly certificates?: "real" | "fake";
  readonly existing?: ExistingResources;
  readonly simulate?: SimulatedCloud;
}

/** Makes resources outside a cloud and records them. Errors inside an `apply` fail the test as unhandled rejections. */
export async function withMocks(
  build: () => unknown,
  {
    mode = "known-outputs",
    region = "eu-central-1",
    certificates = "fake",
    existing = new Map(),
    ...given
  }: MockOptions = {},
): Promise<Recorded> {
  const simulate = given.simulate ?? simulatedCloud({ region, accountId: testAccount, existing }, certificates);
  const engine = new RecordingEngine({ project: "fenestra", stack: "test" }, mode, simulate);
  const { stackTraceLimit } = Error;
  // As stacks/program.ts: the SDK keeps a stack of each promise, a third of a run.
  Error.stackTraceLimit = 0;
  try {
    await connected(engine, async () => {
      await runtime.runInPulumiStack(async () => build());
      await runtime.disconnect();
    });
  } finally {
    Error.stackTraceLimit = stackTraceLimit;
  }
  return { program: engine.recorded(), hooks: engine.hooks };
}

export const runConfig = memo(
  (stack: string, config: Readonly<Record<string, string>>, mode: OutputMode, account?: string | null) =>
    runProgramWithHooks({ entry, stack, config, mode, simulate: simulatedCloud(placeOf(config, account), "fake") }),
);

/** The whole program of a stack file with other config values. */
export function runStack(
  stack: string,
  changes: Readonly<Record<string, unknown>> = {},
  mode: OutputMode = "known-outputs",
) {
  return runConfig(stack, configWith(stack, changes), mode);
}

/** The resources of a cluster without a stack file. */
export const runSpec = memo(
  async (spec: ClusterSpec, mode: OutputMode = "known-outputs", certificates: "real" | "fake" = "fake") => {
    const deploy =
      spec.cloud === "aws"
        ? (await import("../../stacks/aws.ts")).deployAws
        : (await import("../../stacks/azure.ts")).deployAzure;
    return await withMocks(() => deploy(spec), { mode, region: spec.region, certificates });
  },
);

/** The cluster of a stack file with other config values. */
export function specOf(stack: string, changes: Readonly<Record<string, unknown>> = {}) {
  return clusterSpec(loadConfig(configWith(stack, changes)));
}

export function poolOf(stack: string, name: string) {
  const found = specOf(stack).pools.find((pool) => pool.name === name);
  if (found === undefined) throw new Error(`${stack} has no pool ${name}`);
  return found;
}

function configWith(stack: string, changes: Readonly<Record<string, unknown>>): Readonly<Record<string, string>> {
  return { ...stackConfig(stack), ...configTexts(changes) };
}

export function resource({ program }: Recorded, type: string, name: string) {
  const found = program.resources.filter((each) => each.type === type && each.name === name);
  const [only] = found;
  if (only === undefined || found.length > 1) {
    const names = program.resources.filter((each) => each.type === type).map((each) => each.name);
    throw new Error(`${found.length} resources ${type} ${name}; there are ${names.join(", ")}`);
  }
  return only;
}

export function ofType({ program }: Recorded, type: string): ReadonlyMap<string, RecordedResource> {
  return new Map(program.resources.filter((each) => each.type === type).map((each) => [each.name, each]));
}

/** Type and name at the end of a URN: `aws:ec2/vpc:Vpc aws-dev-network-vpc`. */
export function shortUrn(urn: string) {
  const type = urn.split("::")[2]?.split("$").at(-1) ?? "";
  return `${type} ${nameOfUrn(urn)}`;
}

/** `azure-native:network:Subnet` of `network:Subnet`. */
export function azureType(short: string) {
  return `azure-native:${short}`;
}

/**
 * The same function, called once for arguments with the same JSON, as long as these are among the last. Tests share its
 * results, which are frozen. Calls wait for each other: runs of the program would take each other's errors.
 */
export function memo<A extends readonly unknown[], R>(make: (...args: A) => Promise<R>): (...args: A) => Promise<R> {
  const made = new Map<string, Promise<R>>();
  let last: Promise<unknown> = Promise.resolve();
  return (...args) => {
    const key = JSON.stringify(args);
    const known = made.get(key);
    if (known !== undefined) return known;
    const run = last.then(() => make(...args)).then(frozen);
    last = run.catch(() => undefined);
    made.set(key, run);
    const [oldest] = made.keys();
    // A run holds megabytes: collecting the garbage of hundreds takes longer than the runs.
    if (made.size > 24 && oldest !== undefined) made.delete(oldest);
    return run;
  };
}

/** Freezes lists and plain objects, at any depth. */
function frozen<T>(value: T): T {
  if (typeof value !== "object" || value === null || Object.isFrozen(value)) return value;
  const plain = Array.isArray(value) || [Object.prototype, null].includes(Object.getPrototypeOf(value));
  if (!plain) return value;
  Object.freeze(value);
  for (const each of Object.values(value)) frozen(each);
  return value;
}

/** URNs of all that a resource waits for. */
export function closure(resources: RecordedProgram["resources"], start: RecordedResource): ReadonlySet<string> {
  const byUrn = new Map(resources.map((each) => [each.urn, each]));
  const seen = new Set(start.dependencies);
  for (const urn of seen) for (const next of byUrn.get(urn)?.dependencies ?? []) seen.add(next);
  return seen;
}
