import assert from "node:assert/strict";
import { credentials, type ServiceError } from "@grpc/grpc-js";
import services from "@pulumi/pulumi/proto/provider_grpc_pb.js";
import messages from "@pulumi/pulumi/proto/provider_pb.js";
import statuses from "@pulumi/pulumi/proto/status_pb.js";
import struct from "google-protobuf/google/protobuf/struct_pb.js";
import { simulatedCloud } from "../../plan/fakes/cloud.ts";
import type { RecordedResource, ResourceRequest } from "../../plan/program/recorded.ts";
import { mapFromWire, type PropertyMap, Secret, toWire, Unknown } from "../../plan/program/values.ts";
import { HalfDone, previewCreate, previewUpdate, ServedCloud } from "../../plan/providers/cloud.ts";
import { wrongInputs } from "../../plan/providers/declared.ts";
import { difference } from "../../plan/providers/diff.ts";
import { servedPackages, serveProviders } from "../../plan/providers/serve.ts";
import { deployAws } from "../../stacks/aws.ts";
import { deployAzure } from "../../stacks/azure.ts";
import { specOf, testAccount, withMocks } from "../support/mocks.ts";
import { requestFor } from "../support/recording.ts";

interface State {
  readonly id: string;
  readonly inputs: PropertyMap;
  readonly outputs: PropertyMap;
}

const newCloud = (region = "eu-central-1") =>
  new ServedCloud(simulatedCloud({ region, accountId: testAccount }, "fake"));
const diff = (type: string, old: State, inputs: PropertyMap, ignoreChanges: readonly string[] = []) => {
  const { changes } = difference({ type, oldInputs: old.inputs, oldOutputs: old.outputs, inputs, ignoreChanges });
  const replaces = [
    ...new Set(changes.flatMap(({ path, replaces: yes }) => (yes ? path.split(/[.[]/).slice(0, 1) : []))),
  ].sort();
  return { paths: changes.map(({ path }) => path), replaces };
};
const change = (old: State, inputs: PropertyMap) => ({
  oldInputs: old.inputs,
  oldOutputs: old.outputs,
  inputs,
  ignoreChanges: [],
});

/** By type, the first changed input where it is updated, or all inputs that replace it, before the options. */
const otherSize: Readonly<Record<string, readonly string[]>> = {
  "aws-prod": ["aws:ec2/launchTemplate:LaunchTemplate instanceType"],
  "azure-prod": ["azure-native:compute:VirtualMachine hardwareProfile.vmSize"],
};
const otherNetwork: Readonly<Record<string, readonly string[]>> = {
  "aws-prod": [
    "aws:ec2/launchTemplate:LaunchTemplate userData",
    "aws:ec2/networkInterface:NetworkInterface replaced: privateIps",
    "aws:ec2/subnet:Subnet replaced: cidrBlock",
    "aws:ec2/vpc:Vpc replaced: cidrBlock",
    "aws:lb/targetGroupAttachment:TargetGroupAttachment replaced: targetId",
    "aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule cidrIpv4",
  ],
  "azure-prod": [
    "azure-native:compute:VirtualMachine osProfile.customData",
    "azure-native:network:LoadBalancer frontendIPConfigurations[0].privateIPAddress",
    "azure-native:network:NetworkInterface ipConfigurations[0].privateIPAddress",
    "azure-native:network:Subnet addressPrefix",
    "azure-native:network:VirtualNetwork addressSpace.addressPrefixes[0]",
    "azure-native:privatedns:PrivateRecordSet aRecords[0].ipv4Address",
  ],
};
/** Inputs of Azure that replace: a part of the id, a mark of the API, an entry of the provider's list. */
const replacing = [
  ["network:Subnet", "subnetName", "other", true],
  ["network:PublicIPAddress", "sku", { name: "Basic" }, true],
  ["network:LoadBalancer", "sku", { name: "Basic" }, false],
  ["storage:StorageAccount", "location", "northeurope", true],
  ["authorization:RoleAssignment", "principalId", "0", true],
] as const;

const clouds = [
  { stack: "aws-prod", region: "eu-central-1", deploy: deployAws },
  { stack: "azure-prod", region: "westeurope", deploy: deployAzure },
] as const;

for (const { stack, region, deploy } of clouds)
  describe(`the providers of ${stack}`, () => {
    const cloud = newCloud(region);
    const aws = region === "eu-central-1";
    let program: readonly RecordedResource[];
    const states = new Map<string, State>();
    const run = async (
      changes: Readonly<Record<string, string>> = {},
      mode: "unknown-outputs" | "known-outputs" = "known-outputs",
    ) =>
      (await withMocks(() => deploy(specOf(stack, changes)), { region, mode })).program.resources.filter(({ type }) =>
        servedPackages.some((name) => type.startsWith(`${name}:`)),
      );
    const state = ({ urn }: RecordedResource): State => states.get(urn) ?? assert.fail(`${urn} was not made`);
    const one = (type: string) => program.find((each) => each.type === type) ?? assert.fail(type);
    before(async () => {
      program = await run();
    });

    it("preview a first update: unknown inputs pass, outputs are unknown", async () => {
      for (const { name, type, inputs } of await run({}, "unknown-outputs")) {
        assert.deepEqual(wrongInputs(type, inputs), [], name);
        const outputs = Object.entries(previewCreate(type, inputs));
        for (const [key, value] of outputs) assert.ok(key in inputs || value instanceof Unknown, `${name}.${key}`);
        assert.ok(outputs.some(([, value]) => value instanceof Unknown));
      }
    });

    it("make everything, and find no change in a second update or after a refresh", () => {
      for (const resource of program) {
        const { inputs, type, name } = resource;
        assert.deepEqual(wrongInputs(type, inputs), [], name);
        const made = { inputs, ...cloud.create(resource, inputs) };
        assert.equal(made.id, resource.id);
        states.set(resource.urn, made);
      }
      assert.equal(cloud.size, program.filter(({ type }) => /^(aws|azure-native):/.test(type)).length);
      for (const resource of program) {
        const found =
          cloud.read(resource, state(resource).id, resource.inputs, state(resource).outputs) ??
          assert.fail(resource.name);
        for (const old of [state(resource), { ...state(resource), ...found }])
          assert.deepEqual(
            diff(resource.type, old, resource.inputs, resource.options.ignoreChanges).paths,
            [],
            resource.name,
          );
      }
    });

    it("refuse an unknown input, at any depth, and a missing one", () => {
      const [vpc, machine, missing] = aws
        ? (["aws:ec2/vpc:Vpc", "aws:ec2/launchTemplate:LaunchTemplate", "aws:ec2/route:Route"] as const)
        : ([
            "azure-native:network:VirtualNetwork",
            "azure-native:compute:VirtualMachine",
            "azure-native:network:Subnet",
          ] as const);
      const failures = (type: string, more: PropertyMap, without = "") => {
        const inputs = Object.entries({ ...one(type).inputs, ...more }).filter(([key]) => key !== without);
        return wrongInputs(type, Object.fromEntries(inputs)).map(({ path }) => path);
      };
      assert.deepEqual(failures(vpc, { cidr: "10.0.0.0/16" }), ["cidr"]);
      const nested = aws ? "metadataOptions" : "hardwareProfile";
      assert.deepEqual(failures(machine, { [nested]: new Secret({ size: "large" }) }), [`${nested}.size`]);
      const required = aws ? "routeTableId" : "virtualNetworkName";
      assert.deepEqual(failures(missing, {}, required), [required]);
    });

    it("tell what another size changes, and what another network replaces", async () => {
      const told = (changed: readonly RecordedResource[]) => {
        const lines = changed.flatMap(({ urn, type, inputs, options }) => {
          const old = states.get(urn);
          if (old === undefined) return [];
          const { replaces, paths } = diff(type, old, inputs, options.ignoreChanges);
          return paths.length === 0 ? [] : [`${type} ${replaces.length > 0 ? `replaced: ${replaces}` : paths[0]}`];
        });
        return [...new Set(lines)].sort();
      };
      const prod = {
        replicas: 3,
        etcdDiskGb: aws ? 40 : 128,
        image: aws ? "ami-0123456789abcdef0" : "24.04.202610010",
      };
      const size = aws ? "m7i.2xlarge" : "Standard_D8s_v5";
      assert.deepEqual(told(await run({ controlPlane: JSON.stringify({ ...prod, size }) })), otherSize[stack]);
      const zones = aws ? ["eu-central-1a", "eu-central-1b", "eu-central-1c"] : ["1", "2", "3"];
      assert.deepEqual(
        told(await run({ network: JSON.stringify({ cidr: "10.30.0.0/16", zones, nat: "perZone" }) })),
        otherNetwork[stack],
      );
      for (const [kind, input, value, replaces] of aws ? [] : replacing) {
        const each = one(`azure-native:${kind}`);
        const inputs = { ...each.inputs, [input]: value };
        const found = diff(each.type, state(each), inputs);
        assert.deepEqual(found.replaces, replaces ? [input] : [], kind);
        const update = () => cloud.update(each, state(each).id, change(state(each), inputs));
        if (!replaces) assert.throws(update, /loadBalancers\/\S+: changing sku is not allowed/);
      }
    });

    it("give a replacement another id, refuse a taken name, and read nothing where nothing is", () => {
      const anonymous = one(
        aws ? "aws:ec2/launchTemplate:LaunchTemplate" : "azure-native:authorization:RoleAssignment",
      );
      const named = one(aws ? "aws:lb/targetGroup:TargetGroup" : "azure-native:network:Subnet");
      const first = state(anonymous);
      const second = { ...first, ...cloud.create(anonymous, anonymous.inputs) };
      assert.notEqual(second.id, first.id);
      cloud.delete(anonymous, first.id, first.inputs);
      const there = ({ id, inputs, outputs }: State) => cloud.read(anonymous, id, inputs, outputs) !== undefined;
      assert.deepEqual([there(first), there(second)], [false, true]);
      assert.throws(() => cloud.create(named, named.inputs), /exists already/);
      states.set(anonymous.urn, second);
      for (const resource of program.toReversed()) cloud.delete(resource, state(resource).id, state(resource).inputs);
      assert.equal(cloud.size, 0);
    });

    it("make everything again after each operation failed halfway, but for names that stay taken", async () => {
      const half = (name: string, act: () => unknown): { readonly id: string; readonly outputs: PropertyMap } => {
        cloud.failing.add(name);
        try {
          act();
        } catch (error) {
          if (error instanceof HalfDone) return error;
          throw error;
        }
        return assert.fail(name);
      };
      if (!aws)
        assert.throws(
          () => cloud.create(one("azure-native:keyvault:Vault"), one("azure-native:keyvault:Vault").inputs),
          /ConflictError/,
        );
      // Another update has other random parts.
      const others = simulatedCloud({ region, accountId: testAccount }, "fake");
      const simulate = (request: ResourceRequest) => {
        const { type, name, inputs } = request;
        if (/^(tls|random):/.test(type)) return cloud.create(request, inputs);
        if (!/^(aws|azure-native):/.test(type)) return others(request);
        const { id, outputs } = half(name, () => cloud.create(request, inputs));
        return { id, outputs: cloud.update(request, id, change({ id, inputs, outputs }, inputs)) };
      };
      const { program: run } = await withMocks(() => deploy(specOf(stack)), { simulate });
      const again = run.resources.filter(({ type }) => /^(aws|azure-native):/.test(type));
      assert.equal(cloud.size, again.length);
      for (const each of again.toReversed()) half(each.name, () => cloud.delete(each, each.id ?? "", each.inputs));
      for (const each of again) cloud.delete(each, each.id ?? "", each.inputs);
      assert.equal(cloud.size, 0);
    });
  });

describe("AWS, as its provider shows it", () => {
  it("changes all that has tags when the provider's default tags change", () => {
    const cloud = newCloud();
    const [type, name] = ["aws:ec2/vpc:Vpc", "v"];
    const inputs = { cidrBlock: "10.0.0.0/16", tags: { Name: "v" } };
    const tagged = (owner: string) => cloud.configure("aws", { defaultTags: JSON.stringify({ tags: { owner } }) });
    tagged("a");
    const made = cloud.create({ urn: `urn:pulumi:s::p::${type}::${name}`, type, name }, inputs);
    const paths = (oldOutputs: PropertyMap) =>
      cloud
        .difference({ type, oldInputs: inputs, oldOutputs, inputs, ignoreChanges: [] })
        .changes.map(({ path }) => path);
    assert.deepEqual(made.outputs.tagsAll, { owner: "a", Name: "v" });
    assert.deepEqual(paths(made.outputs), []);
    tagged("b");
    assert.deepEqual(paths(made.outputs), ["tagsAll"]);
    const subject = { urn: `urn:pulumi:s::p::${type}::${name}`, type, name };
    const state = { id: made.id, inputs, outputs: made.outputs };
    assert.deepEqual(paths(cloud.update(subject, made.id, change(state, inputs))), []);
  });

  it("forgets the key of a parameter written with another value, which the next update finds", () => {
    const cloud = newCloud();
    const parameter = requestFor("aws:ssm/parameter:Parameter", "p", { name: "/a", value: "1", keyId: "own" });
    const [old, other] = [parameter.inputs, { ...parameter.inputs, value: "2" }];
    const { id, outputs } = cloud.create(parameter, old);
    const update = (oldInputs: PropertyMap, oldOutputs: PropertyMap, inputs: PropertyMap) =>
      cloud.update(parameter, id, { oldInputs, oldOutputs, inputs, ignoreChanges: [] });
    const tagged = update(old, outputs, { ...old, tags: { a: "b" } });
    assert.equal(tagged.keyId, "own");
    const lost = update({ ...old, tags: { a: "b" } }, tagged, other);
    assert.deepEqual([lost.keyId, lost.version], ["alias/aws/ssm", 2]);
    const next = { type: parameter.type, oldInputs: other, oldOutputs: lost, inputs: other, ignoreChanges: [] };
    const changes = difference(next).changes.map(({ path }) => path);
    assert.deepEqual(changes, ["keyId"]);
    assert.equal(update(other, lost, other).keyId, "own");
  });

  it("makes one version more of a changed launch template, which a preview cannot tell, and none for its tags", () => {
    const cloud = newCloud();
    const template = requestFor("aws:ec2/launchTemplate:LaunchTemplate", "pool", { instanceType: "m7i.large" });
    const first = { inputs: template.inputs, ...cloud.create(template, template.inputs) };
    const larger = { instanceType: "m7i.xlarge" };
    const update = (old: State, inputs: PropertyMap) => ({
      ...old,
      inputs,
      outputs: cloud.update(template, first.id, change(old, inputs)),
    });
    assert.ok(previewUpdate(template.type, change(first, larger)).latestVersion instanceof Unknown);
    const second = update(first, larger);
    assert.equal(second.outputs.latestVersion, 2);
    assert.equal(update(second, { ...larger, tags: { a: "b" } }).outputs.latestVersion, 2);
    // The next update would otherwise take the user data from the machine.
    update(second, { ...larger, userData: "IyEvYmluL3No" });
    const instance = requestFor("aws:ec2/instance:Instance", "cp", { launchTemplate: { id: first.id } });
    const machine = { inputs: instance.inputs, ...cloud.create(instance, instance.inputs) };
    assert.deepEqual(diff(instance.type, machine, instance.inputs).paths, ["userData"]);
    assert.deepEqual(diff(instance.type, machine, instance.inputs, ["userData"]).paths, []);
  });

  // The official engine tries the whole protocol at night.
  it("answers the engine over the wire: mistakes, secrets as secrets, and unknowns by their type", async () => {
    const cloud = newCloud();
    const served = await serveProviders(cloud);
    const client = new services.ResourceProviderClient(
      `127.0.0.1:${served.ports.get("aws")}`,
      credentials.createInsecure(),
    );
    const call = <A>(send: (done: (error: ServiceError | null, answer: A) => void) => unknown): Promise<A> =>
      new Promise((resolve, reject) => send((error, answer) => (error === null ? resolve(answer) : reject(error))));
    const wire = (inputs: PropertyMap) =>
      struct.Struct.fromJavaScript(
        Object.fromEntries(Object.entries(inputs).map(([key, value]) => [key, toWire(value)])),
      );
    const parameter = requestFor("aws:ssm/parameter:Parameter", "p", {
      name: "/a",
      type: "SecureString",
      value: new Secret("1"),
    });
    const create = async (preview: boolean, inputs: PropertyMap) => {
      const request = new messages.CreateRequest();
      request.setUrn(parameter.urn);
      request.setType(parameter.type);
      request.setName(parameter.name);
      request.setPreview(preview);
      request.setProperties(wire(inputs));
      const answer = await call<messages.CreateResponse>((done) => client.create(request, done));
      return { id: answer.getId(), outputs: mapFromWire(answer.getProperties()?.toJavaScript() ?? {}) };
    };
    try {
      const check = new messages.CheckRequest();
      check.setType(parameter.type);
      check.setNews(wire({ ...parameter.inputs, valu: "x" }));
      const { failuresList } = (await call<messages.CheckResponse>((done) => client.check(check, done))).toObject();
      const properties = failuresList.map(({ property }) => property);
      assert.deepEqual(properties, ["valu"]);
      const unknownText = "04da6b54-80e4-46f7-96ec-b56ff0331ba9";
      const previewed = await create(true, { ...parameter.inputs, description: unknownText });
      assert.ok(previewed.id === "" && previewed.outputs.description instanceof Unknown);
      const made = await create(false, parameter.inputs);
      assert.ok(made.id === "/a" && made.outputs.value instanceof Secret);
      await assert.rejects(create(false, parameter.inputs), /exists already/);
      const settings = new messages.ConfigureRequest();
      settings.setArgs(wire({ defaultTags: "{}" }));
      await call<messages.ConfigureResponse>((done) => client.configure(settings, done));
      cloud.deployer = (operation, { name }, { resources: [provider] }) => {
        throw new Error(`may not ${operation} ${name}: ${JSON.stringify(provider?.inputs)}`);
      };
      await assert.rejects(
        create(false, { ...parameter.inputs, name: "/b" }),
        /may not create p: \{"defaultTags":"\{\}"\}/,
      );
      cloud.deployer = () => {};
      cloud.failing.add("p");
      const { metadata } = await create(false, { ...parameter.inputs, name: "/b" }).then(
        () => assert.fail(),
        (error: ServiceError) => error,
      );
      const [packed] = statuses.Status.deserializeBinary(
        Buffer.from(metadata.get("grpc-status-details-bin")[0] ?? ""),
      ).getDetailsList();
      const half = packed?.unpack(
        (bytes) => messages.ErrorResourceInitFailed.deserializeBinary(bytes),
        "pulumirpc.ErrorResourceInitFailed",
      );
      assert.equal(half?.getId(), "/b");
    } finally {
      client.close();
      served.close();
    }
  });
});
