import assert from "node:assert/strict";
import { credentials, type ServiceError } from "@grpc/grpc-js";
import plugin from "@pulumi/pulumi/proto/plugin_pb.js";
import services from "@pulumi/pulumi/proto/provider_grpc_pb.js";
import messages from "@pulumi/pulumi/proto/provider_pb.js";
import empty from "google-protobuf/google/protobuf/empty_pb.js";
import struct from "google-protobuf/google/protobuf/struct_pb.js";
import { simulatedCloud } from "../../plan/fakes/cloud.ts";
import type { RecordedResource } from "../../plan/program/recorded.ts";
import { mapFromWire, type PropertyMap, Secret, toWire, Unknown } from "../../plan/program/values.ts";
import { ServedCloud } from "../../plan/providers/cloud.ts";
import { difference } from "../../plan/providers/diff.ts";
import { type ServedProviders, servedPackages, serveProviders } from "../../plan/providers/serve.ts";
import { deployAws } from "../../stacks/aws.ts";
import { deployAzure } from "../../stacks/azure.ts";
import { specOf, testAccount, withMocks } from "../support/mocks.ts";
import { requestFor } from "../support/recording.ts";

type Answer<A> = (error: ServiceError | null, answer: A) => void;

/** A provider as the engine uses it (pulumi/pulumi v3.260.0, sdk/go/common/resource/plugin/provider_plugin.go). */
class EngineClient {
  readonly #client: InstanceType<typeof services.ResourceProviderClient>;

  constructor(port: number) {
    this.#client = new services.ResourceProviderClient(`127.0.0.1:${port}`, credentials.createInsecure());
  }

  #call<A>(send: (callback: Answer<A>) => unknown): Promise<A> {
    return new Promise((resolve, reject) => send((error, answer) => (error === null ? resolve(answer) : reject(new Error(error.details)))));
  }

  /** What `NewProvider` and the registry do with a provider that they attach to. Returns its version. */
  async start(provider: Pick<RecordedResource, "urn" | "type" | "name" | "inputs">): Promise<string> {
    const client = this.#client;
    const hands = new messages.ProviderHandshakeRequest();
    hands.setEngineAddress("127.0.0.1:1");
    assert.equal((await this.#call<messages.ProviderHandshakeResponse>((done) => client.handshake(hands, done))).getAcceptSecrets(), true);
    await this.#call<empty.Empty>((done) => client.attach(new plugin.PluginAttach(), done));
    const info = await this.#call<plugin.PluginInfo>((done) => client.getPluginInfo(new empty.Empty(), done));
    const check = about(new messages.CheckRequest(), provider);
    check.setNews(write({ ...provider.inputs, version: info.getVersion() }));
    const { failuresList } = (await this.#call<messages.CheckResponse>((done) => client.checkConfig(check, done))).toObject();
    assert.deepEqual(failuresList, []);
    await this.#call<messages.ConfigureResponse>((done) => client.configure(new messages.ConfigureRequest(), done));
    return info.getVersion();
  }

  async check(resource: Given, inputs: PropertyMap) {
    const request = about(new messages.CheckRequest(), resource);
    request.setNews(write(inputs));
    const answer = await this.#call<messages.CheckResponse>((done) => this.#client.check(request, done));
    assert.deepEqual(read(answer.getInputs()), read(write(inputs)));
    return answer.toObject().failuresList;
  }

  async create(resource: Given, inputs: PropertyMap, preview = false): Promise<State> {
    const request = about(new messages.CreateRequest(), resource);
    request.setProperties(write(inputs));
    request.setPreview(preview);
    const answer = await this.#call<messages.CreateResponse>((done) => this.#client.create(request, done));
    return { id: answer.getId(), inputs, outputs: read(answer.getProperties()) };
  }

  /** The answer to Diff: `replaces`, and the changed paths. */
  async diff(resource: Given, old: State, inputs: PropertyMap, ignoreChanges: readonly string[] = []) {
    const request = about(new messages.DiffRequest(), resource);
    request.setId(old.id);
    request.setOldInputs(write(old.inputs));
    request.setOlds(write(old.outputs));
    request.setNews(write(inputs));
    request.setIgnorechangesList([...ignoreChanges]);
    const answer = await this.#call<messages.DiffResponse>((done) => this.#client.diff(request, done));
    const { DIFF_SOME } = messages.DiffResponse.DiffChanges;
    const paths = answer.toObject().detaileddiffMap.map(([path]) => path);
    assert.equal(answer.getChanges() === DIFF_SOME, paths.length > 0);
    return { replaces: answer.getReplacesList(), paths, deleteFirst: answer.getDeletebeforereplace() };
  }

  async update(resource: Given, old: State, inputs: PropertyMap, preview = false): Promise<State> {
    const request = about(new messages.UpdateRequest(), resource);
    request.setId(old.id);
    request.setOldInputs(write(old.inputs));
    request.setOlds(write(old.outputs));
    request.setNews(write(inputs));
    request.setPreview(preview);
    const answer = await this.#call<messages.UpdateResponse>((done) => this.#client.update(request, done));
    return { id: old.id, inputs, outputs: read(answer.getProperties()) };
  }

  /** The state that a refresh finds; `undefined` where the resource is gone. */
  async read(resource: Given, old: State): Promise<State | undefined> {
    const request = about(new messages.ReadRequest(), resource);
    request.setId(old.id);
    request.setInputs(write(old.inputs));
    request.setProperties(write(old.outputs));
    const answer = await this.#call<messages.ReadResponse>((done) => this.#client.read(request, done));
    if (answer.getId() === "") return undefined;
    return { id: answer.getId(), inputs: read(answer.getInputs()), outputs: read(answer.getProperties()) };
  }

  async delete(resource: Given, old: State): Promise<void> {
    const request = about(new messages.DeleteRequest(), resource);
    request.setId(old.id);
    request.setOldInputs(write(old.inputs));
    request.setProperties(write(old.outputs));
    await this.#call<empty.Empty>((done) => this.#client.delete(request, done));
  }

  close(): void {
    this.#client.close();
  }
}

type Given = Pick<RecordedResource, "urn" | "type" | "name">;

interface State {
  readonly id: string;
  readonly inputs: PropertyMap;
  readonly outputs: PropertyMap;
}

interface HasSubject {
  setUrn(value: string): unknown;
  setType(value: string): unknown;
  setName(value: string): unknown;
}

function about<T extends HasSubject>(request: T, { urn, type, name }: Given): T {
  request.setUrn(urn);
  request.setType(type);
  request.setName(name);
  return request;
}

const read = (properties: struct.Struct | undefined) => mapFromWire(properties?.toJavaScript() ?? {});
const write = (properties: PropertyMap) =>
  struct.Struct.fromJavaScript(Object.fromEntries(Object.entries(properties).map(([key, value]) => [key, toWire(value)])));
const plain = (value: PropertyMap) => JSON.stringify(write(value).toJavaScript());

/** By type, the first changed input where it is updated, all inputs that replace it where it is replaced: by the provider, before the options. */
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
  describe(`the providers of ${stack}, served by the engine's protocol`, () => {
    let served: ServedProviders;
    let cloud: ServedCloud;
    let clients: ReadonlyMap<string, EngineClient>;
    let program: readonly RecordedResource[];
    const states = new Map<string, State>();
    const run = async (changes: Readonly<Record<string, string>> = {}, mode: "unknown-outputs" | "known-outputs" = "known-outputs") =>
      (await withMocks(() => deploy(specOf(stack, changes)), { region, mode })).program.resources;
    const ours = (resources: readonly RecordedResource[]) =>
      resources.filter(({ type }) => servedPackages.some((name) => type.startsWith(`${name}:`)));
    const client = ({ type }: Given): EngineClient => {
      const found = clients.get(type.split(":")[0] ?? "");
      assert.ok(found !== undefined, type);
      return found;
    };
    const state = ({ urn }: Given): State => states.get(urn) ?? assert.fail(`${urn} was not made`);

    before(async () => {
      cloud = new ServedCloud(simulatedCloud({ region, accountId: testAccount }, "fake"));
      served = await serveProviders(cloud);
      clients = new Map([...served.ports].map(([name, port]) => [name, new EngineClient(port)]));
      const all = await run();
      program = ours(all);
      const explicit = all.find(({ type }) => /^pulumi:providers:(aws|azure-native)$/.test(type));
      assert.ok(explicit !== undefined);
      for (const [name, each] of clients) {
        const type = `pulumi:providers:${name}`;
        const urn = `urn:pulumi:test::fenestra::${type}::default`;
        const version = await each.start(explicit.type === type ? explicit : { urn, type, name: "default", inputs: {} });
        assert.match(version, /^\d+\.\d+\.\d+$/);
      }
    });
    after(() => {
      for (const each of clients.values()) each.close();
      served.close();
    });

    it("preview a first update: inputs that are not known yet pass, outputs are not known", async () => {
      const preview = ours(await run({}, "unknown-outputs"));
      assert.ok(preview.some(({ inputs }) => Object.values(inputs).some((value) => value instanceof Unknown)));
      for (const resource of preview) {
        assert.deepEqual(await client(resource).check(resource, resource.inputs), [], resource.name);
        const { id, outputs } = await client(resource).create(resource, resource.inputs, true);
        assert.equal(id, "");
        for (const [key, value] of Object.entries(outputs))
          assert.ok(key in resource.inputs || value instanceof Unknown, `${resource.name}.${key}`);
        assert.ok(
          Object.values(outputs).some((value) => value instanceof Unknown),
          resource.name,
        );
      }
      assert.equal(cloud.size, 0);
    });

    it("make everything, with the outputs that plan and rehearsal have", async () => {
      for (const resource of program) {
        const { inputs } = resource;
        assert.deepEqual(await client(resource).check(resource, inputs), [], resource.name);
        const made = await client(resource).create(resource, inputs);
        assert.equal(made.id, resource.id);
        // What only a provider's Read adds; the program ignores it, see tests/aws/readBack.test.ts.
        const { userData, ...outputs } = made.outputs;
        const isInstance = resource.type === "aws:ec2/instance:Instance";
        assert.equal(typeof userData === "string" && isInstance, isInstance);
        assert.equal(plain(isInstance ? outputs : made.outputs), plain(resource.outputs), resource.name);
        states.set(resource.urn, made);
      }
      assert.equal(cloud.size, program.filter(({ type }) => /^(aws|azure-native):/.test(type)).length);
    });

    it("find no change in a second update, nor after a refresh", async () => {
      for (const resource of program) {
        const refreshed = await client(resource).read(resource, state(resource));
        assert.ok(refreshed !== undefined, resource.name);
        const { inputs, options } = resource;
        for (const old of [state(resource), refreshed]) {
          const { paths } = await client(resource).diff(resource, old, inputs, options.ignoreChanges);
          assert.deepEqual(paths, [], resource.name);
        }
      }
    });

    it("refuse an input that there is not, at any depth, and a missing one", async () => {
      const [vpc, machine, missing] =
        region === "eu-central-1"
          ? ["aws:ec2/vpc:Vpc", "aws:ec2/launchTemplate:LaunchTemplate", "aws:ec2/route:Route"]
          : ["azure-native:network:VirtualNetwork", "azure-native:compute:VirtualMachine", "azure-native:network:Subnet"];
      const one = (type: string) => program.find((each) => each.type === type) ?? assert.fail(type);
      const failures = async (type: string, change: (inputs: PropertyMap) => PropertyMap) =>
        (await client(one(type)).check(one(type), change(one(type).inputs))).map(({ property }) => property);
      assert.deepEqual(await failures(vpc, (inputs) => ({ ...inputs, cidr: "10.0.0.0/16" })), ["cidr"]);
      const nested = region === "eu-central-1" ? "metadataOptions" : "hardwareProfile";
      const wrong = new Secret({ size: "large" });
      assert.deepEqual(await failures(machine, (inputs) => ({ ...inputs, [nested]: wrong })), [`${nested}.size`]);
      const required = region === "eu-central-1" ? "routeTableId" : "virtualNetworkName";
      assert.deepEqual(
        await failures(missing, (inputs) => Object.fromEntries(Object.entries(inputs).filter(([key]) => key !== required))),
        [required],
      );
    });

    it("take a secret and give one", async () => {
      const password = program.find(({ type }) => type === "random:index/randomPassword:RandomPassword");
      const key = program.find(({ type }) => type === "tls:index/privateKey:PrivateKey");
      if (password !== undefined) assert.ok(state(password).outputs.result instanceof Secret);
      assert.ok(key !== undefined && state(key).outputs.privateKeyPem instanceof Secret);
      const secret = program.flatMap(({ urn, inputs }) =>
        Object.entries(inputs).flatMap(([name, value]) => (value instanceof Secret ? [{ urn, name }] : [])),
      );
      assert.ok(secret.length > 0);
      for (const { urn, name } of secret) assert.ok(states.get(urn)?.outputs[name] instanceof Secret, `${urn} ${name}`);
    });

    it("tell what another size changes, and what another network replaces", async () => {
      const told = async (changed: readonly RecordedResource[]) => {
        const lines: string[] = [];
        for (const resource of changed.filter(({ urn }) => states.has(urn))) {
          const { type, inputs, options } = resource;
          const { replaces, paths } = await client(resource).diff(resource, state(resource), inputs, options.ignoreChanges);
          if (paths.length > 0) lines.push(`${type} ${replaces.length > 0 ? `replaced: ${replaces}` : `${paths[0]}`}`);
        }
        return [...new Set(lines)].sort();
      };
      const aws = region === "eu-central-1";
      const prod = { replicas: 3, etcdDiskGb: 40, image: aws ? "ami-0123456789abcdef0" : "24.04.202610010" };
      const size = aws ? "m7i.2xlarge" : "Standard_D8s_v5";
      assert.deepEqual(await told(await run({ controlPlane: JSON.stringify({ ...prod, size }) })), otherSize[stack]);
      const zones = aws ? ["eu-central-1a", "eu-central-1b", "eu-central-1c"] : ["1", "2", "3"];
      const network = JSON.stringify({ cidr: "10.30.0.0/16", zones, nat: "perZone" });
      assert.deepEqual(await told(await run({ network })), otherNetwork[stack]);
      for (const [kind, input, value, replaces] of aws ? [] : replacing) {
        const one = program.find(({ type }) => type === `azure-native:${kind}`) ?? assert.fail(kind);
        const told = await client(one).diff(one, state(one), { ...one.inputs, [input]: value });
        assert.deepEqual(told.replaces, replaces ? [input] : [], kind);
        // The name of a role assignment is random: the new one comes first.
        assert.equal(told.deleteFirst, replaces && kind !== "authorization:RoleAssignment", kind);
        if (replaces) continue;
        const update = client(one).update(one, state(one), { ...one.inputs, [input]: value });
        await assert.rejects(update, /loadBalancers\/\S+: changing sku is not allowed/);
      }
    });

    it("give what replaces another id, refuse a name that is taken, and read nothing where nothing is", async () => {
      const aws = region === "eu-central-1";
      const type = aws ? "aws:ec2/launchTemplate:LaunchTemplate" : "azure-native:authorization:RoleAssignment";
      const anonymous = program.find((each) => each.type === type) ?? assert.fail(type);
      const named =
        program.find((each) => each.type === (aws ? "aws:lb/targetGroup:TargetGroup" : "azure-native:network:Subnet")) ?? assert.fail();
      const second = await client(anonymous).create(anonymous, anonymous.inputs);
      assert.notEqual(second.id, state(anonymous).id);
      await client(anonymous).delete(anonymous, state(anonymous));
      assert.equal(await client(anonymous).read(anonymous, state(anonymous)), undefined);
      assert.notEqual(await client(anonymous).read(anonymous, second), undefined);
      await assert.rejects(client(named).create(named, named.inputs), /exists already/);
      states.set(anonymous.urn, second);
      for (const resource of program.toReversed()) await client(resource).delete(resource, state(resource));
      assert.equal(cloud.size, 0);
    });
  });

describe("AWS, served by the engine's protocol", () => {
  it("forgets the key of a parameter that is written with another value, and the next update finds it so", () => {
    const cloud = new ServedCloud(simulatedCloud({ region: "eu-central-1", accountId: testAccount }, "fake"));
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
    assert.deepEqual(
      difference(next).changes.map(({ path }) => path),
      ["keyId"],
    );
    assert.equal(update(other, lost, other).keyId, "own");
  });

  it("makes one version of a launch template more after a change, which a preview cannot tell, and none for its tags", async () => {
    const served = await serveProviders(new ServedCloud(simulatedCloud({ region: "eu-central-1", accountId: testAccount }, "fake")));
    const client = new EngineClient(served.ports.get("aws") ?? 0);
    try {
      const template = requestFor("aws:ec2/launchTemplate:LaunchTemplate", "pool", { instanceType: "m7i.large" });
      const first = await client.create(template, template.inputs);
      const larger = { instanceType: "m7i.xlarge" };
      assert.deepEqual(await client.diff(template, first, larger), {
        replaces: [],
        paths: ["instanceType"],
        deleteFirst: false,
      });
      assert.ok((await client.update(template, first, larger, true)).outputs.latestVersion instanceof Unknown);
      const second = await client.update(template, first, larger);
      assert.equal(second.outputs.latestVersion, 2);
      assert.equal((await client.update(template, second, { ...larger, tags: { a: "b" } })).outputs.latestVersion, 2);
      // Without `ignoreChanges` the next update would take the template's user data from the machine.
      const instance = requestFor("aws:ec2/instance:Instance", "cp", { launchTemplate: { id: first.id } });
      await client.update(template, second, { ...larger, userData: "IyEvYmluL3No" });
      const machine = await client.create(instance, instance.inputs);
      assert.equal(machine.outputs.userData, "IyEvYmluL3No");
      assert.deepEqual((await client.diff(instance, machine, instance.inputs)).paths, ["userData"]);
      assert.deepEqual((await client.diff(instance, machine, instance.inputs, ["userData"])).paths, []);
      // An engine sends what it does not know by its type.
      const unknownFlag = { ...larger, ebsOptimized: "1c4a061d-8072-4f0a-a4cb-0ff528b18fe7" };
      assert.ok((await client.create(template, unknownFlag, true)).outputs.ebsOptimized instanceof Unknown);
    } finally {
      client.close();
      served.close();
    }
  });
});
