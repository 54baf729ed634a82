// Sees what nothing faster does: whole programs after somebody's transforms.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { loadConfig } from "../../components/config/load.ts";
import { stackNames, transformsFile, transformsVariable } from "../../components/config/stackFile.ts";
import { awsNeeds } from "../../components/gates/account/aws/needs.ts";
import { azureNeeds } from "../../components/gates/account/azure/needs.ts";
import { mapOf } from "../../components/gates/values.ts";
import { clusterSpec } from "../../components/model/clusterSpec.ts";
import { ConfigError } from "../../components/model/problem.ts";
import { placeOf, simulatedCloud } from "../../plan/fakes/cloud.ts";
import type { RecordedProgram } from "../../plan/program/recorded.ts";
import { runProgram } from "../../plan/program/runProgram.ts";
import { specAsSent } from "../../plan/report/asSent.ts";
import { makePlan, planOfRun } from "../../plan/report/makePlan.ts";
import { readDocument } from "../docs/documents.ts";
import { resource, runStack, specOf } from "../support/mocks.ts";
import { stackConfig, testStacks } from "../support/stacks.ts";

const entry = path.join(import.meta.dirname, "../../index.ts");

async function within<T>(text: string, task: () => Promise<T>): Promise<T> {
  const folder = mkdtempSync(path.join(tmpdir(), "fenestra-transforms-"));
  const file = path.join(folder, transformsFile);
  writeFileSync(file, text);
  const before = process.env[transformsVariable];
  process.env[transformsVariable] = file;
  try {
    return await task();
  } finally {
    if (before === undefined) Reflect.deleteProperty(process.env, transformsVariable);
    else process.env[transformsVariable] = before;
    rmSync(folder, { recursive: true });
  }
}

function run(stack: string, text: string) {
  const config = stackConfig(stack);
  const simulate = simulatedCloud(placeOf(config), "fake");
  return within(text, () => runProgram({ entry, stack, config, mode: "known-outputs", simulate }));
}

function findingsOf(stack: string, program: RecordedProgram) {
  const config = stackConfig(stack);
  const plan = planOfRun({ stack, spec: clusterSpec(loadConfig(config)), program, asOf: undefined, config });
  return plan.findings.flatMap(({ id, path: of, message }) =>
    id === "transform-of-what-is-relied-on" ? [`${of}: ${message}`] : [],
  );
}

/** Changed arguments, by resource name. */
async function changed(stack: string, program: RecordedProgram) {
  const before = new Map((await runStack(stack)).program.resources.map(({ urn, inputs }) => [urn, inputs]));
  assert.equal(program.resources.length, before.size);
  return program.resources.flatMap(({ urn, type, inputs }) =>
    Object.keys(inputs)
      .filter((key) => JSON.stringify(inputs[key]) !== JSON.stringify(before.get(urn)?.[key]))
      .map((key) => `${type.split(":").at(-1)} ${key}`),
  );
}

describe("transforms beside the stack files", function () {
  this.timeout(300_000);

  it("are those of the page, which change what it says and nothing that is relied on", async () => {
    const recipes = readDocument("docs/transforms.md").text.match(/(?<=```ts\n)[\s\S]*?(?=```)/g) ?? [];
    const wanted: Readonly<Record<string, readonly string[]>> = {
      "0 aws-dev": ["LaunchTemplate monitoring", "Stash input", "Volume finalSnapshot"],
      "0 azure-dev": ["Stash input", "VirtualMachineScaleSet virtualMachineProfile"],
      "1 aws-dev": ["LaunchTemplate blockDeviceMappings", "Stash input", "Volume iops", "Volume type"],
      "2 aws-dev": ["LaunchTemplate capacityReservationSpecification", "Stash input"],
      "2 aws-spot": ["Group mixedInstancesPolicy", "Stash input"],
      "2 azure-dev": ["Stash input", "VirtualMachineScaleSet virtualMachineProfile"],
      "3 aws-dev": ["LaunchTemplate networkInterfaces", "Stash input"],
      "4 aws-spot": ["Deployment spec"],
    };
    assert.deepEqual([...new Set(Object.keys(wanted).map((key) => Number(key[0])))], [...recipes.keys()]);
    for (const [key, paths] of Object.entries(wanted)) {
      const [index = 0, stack = ""] = key.split(" ");
      const program = await run(stack, recipes[Number(index)] ?? "");
      assert.deepEqual([...new Set(await changed(stack, program))].sort(), paths, key);
      // A disk of etcd belongs to a machine of the control plane.
      assert.deepEqual(
        findingsOf(stack, program).filter((each) => !each.includes(":Volume")),
        [],
        key,
      );
    }
  });

  it("are refused for an argument that a type does not have, at any depth, and take none of the program's own for one", async () => {
    const plan = (stack: string, text: string) => within(text, () => makePlan({ stack, config: stackConfig(stack) }));
    const tagAll =
      "export const transforms = [({ props, opts }) => ({ props: { ...props, tags: props.tags ?? {} }, opts })];";
    await assert.rejects(plan("azure-dev", tagAll), /azure-native:network:Subnet \S+ has no tags$/m);
    const misspelt = `export const transforms = [({ type, props, opts }) => type === "aws:ec2/launchTemplate:LaunchTemplate"
      ? { props: { ...props, monitoring: { enable: true } }, opts } : undefined];`;
    await assert.rejects(plan("aws-dev", misspelt), /LaunchTemplate \S+ has no monitoring\.enable$/m);
    for (const stack of ["aws-prod", "aws-private", "azure-prod", "azure-gmsa"])
      await plan(stack, "export const transforms = [];");
  });

  for (const stack of stackNames(testStacks))
    it(`leave a plan the stack file's own machines where there is none: ${stack}`, async () => {
      const spec = specOf(stack);
      assert.deepEqual(specAsSent(spec, (await runStack(stack)).program), spec);
    });

  it("are what a plan, its bill, the questions to the account and a pool's gate count with", async () => {
    const set = (change: string) =>
      `({ type, name, props, opts }) => { if (/-pool-win2022-|-control-plane-/.test(name)) { ${change} } return { props, opts }; }`;
    const aws = set(`
      if (/:Group$/.test(type)) Object.assign(props, { minSize: 3, desiredCapacity: 4, maxSize: 5 }, { vpcZoneIdentifiers: props.vpcZoneIdentifiers.slice(0, 1) });
      if (/:LaunchTemplate$/.test(type)) {
        Object.assign(props, { instanceType: "r7i.xlarge", imageId: "ami-0123456789abcdef0" });
        props.blockDeviceMappings[0].ebs.volumeSize = 321;
      }
      if (/:Volume$/.test(type)) props.size = 77;`);
    const azure = set(`
      const profile = props.virtualMachineProfile?.storageProfile ?? props.storageProfile;
      if (profile !== undefined) { profile.osDisk.diskSizeGB = 321; profile.imageReference.version = "1.2.3"; }
      if (/:VirtualMachineScaleSet$/.test(type)) Object.assign(props, { sku: { ...props.sku, name: "Standard_E4s_v5", capacity: 4 } }, { zones: props.zones.slice(0, 1) });
      if (/:VirtualMachine$/.test(type)) props.hardwareProfile.vmSize = "Standard_E4s_v5";
      if (/:Disk$/.test(type)) props.diskSizeGB = 77;
      if (/api-from-allowed$/.test(name)) Object.assign(props, { sourceAddressPrefix: "*", sourceAddressPrefixes: [] });`);
    for (const [stack, text, size, needs] of [
      ["aws-dev", aws, "r7i.xlarge", awsNeeds],
      ["azure-dev", azure, "Standard_E4s_v5", azureNeeds],
    ] as const) {
      const program = await run(stack, `export const transforms = [${text}];`);
      const spec = specOf(stack);
      const plan = planOfRun({ stack, spec, program, asOf: undefined, config: stackConfig(stack) });
      const pool = plan.pools.find(({ name }) => name === "win2022") ?? assert.fail();
      const old = spec.pools.find(({ name }) => name === "win2022") ?? assert.fail();
      const { count, memoryGib, diskGb, zones, image } = pool;
      assert.deepEqual(
        { size: pool.size, count, memoryGib, diskGb, zones: zones.length },
        { size, count: 4, memoryGib: 32, diskGb: 321, zones: 1 },
      );
      assert.match(image, /^(ami-0123456789abcdef0|1\.2\.3)$/);
      assert.ok(pool.room.memory > 24 * 1024 && old.size.memoryGib < 24, stack);
      assert.deepEqual(plan.network.publicAccess, stack === "azure-dev" ? ["0.0.0.0/0"] : spec.publicAccess);
      const { members: _, ...controlPlane } = plan.controlPlane;
      assert.deepEqual({ ...controlPlane, image: "" }, { size, vcpus: 4, memoryGib: 32, image: "", etcdDiskGb: 77 });
      const billed = (what: RegExp) =>
        Object.entries(plan.billed).reduce((sum, [key, number]) => sum + (what.test(key) ? number : 0), 0);
      assert.deepEqual([billed(/ 77 GiB/), billed(/ 321 GiB/)], [1, 5]);
      assert.equal(plan.billed[`machine, ${size}, with a Windows licence`], 4);
      assert.equal(plan.billed[`machine, ${size}`], 1);
      const place = { region: spec.region, accountId: "123456789012" };
      const asked = needs(program, place).machines.find(({ setting }) => setting.endsWith("win2022")) ?? assert.fail();
      assert.deepEqual([asked.sizes, asked.count, asked.diskGib], [[size], 4, 321]);
      const gate = resource({ program, hooks: new Map() }, "pulumi:index:Stash", `${stack}-in-pool-win2022`);
      const { fingerprint: __, ...waits } = mapOf(gate.inputs.input);
      assert.equal(waits.count, 4);
      assert.match(String(waits.machines), /^[0-9a-f]{16}$/);
    }
  });

  it("have the reason of what they touch, also in place and where an update shall leave it, and none where they only protect", async () => {
    const text = `export const transforms = [
      ({ type, props, opts }) => {
        if (type === "aws:autoscaling/group:Group") return { props, opts: { ...opts, ignoreChanges: ["minSize", "metricsGranularity"] } };
        if (type === "aws:ec2/launchTemplate:LaunchTemplate") props.instanceType = "m7i.2xlarge";
        if (type === "aws:kms/key:Key") return { props, opts: { ...opts, protect: true } };
      },
    ];`;
    const told = findingsOf("aws-dev", await run("aws-dev", text)).map((each) => each.replace(/^(\S+) \S+:/, "$1:"));
    assert.deepEqual([...new Set(told)].sort(), [
      "aws:autoscaling/group:Group: A transform changes minSize: batches and time limits of rolls, agents of all nodes and free addresses are counted with the stack file's number.",
      "aws:ec2/launchTemplate:LaunchTemplate: A transform changes instanceType: what a machine keeps for itself and what the autoscaler expects of it are counted with the stack file's size.",
    ]);
    const above = `export const transforms = [
      ({ type, name, props, opts }) => {
        if (/:VirtualMachineScaleSet$/.test(type)) return { props, opts: { ...opts, ignoreChanges: [/linux/.test(name) ? "*" : "sku"] } };
        if (/:VirtualNetwork$/.test(type)) return { props: { ...props, plan: { name: "x" } }, opts };
      },
    ];`;
    assert.deepEqual(
      [
        ...new Set(
          findingsOf("azure-dev", await run("azure-dev", above)).map((each) => /changes (\S+):/.exec(each)?.[1]),
        ),
      ]
        .filter((path) => !/name$/i.test(path ?? ""))
        .sort(),
      ["identity", "location", "sku.capacity", "tags", "upgradePolicy"],
    );
  });

  it("of another form are refused with what is allowed", async () => {
    for (const [text, why] of [
      ["export default [];", /transforms\.ts, transforms: is no list .*\n +found: +nothing\n.*docs\/transforms\.md/],
      ["// Mine.\nexport const transforms = [,;", /transforms\.ts:2: Expression expected\n +found: +"export const/],
      ["\n\nthrow new Error('mine');", /transforms\.ts:3: mine\n/],
    ] as const)
      await assert.rejects(run("aws-dev", text), (error) => error instanceof ConfigError && why.test(error.message));
    for (const [returned, why] of [
      ["Promise.resolve(args)", "a promise"],
      ["{ props: args.props, opts: {} }", "changes opts.parent"],
      ["nothing", "nothing is not defined"],
    ])
      await assert.rejects(
        run("aws-dev", `export const transforms = [(args) => args.type.includes("vpc:") ? ${returned} : undefined];`),
        new RegExp(`transforms\\.ts, transforms\\[0\\], for aws:ec2/vpc:Vpc aws-dev-network-vpc: (.*|.*\\n.*)${why}`),
      );
  });
});
