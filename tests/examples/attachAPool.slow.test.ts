import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
import { attachedPools } from "../../components/config/attachedPools.ts";
import { loadConfig } from "../../components/config/load.ts";
import { readStackFile } from "../../components/config/stackFile.ts";
import { ConfigError } from "../../components/model/problem.ts";
import { decodeUserData } from "../../plan/decode/userData.ts";
import { awsObjects } from "../../plan/fakes/awsAccess.ts";
import { placeOf, simulatedCloud } from "../../plan/fakes/cloud.ts";
import type { OutputMode, SimulatedCloud } from "../../plan/program/engine.ts";
import { secretsInUserData } from "../../plan/program/leaks.ts";
import { type RecordedProgram, type RecordedResource, resourcesOfType } from "../../plan/program/recorded.ts";
import { requireSameResources, runProgram } from "../../plan/program/runProgram.ts";
import { mapOf, type PropertyMap, plainTexts, textOf } from "../../plan/program/values.ts";
import { stackConfig } from "../support/stacks.ts";

const folder = new URL("../../examples/attach-a-pool/", import.meta.url);
const fileOf = (url: URL): string => fileURLToPath(url);
const names = ["batch", "tools"];

/** The cluster's program; `pools` is the text of more pools in its stack file. */
async function runCluster(stack: string, pools?: string): Promise<RecordedProgram> {
  const config = stackConfig(stack);
  const own: unknown = JSON.parse(config["fenestra:pools"] ?? "");
  const more: unknown = JSON.parse(pools ?? "[]");
  assert.ok(Array.isArray(own) && Array.isArray(more));
  return runProgram({
    entry: fileOf(new URL("../../index.ts", import.meta.url)),
    stack,
    config: { ...config, "fenestra:pools": JSON.stringify([...own, ...more]) },
    mode: "known-outputs",
    simulate: simulatedCloud(placeOf(config), "fake"),
  });
}

/** The example's program, which finds these outputs of the cluster's stack. */
async function runExample(cloud: string, outputs: PropertyMap, mode: OutputMode): Promise<RecordedProgram> {
  const made = simulatedCloud(placeOf(stackConfig(`${cloud}-dev`)), "fake");
  const simulate: SimulatedCloud = (request) => {
    if (request.type !== "pulumi:pulumi:StackReference") return made(request);
    return { id: request.name, outputs: { name: request.name, outputs, secretOutputNames: ["kubeconfig"] } };
  };
  const config = readStackFile(cloud, folder);
  return runProgram({
    entry: fileOf(new URL("index.ts", folder)),
    project: "attach-a-pool",
    stack: cloud,
    config,
    mode,
    simulate,
  });
}

/** What the cloud gives a pool's own resources and the bucket of its scripts: all in which two equal pools may differ. */
function identities({ resources }: RecordedProgram): ReadonlyMap<string, string> {
  const own = resources.filter(
    ({ custom, name, type }) =>
      custom &&
      type !== "pulumi:index:Stash" &&
      (names.some((pool) => name.includes(`-pool-${pool}-`)) || name.endsWith("scripts-bucket")),
  );
  return new Map(
    own.flatMap(({ type, id, inputs, outputs }) => {
      const said = new Set(plainTexts(inputs).map(({ text }) => text));
      return [{ path: "id", text: id ?? "" }, ...plainTexts(outputs)]
        .filter(({ text }) => text.length > 12 && !said.has(text))
        .map(({ path, text }) => [text, `<${path} of ${type}>`] as const);
    }),
  );
}

/** The resources of the example's pools with inputs and options, user data as the files that a machine gets. */
function poolsOf(program: RecordedProgram): Readonly<Record<string, unknown>> {
  const known = [...identities(program)].sort(([a], [b]) => b.length - a.length);
  // On Azure the files name the pool's identity, so that digests of them differ as well.
  const digests = program.stack.startsWith("azure")
    ? /(?<![0-9a-f])[0-9a-f]{12}(?:[0-9a-f]{4})?(?![0-9a-f])/g
    : /(?!)/g;
  const anonymous = (text: string): string =>
    known.reduce((all, [value, label]) => all.replaceAll(value, label), text).replaceAll(digests, "<digest>");
  const shown = ({ inputs, options }: RecordedResource): unknown => {
    const profile = mapOf(mapOf(inputs.virtualMachineProfile).osProfile);
    const packed = textOf(inputs.userData) ?? textOf(profile.customData);
    const files =
      packed === undefined ? undefined : decodeUserData(Buffer.from(packed, "base64"), awsObjects(program)).files;
    const plain = JSON.stringify({ inputs, options, files }, (key, value) =>
      key === "userData" || key === "customData" ? undefined : value,
    );
    // A secret's name has random letters, of the program that makes it.
    const named = plain.replaceAll(/\b(join-[a-z0-9-]+)-[a-z0-9]{8}\b/g, "$1-<suffix>");
    return JSON.parse(anonymous(named.replaceAll(/urn:pulumi:[^"]*::/g, "")));
  };
  return Object.fromEntries(
    program.resources
      .filter(({ custom, name }) => custom && names.some((pool) => name.includes(`-pool-${pool}-`)))
      .filter(({ type }) => type !== "pulumi:index:Stash")
      .map((each) => [`${each.type} ${each.name}`, shown(each)]),
  );
}

for (const cloud of ["aws", "azure"] as const) {
  const cluster = await runCluster(`${cloud}-dev`);
  const program = await runExample(cloud, cluster.outputs, "known-outputs");
  describe(`the example attach-a-pool on ${cloud}`, () => {
    it("makes the same pools as the cluster's program would: names, rights, subnets, groups, every file of a machine", async () => {
      const whole = await runCluster(`${cloud}-dev`, readStackFile(cloud, folder)["fenestra:pools"]);
      const pools = poolsOf(program);
      assert.equal(Object.keys(pools).length, cloud === "aws" ? 18 : 13);
      assert.deepEqual(pools, poolsOf(whole));
    });

    it("makes nothing else but their scripts, the gates behind them and a provider, and all of it in a preview too", async () => {
      const rest = program.resources.filter(
        ({ custom, name, type }) =>
          custom && type !== "pulumi:index:Stash" && !names.some((pool) => name.includes(`-pool-${pool}-`)),
      );
      const others = rest.map(({ name }) => name).filter((name) => !name.includes("attached-scripts"));
      assert.deepEqual(others, [`organization/fenestra/${cloud}-dev`, `${cloud}-dev-${cloud}`]);
      const gates = resourcesOfType(program, "pulumi:index:Stash")
        .map(({ name }) => name)
        .sort();
      // A scale set of Azure's is deleted before its successor comes.
      const gatesOf = cloud === "azure" ? ["before", "nodes"] : ["nodes"];
      const wanted = names.flatMap((pool) => gatesOf.map((gate) => `${cloud}-dev-pool-${pool}-${gate}`));
      assert.deepEqual(gates, wanted);
      requireSameResources(await runExample(cloud, cluster.outputs, "unknown-outputs"), program);
    });

    it("puts no secret where it can be read, though it asks the API as the administrator", () => {
      assert.deepEqual(secretsInUserData(program), []);
      assert.deepEqual(program.messages, []);
    });

    it("says which output is missing, of a cluster that an older release made", async () => {
      const { attachment, config, ...older } = cluster.outputs;
      assert.ok(attachment !== undefined && config !== undefined);
      const missing = (name: string) =>
        new RegExp(`stack organization/fenestra/${cloud}-dev has no output ${name}: update it`);
      await assert.rejects(runExample(cloud, older, "known-outputs"), missing("config"));
      await assert.rejects(runExample(cloud, { ...older, config }, "known-outputs"), missing("attachment"));
      await assert.rejects(runExample(cloud, { ...older, config, attachment: {} }, "known-outputs"), /→ at subnetIds/);
    });
  });
}

describe("pools that are attached to a cluster", () => {
  const config = loadConfig(stackConfig("aws-dev"));
  const found = (cluster: object, pools: string | undefined): readonly string[] => {
    try {
      attachedPools(cluster, pools);
      return [];
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error;
      return error.problems.map(({ path, message }) => `${path} ${message}`);
    }
  };
  const attached = (...pools: readonly object[]): readonly string[] => found(config, JSON.stringify(pools));

  it("read the cluster's config from its output as it was", () => {
    for (const stack of ["aws-dev", "aws-prod", "azure-dev", "azure-prod"]) {
      const whole = loadConfig(stackConfig(stack));
      const output: unknown = JSON.parse(JSON.stringify(whole));
      assert.ok(typeof output === "object" && output !== null);
      const { spec, pools } = attachedPools(output, JSON.stringify([{ name: "more", os: "linux" }]));
      assert.deepEqual(
        [spec.name, spec.region, spec.kubernetes.version],
        [whole.name, whole.region, whole.kubernetes.version],
      );
      const places = pools.map(({ name, path }) => [name, path]);
      assert.deepEqual(places, [["more", "config.fenestra:pools[0]"]]);
    }
  });

  it("have mistakes told at their own path, all at once", () => {
    assert.deepEqual(
      attached({ name: "a", os: "linux", zones: ["eu-west-1a"] }, { name: "b", os: "linux", count: -1 }),
      ["config.fenestra:pools[0].zones[0] is not a zone of the network", "config.fenestra:pools[1].count is too small"],
    );
    assert.deepEqual(found(config, undefined), ["config.fenestra:pools has too few items"]);
    assert.deepEqual(found(config, "[{"), ["config.fenestra:pools is not well-formed JSON"]);
  });

  it("must fit what the cluster has: names, Windows releases, autoscaler, room in its network", () => {
    assert.deepEqual(attached({ name: "win2022", os: "linux" }), [
      "config.fenestra:pools[0].name is the name of a pool that the cluster has",
    ]);
    assert.deepEqual(
      attached({ name: "a", os: "windows-2025" }, { name: "b", os: "linux", autoscale: { min: 0, max: 3 } }),
      [
        "config.fenestra:pools[0].os is a release that the cluster has no network agents and no RuntimeClass for",
        "config.fenestra:pools[1].autoscale needs the autoscaler, which the cluster does not run",
      ],
    );
    assert.deepEqual(attached({ name: "a", os: "windows-2022", count: 2 }), []);
    assert.match(attached({ name: "a", os: "linux", count: 300 }).join(), /has room for 256 machines/);
  });

  it("name the output where the cluster was made by a release that this one does not know", () => {
    const newer = { ...config, kubernetes: { ...config.kubernetes, version: "1.99.0" } };
    assert.deepEqual(found(newer, '[{"name":"a","os":"linux"}]'), [
      "output config of the cluster: kubernetes.version is a Kubernetes release without artifacts in the lock file",
    ]);
  });
});
