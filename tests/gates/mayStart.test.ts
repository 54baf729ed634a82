import assert from "node:assert/strict";
import { type Call, CallError, type Send } from "../../components/gates/account/question.ts";
import { startCheck } from "../../components/gates/account/start.ts";
import { type MayStart, skipVariable } from "../../components/gates/startGate.ts";
import { reveal } from "../../components/gates/values.ts";
import { at } from "../../components/model/json.ts";
import { replacementRow } from "../../plan/replacement/table.ts";
import { deployAws } from "../../stacks/aws.ts";
import { deployAzure } from "../../stacks/azure.ts";
import { cloudOf, differing, sendTo } from "../check/account/world.ts";
import { memo, runStack, specOf, withMocks } from "../support/mocks.ts";
import { runHook } from "./serving.ts";

const launch = "ec2:RunInstances";
const versions = "Microsoft.Compute/locations/publishers/artifacttypes/offers/skus/versions/read";
// The cluster's machine that goes does not count.
const running = (name: string) => ({
  ...{ InstanceType: "m7i.large", State: { Name: "running" }, CpuOptions: { CoreCount: 1, ThreadsPerCore: 2 } },
  Tags: [
    { Key: "fenestra:cluster", Value: "aws-dev" },
    { Key: "Name", Value: `aws-dev-${name}` },
  ],
});
const vm = { properties: { hardwareProfile: { vmSize: "Standard_D2s_v5" } } };
const clouds = {
  aws: {
    ...{ deploy: deployAws, region: "eu-central-1" },
    refusals: [
      [
        /size: m7i.large is not offered in eu-central-1a/,
        { "ec2:DescribeInstanceTypeOfferings InstanceTypeOfferings": [] },
      ],
      [/scripts: s3:.*linux.* is gone; mend: .*up --refresh/, { "s3:GetObject $code": "NotFound" }],
      [
        /vcpu-quota: 2 vCPUs are needed; .* others use 2/,
        {
          "servicequotas:GetServiceQuota Quota.Value": 3,
          "ec2:DescribeInstances Reservations": [{ Instances: ["control-plane-0", "pool-linux"].map(running) }],
        },
      ],
      [
        /organization: .*InvalidParameterValue: no such type/,
        { [launch]: { $code: "InvalidParameterValue", message: "InvalidParameterValue: no such type" } },
      ],
      [/organization: .* is refused, by IAM/, { [launch]: { $denied: "UnauthorizedOperation" } }],
    ],
    launches: [
      {
        ...{ DryRun: true, MinCount: 1, MaxCount: 1, SubnetId: "subnet", SecurityGroupIds: ["sg"] },
        LaunchTemplate: { LaunchTemplateId: "lt", Version: "1" },
        TagSpecifications: [
          {
            ResourceType: "instance",
            Tags: [
              { Key: "fenestra:cluster", Value: "aws-dev" },
              { Key: "fenestra:environment", Value: "development" },
              { Key: "Name", Value: "aws-dev-control-plane-0" },
              { Key: "kubernetes.io/cluster/aws-dev", Value: "owned" },
            ],
          },
        ],
      },
    ],
    told: [
      [
        /may not make an interface/,
        {
          [launch]: {
            $denied: "UnauthorizedOperation",
            message: "on resource: arn:aws:ec2:eu-central-1:1:network-interface/*",
          },
        },
      ],
      [/doubtful, .*InsufficientFreeAddressesInSubnet/, { [launch]: { $code: "InsufficientFreeAddressesInSubnet" } }],
    ],
  },
  azure: {
    ...{ deploy: deployAzure, region: "westeurope", launches: [] },
    refusals: [
      [/size: westeurope has no Standard_D2s_v5/, { "Microsoft.Compute/skus/read value": [] }],
      [/image: .* is withdrawn/, { [`${versions} properties.imageDeprecationStatus.imageState`]: "Deprecated" }],
      [
        /vcpu-quota: 2 vCPUs are needed; .* others use 2/,
        {
          "Microsoft.Compute/locations/usages/read value.0.limit": 3,
          "Microsoft.Compute/virtualMachines/read": {
            value: ["cp-0", "cp-1"].map((name) => ({ ...vm, name: `azure-dev-${name}` })),
          },
        },
      ],
    ],
    told: [],
  },
} as const;

/** What the program under test asks. */
let ask: MayStart;
// One recording for all: three machines, and a group of spot machines.
const pools = [{ name: "linux", os: "linux", count: 2, spot: true }];
const recorded = memo((cloud: "aws" | "azure") => {
  const { deploy, region } = clouds[cloud];
  const spec = specOf(`${cloud}-dev`, { controlPlane: { replicas: 3 }, pools });
  return withMocks(() => deploy(spec, undefined, (...given) => ask(...given)), { region });
});

for (const cloud of ["aws", "azure"] as const)
  describe(`the gate before a control-plane machine of ${cloud}`, function () {
    this.timeout(300_000);
    const { launches, refusals, told } = clouds[cloud];
    const { roomy } = cloudOf(cloud);
    const dev = `${cloud}-dev`;

    /** Runs a gate's hook in the whole program; gives what was told beside a refusal. */
    const pass = async (check: MayStart, gate = "control-plane-before-0") => {
      const said: string[] = [];
      ask = async (...given) => {
        const answer = await check(...given);
        said.push(...answer.told);
        return answer;
      };
      await runHook(await recorded(cloud), `${dev}-${gate}`, { oldInputs: { input: { replicas: 1 } } });
      return said;
    };
    const asking = (send: Send, limitMs?: number) => startCheck(specOf(dev), { send, limitMs });
    const world = (differences: object) => sendTo(differing(roomy, { ...differences }));

    it("has nothing against an account with room", async () => {
      const calls: Call[] = [];
      const send: Send = (call, signal) => {
        calls.push(call);
        return world({})(call, signal);
      };
      assert.deepEqual(await pass(asking(send)), []);
      assert.ok(calls.length > 3);
      const sent = calls.filter(({ right }) => right === launch).map(({ input }) => input);
      assert.deepEqual(JSON.parse(JSON.stringify(sent).replaceAll(/-[0-9a-f]{17}"/g, '"')), launches);
    });

    for (const [says, differences] of refusals)
      it(`stays shut: ${says}`, async () => {
        await assert.rejects(pass(asking(world(differences))), (error: Error) => {
          assert.match(error.message, says);
          return /is not replaced now/.test(error.message);
        });
      });

    for (const [says, differences] of told)
      it(`opens and tells: ${says}`, async () => {
        assert.match((await pass(asking(world(differences)))).join("\n"), says);
      });

    it("opens where nothing can be asked, and says so", async () => {
      const failing = (kind: "denied" | "none", code: string) =>
        asking(async (call, signal) => {
          if (kind === "denied" && call.right === launch) return world({})(call, signal);
          throw new CallError(call, kind, code, code);
        });
      const hanging = asking(() => new Promise(() => {}), 50);
      for (const [says, check] of [
        [/size: not asked, needs .*(read|Describe)/, failing("denied", "AccessDenied")],
        [/image: not asked, .*CredentialsProviderError/, failing("none", "CredentialsProviderError")],
        [/size: not asked, no answer within 0.05 s/, hanging],
      ] as const)
        assert.match((await pass(check)).join("\n"), says);
    });

    it("can be passed by a person who knows better", async () => {
      const [[, differences]] = refusals;
      for (const skip of ["size,vcpu-quota", "all"]) {
        process.env[skipVariable] = skip;
        await pass(asking(world(differences))).finally(() => delete process.env[skipVariable]);
      }
    });

    it("asks for what the program makes, of each machine", async () => {
      const { resources } = (await recorded(cloud)).program;
      for (const index of [0, 1, 2]) {
        const noting: MayStart = async (name, parts) => {
          assert.match(name, new RegExp(`-${index}$`));
          for (const { type, id, inputs } of parts) {
            const found = resources.find((each) =>
              each.type !== type
                ? false
                : id !== undefined
                  ? each.id === id
                  : "key" in inputs
                    ? each.inputs.key === inputs.key
                    : each.name.endsWith(`-control-plane-${index}-instance`),
            );
            assert.ok(found !== undefined, type);
            assert.partialDeepStrictEqual(reveal(found.inputs), inputs);
          }
          return { refused: ["seen"], told: [] };
        };
        await assert.rejects(pass(noting, `control-plane-before-${index}`), /seen/);
      }
    });

    if (cloud === "azure")
      it("stays shut before a group for what that would be refused, and names the pool", async () => {
        const passGroup = (differences: object) =>
          pass(asking(world({ ...spot, ...differences })), "pool-linux-before");
        const spot = {
          "Microsoft.Compute/locations/usages/read value.2": {
            name: { value: "lowPriorityCores" },
            currentValue: 4,
            limit: 8,
          },
        };
        await passGroup({});
        for (const [says, differences] of [
          [
            /pool azure-dev-linux is not replaced now, .*size: westeurope has no .*fenestra:pools, pool linux/s,
            { "Microsoft.Compute/skus/read value": [] },
          ],
          [
            /4 vCPUs are needed; the quota lowPriorityCores of westeurope is 6, others use 4/,
            { "Microsoft.Compute/locations/usages/read value.2.limit": 6 },
          ],
        ] as const)
          await assert.rejects(passGroup(differences), says);
        // A spot group of its own goes first.
        const own = {
          name: "azure-dev-linux",
          sku: { name: "Standard_D2s_v5", capacity: 2 },
          properties: { virtualMachineProfile: { priority: "Spot" } },
        };
        await passGroup({
          "Microsoft.Compute/locations/usages/read value.2.limit": 4,
          "Microsoft.Compute/virtualMachineScaleSets/read": { value: [own] },
        });
      });
  });

describe("the gate before a group of machines that is deleted before its successor is made", function () {
  this.timeout(300_000);

  it("is there for all that replaces one, and nothing does that the program does not send; no group of AWS is replaced", async () => {
    const [all, sent] = [new Set<string>(), new Set<string>()];
    for (const { program } of [await recorded("azure"), await runStack("azure-prod"), await runStack("aws-spot")])
      for (const { type, inputs, options, dependencies } of program.resources) {
        if (type === "aws:autoscaling/group:Group")
          assert.deepEqual(
            replacementRow(type)?.replaces.filter((input) => !options.ignoreChanges.includes(input)),
            // The pool's name fixes both, as it does the resource's.
            ["namePrefix", "name"],
          );
        if (type !== "azure-native:compute:VirtualMachineScaleSet") continue;
        const gate = program.resources.find(({ urn, name }) => dependencies.includes(urn) && /-before$/.test(name));
        const given = options.replaceOnChanges.filter((path) => at(inputs, path) !== undefined);
        // So what replaces the group passes the gate, and nothing else does.
        assert.deepEqual(gate?.inputs.input, Object.fromEntries(given.map((path) => [path, at(inputs, path)])));
        for (const path of options.replaceOnChanges) all.add(path);
        for (const path of given) sent.add(path);
      }
    // A transform alone would set it, behind the gate's back.
    assert.deepEqual(
      [...all].filter((path) => !sent.has(path)),
      [],
    );
  });
});
