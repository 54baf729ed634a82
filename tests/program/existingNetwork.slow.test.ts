// Sees what nothing faster does: whole programs in networks of others.
import assert from "node:assert/strict";
import { secret } from "@pulumi/pulumi";
import { ExistingNetwork as AwsNetwork } from "../../components/aws/existingNetwork.ts";
import { ExistingNetwork as AzureNetwork } from "../../components/azure/existingNetwork.ts";
import { Security } from "../../components/azure/security.ts";
import { listOf, mapOf, type PropertyMap, unknown } from "../../components/gates/values.ts";
import type { ClusterSpec } from "../../components/model/clusterSpec.ts";
import { existingOf } from "../../plan/fakes/provider.ts";
import { deployAws } from "../../stacks/aws.ts";
import { deployAzure } from "../../stacks/azure.ts";
import { type Recorded, resource, shortUrn, specOf, testAccount, withMocks } from "../support/mocks.ts";
import { stackConfig } from "../support/stacks.ts";

const givenIn = ({ network }: ClusterSpec) => network.existing ?? assert.fail("the stack has no existing network");
const stash = "pulumi:index:Stash";
const clouds = {
  aws: {
    deploy: deployAws,
    network: (spec: ClusterSpec) => new AwsNetwork("aws-existing-network", { spec, existing: givenIn(spec) }),
    region: "eu-central-1",
    stack: "aws-existing",
  },
  azure: {
    deploy: deployAzure,
    network: (spec: ClusterSpec) =>
      new AzureNetwork("azure-existing-network", {
        spec,
        existing: givenIn(spec),
        secure: (resourceGroup) => new Security("azure-existing-security", { spec, resourceGroup }),
      }),
    region: "westeurope",
    stack: "azure-existing",
  },
} as const;
type Cloud = keyof typeof clouds;

const vnet = JSON.parse(stackConfig("azure-existing")["fenestra:network"] ?? "").existing.id;
const idOf = (name: string) => (name.includes("-0") ? name : name === "spoke" ? vnet : `${vnet}/subnets/${name}`);

/**
 * A program in a cloud where an existing resource has other outputs than the stack file says.
 *
 * @param build default the network alone
 */
async function run(
  cloud: Cloud,
  id?: string,
  outputs?: PropertyMap,
  build: (spec: ClusterSpec) => unknown = clouds[cloud].network,
) {
  const { region, stack } = clouds[cloud];
  const existing = new Map(existingOf(stackConfig(stack)["fenestra:network"], region, testAccount));
  if (id !== undefined) {
    const found = existing.get(id) ?? assert.fail(id);
    existing.set(id, { ...found, outputs: { ...found.outputs, ...outputs } });
  }
  return await withMocks(() => build(specOf(stack)), { region, existing });
}

/** The comparison before the first update, and before a later one or in a preview. */
async function compared(cloud: Cloud, recorded: Recorded): Promise<readonly [first: string, later: string]> {
  const { inputs, options } = resource(recorded, stash, `${clouds[cloud].stack}-network-check`);
  const newInputs = JSON.parse(JSON.stringify(inputs, (_, value) => (value === String(unknown) ? {} : value)));
  const call = async (hooks: readonly string[] = []) => {
    try {
      for (const name of hooks)
        await Reflect.apply(recorded.hooks.get(name)?.callback ?? assert.fail(name), undefined, [{ newInputs }]);
      return "";
    } catch (error) {
      return error instanceof Error ? error.message : String(error);
    }
  };
  return [await call(options.hooks.beforeCreate), await call(options.hooks.beforeUpdate)];
}

describe("an existing network", () => {
  for (const cloud of ["aws", "azure"] as const) {
    it(`of ${cloud} is read and compared before any machine is made, and nothing of it is made but what is documented`, async () => {
      const recorded = await run(cloud, undefined, undefined, clouds[cloud].deploy);
      const made = recorded.program.resources
        .filter(({ parent, read }) => read === undefined && parent?.endsWith(`::${clouds[cloud].stack}-network`))
        .map(({ urn }) => shortUrn(urn));
      assert.deepEqual(
        made.sort(),
        {
          aws: [
            "aws:ec2/tag:Tag aws-existing-network-private-a",
            "aws:ec2/tag:Tag aws-existing-network-private-b",
            "pulumi:index:Stash aws-existing-network-check",
          ],
          azure: [
            "azure-native:authorization:RoleAssignment azure-existing-network-controllers",
            "azure-native:authorization:RoleDefinition azure-existing-network-controllers",
            "pulumi:index:Stash azure-existing-network-check",
            "random:index/randomUuid:RandomUuid azure-existing-network-controllers",
          ],
        }[cloud],
      );
      assert.deepEqual(await compared(cloud, recorded), ["", ""]);
      const { program } = recorded;
      const check = program.resources.find(({ name }) => name === `${clouds[cloud].stack}-network-check`);
      // For the control plane its gate.
      const machines = program.resources.filter(
        ({ type, name }) => /:(Group|VirtualMachineScaleSet)$/.test(type) || name.endsWith("-before-0"),
      );
      assert.equal(machines.length, 3);
      for (const { name, dependencies } of machines) assert.ok(dependencies.includes(check?.urn ?? "?"), name);
      if (cloud === "aws") return;
      const name = "azure-existing-network-controllers";
      assert.deepEqual(
        [
          resource(recorded, "azure-native:authorization:RoleAssignment", name).options.hooks.onError,
          recorded.hooks.has(name),
        ],
        [[name], true],
        "its role is a moment old",
      );
    });
  }

  for (const [cloud, id, outputs, told] of [
    [
      "aws",
      "vpc-0a1b2c3d4e5f60718",
      { cidrBlock: "10.51.0.0/20" },
      /network\.cidr: the first range of vpc-\w+ is 10\.51/,
    ],
    ["aws", "vpc-0a1b2c3d4e5f60718", { enableDnsSupport: false }, /existing\.id: enableDnsSupport of .* is false/],
    ["aws", "subnet-0a00000000000000a", { vpcId: "vpc-1" }, /eu-central-1a\.private\.id: the VPC of \S+ is vpc-1 in/],
    [
      "aws",
      "subnet-0a00000000000000a",
      { mapPublicIpOnLaunch: true },
      /mapPublicIpOnLaunch .* is true .*, and not false/,
    ],
    [
      "aws",
      "subnet-0c00000000000000a",
      { privateDnsHostnameTypeOnLaunch: "ip-name" },
      /OnLaunch .* is ip-name [\s\S]*fix: .*aws ec2 modify-subnet/,
    ],
    [
      "azure",
      "spoke",
      { addressSpace: { addressPrefixes: ["10.60.0.0/20"] } },
      /moreCidrs: the list of ranges .* is 10\.60\.0\.0\/20 in/,
    ],
    ["azure", "nodes", { addressPrefix: "10.60.4.0/22" }, /private\.cidr: the range of nodes is 10\.60\.4\.0\/22/],
    [
      "azure",
      "control-plane",
      { serviceEndpoints: [{ service: "Microsoft.KeyVault" }] },
      /endpoint Microsoft\.Storage of control-plane is off/,
    ],
    ["azure", "nodes", { delegations: [{ name: "sql" }] }, /the number of delegations of nodes is 1/],
  ] as const)
    it(`of ${cloud} is refused when ${id} has ${JSON.stringify(outputs)}`, async () => {
      const [first = "", later = ""] = await compared(cloud, await run(cloud, idOf(id), outputs));
      assert.match(first, told);
      assert.match(first, /has 1 problem/);
      assert.equal(later, first);
    });

  it("is refused where what the cloud says cannot be read", async () => {
    const recorded = await run("aws");
    const { inputs } = resource(recorded, stash, "aws-existing-network-check");
    const hook = recorded.hooks.get("aws-existing-network-check")?.callback ?? assert.fail();
    const [fact] = listOf(inputs.input).map(mapOf);
    for (const found of [null, undefined, ["x"], 1, secret("x")]) {
      assert.throws(
        () => Reflect.apply(hook, undefined, [{ newInputs: { input: [{ ...fact, found }] } }]),
        /cannot be read/,
      );
    }
  });

  it("needs free addresses at first, which machines have later", async () => {
    const taken = (count: number) => ({
      ipConfigurations: Array.from({ length: count }, (_, id) => ({ id: String(id) })),
    });
    const fixed = await compared("azure", await run("azure", idOf("control-plane"), taken(1)));
    assert.match(fixed[0] ?? "", /the number of addresses in use in control-plane is 1/);
    const full = await compared("azure", await run("azure", idOf("nodes"), taken(1019)));
    assert.match(full[0] ?? "", /the number of free addresses of nodes.* is 0 .* not 2/);
    assert.deepEqual([fixed[1], full[1]], ["", ""]);
  });
});
