import assert from "node:assert/strict";
import { createServer } from "node:net";
import * as pulumi from "@pulumi/pulumi";
import type { ApiClient } from "../../components/gates/apiProbe.ts";
import { mapOf, type PropertyValue, Secret } from "../../components/gates/values.ts";
import { InCluster, noCluster } from "../../components/kubernetes/inCluster.ts";
import { accountKey } from "../../components/model/cloudFacts/identities.ts";
import type { ClusterSpec } from "../../components/model/clusterSpec.ts";
import { logsAccount } from "../../components/model/nodeSettings.ts";
import { groupSize } from "../../components/model/pools.ts";
import { podNetworkManifests } from "../../components/podNetworks/manifests.ts";
import type { OutputMode } from "../../plan/program/engine.ts";
import { nameOfUrn, type RecordedResource } from "../../plan/program/recorded.ts";
import { serving } from "../gates/serving.ts";
import { closure, memo, type Recorded, resource, withMocks } from "../support/mocks.ts";
import { exampleSpec } from "../support/stacks.ts";
import { listening } from "../support/suite.ts";
import { combinations, logEnvironment, specOfTitle, withPools } from "./switches.ts";

const podIdentities = (spec: ClusterSpec) => ({
  environments: pulumi.output({ [accountKey(logsAccount)]: logEnvironment(spec) }),
  sampleUrl: pulumi.output("https://objects.test/hello.txt"),
});

interface RecordOptions {
  readonly mode?: OutputMode;
  readonly api?: ApiClient;
  /** Whether the program takes its monitor for an engine's. */
  readonly engine?: boolean;
}

const record = memo(
  (
    spec: ClusterSpec,
    {
      mode = "known-outputs",
      api = { server: "https://api.test:6443", caCertificate: "" },
      engine,
    }: RecordOptions = {},
  ) => {
    return withMocks(
      () => {
        if (engine === true) Object.assign(pulumi.runtime.getMonitor() ?? {}, { getChannel: () => undefined });
        const apiGate = new pulumi.Stash("gate", { input: "ready" });
        const roll = { group: "g", drainSeconds: 60, replaces: true, joinHelp: "", oldHelp: () => "" };
        const pools = spec.pools.map((pool) => {
          const group = new pulumi.Stash(`pool-${pool.name}`, { input: pool.count });
          const sent = { count: groupSize(pool).minSize, machines: undefined, id: "g" };
          return { spec: pool, group, fingerprint: pulumi.output("0123456789abcdef"), sent, roll };
        });
        new InCluster("in", {
          spec,
          kubeconfig: "kubeconfig-text",
          api,
          clusterIdentifier: "cluster-1",
          apiGate,
          pools,
          nodeEndpoint: "api.internal.test",
          podNetworkManifests,
          ...(spec.addons.logs !== undefined && { workloadIdentity: podIdentities(spec) }),
          ...(spec.cloud === "azure" && { cloudConfig: "{}", gmsaObjectId: "object-of-identity" }),
        });
      },
      { mode },
    );
  },
);

/** As JSON; secrets show as a mark. */
const plain = (value: PropertyValue | undefined): unknown =>
  value === undefined ? undefined : JSON.parse(JSON.stringify(value));
const waitsFor = ({ dependencies }: RecordedResource) => dependencies.map(nameOfUrn).toSorted();
const parentOf = ({ parent }: RecordedResource) => nameOfUrn(parent ?? "");
const deletedWith = ({ options }: RecordedResource) => nameOfUrn(options.deletedWith ?? "");
const objects = ({ program }: Recorded) => program.resources.filter(({ type }) => type.startsWith("kubernetes:"));

const samplesOf = (run: Recorded) => objects(run).filter((each) => parentOf(each) === "in-samples");

/** Names of all that a resource waits for. */
const allBefore = ({ program }: Recorded, start: RecordedResource) =>
  new Set([...closure(program.resources, start)].map(nameOfUrn));

const recorded = await record(exampleSpec("aws-dev"));

describe("in-cluster layer", () => {
  it("gives a preview by an engine a provider that asks nobody while the API is silent, and says so", async () => {
    const silent = createServer();
    const port = await listening(silent);
    const away: ApiClient = { server: `https://127.0.0.1:${port}`, caCertificate: "", requestMs: 200 };
    const given = async (options: RecordOptions): Promise<readonly [unknown, readonly string[]]> => {
      const run = await record(specOfTitle("aws-dev, everything off"), options);
      const { kubeconfig } = resource(run, "pulumi:providers:kubernetes", "in-provider").inputs;
      assert.ok(kubeconfig instanceof Secret);
      return [kubeconfig.reveal(), run.program.messages.map(({ text }) => text)];
    };
    try {
      const [kubeconfig, [warning = "", ...more]] = await given({ mode: "next-preview", api: away, engine: true });
      assert.equal(kubeconfig, noCluster);
      assert.deepEqual(more, []);
      assert.match(
        String(warning),
        /^The Kubernetes API does not answer \(https:\/\/127.+ within 0\.2 seconds\), so this/,
      );
      // An update behind the gate, a plan, and any answer at all.
      const asGiven = ["kubeconfig-text", []];
      assert.deepEqual(await given({ api: away, engine: true }), asGiven);
      assert.deepEqual(await given({ mode: "next-preview", api: away }), asGiven);
      await serving(
        () => ({ status: 403, body: "" }),
        async (api) => assert.deepEqual(await given({ mode: "next-preview", api, engine: true }), asGiven),
      );
    } finally {
      silent.close();
    }
  });

  it("lets no system object wait for the pools, or the first update could not end", () => {
    assert.deepEqual(
      [
        ...new Set(
          objects(recorded)
            .filter((each) => [...allBefore(recorded, each)].some((name) => name.startsWith("pool-")))
            .map(parentOf),
        ),
      ],
      ["in-samples"],
    );
    assert.ok(objects(recorded).every((each) => allBefore(recorded, each).has("gate")));
  });

  it("lets samples wait for the gate behind each pool, which waits for the machines, the network and the cloud controller alone", () => {
    const waits = (name: string) => {
      const { dependencies } = resource(recorded, "pulumi:index:Stash", name);
      const parents = dependencies.map((urn) => recorded.program.resources.find((each) => each.urn === urn)?.parent);
      return [...new Set(parents.map((urn) => nameOfUrn(urn ?? "")))].toSorted();
    };
    const samples = samplesOf(recorded);
    for (const pool of ["linux", "win2019", "win2022"]) {
      const gate = resource(recorded, "pulumi:index:Stash", `in-pool-${pool}`);
      assert.deepEqual(gate.options.hooks, { beforeCreate: [gate.name], beforeUpdate: [gate.name] });
      assert.deepEqual(plain(gate.inputs), { input: { fingerprint: "0123456789abcdef", count: 2 } });
      assert.ok(waitsFor(gate).includes(`pool-${pool}`));
      assert.deepEqual(waits(gate.name), ["fenestra-test", "in-cloud-controller", "in-networking"]);
      for (const sample of samples) assert.ok(allBefore(recorded, sample).has(gate.name), sample.name);
    }
  });

  it("makes no gate behind a pool that nobody waits for; samples still go before its machines", async () => {
    const spec = exampleSpec("aws-dev");
    const pools = spec.pools.map((pool) => ({ ...pool, waitForNodes: pool.name !== "win2019" }));
    const one = await record({ ...spec, pools });
    assert.deepEqual(
      one.program.resources.filter(({ name }) => name.startsWith("in-pool-")).map(({ name }) => name),
      ["in-pool-linux", "in-pool-win2022"],
    );
    for (const sample of samplesOf(one)) assert.ok(allBefore(one, sample).has("pool-win2019"), sample.name);
  });

  it("lets samples wait until the policy on RuntimeClasses is in force, and the proof for the policy and its binding", () => {
    const gate = resource(recorded, "pulumi:index:Stash", "in-guard-rails-in-force");
    assert.deepEqual(gate.options.hooks, { beforeCreate: [gate.name], beforeUpdate: [gate.name] });
    assert.equal(parentOf(gate), "in-guard-rails");
    // The policy and its binding have the same name.
    const policy = "in-guard-rails-fenestra-placement";
    assert.deepEqual(
      gate.dependencies
        .filter((urn) => nameOfUrn(urn) === policy)
        .map((urn) => urn.split("::")[2]?.split(":").at(-1))
        .toSorted(),
      ["MutatingAdmissionPolicy", "MutatingAdmissionPolicyBinding"],
    );
    const samples = samplesOf(recorded);
    assert.ok(samples.length > 10);
    for (const sample of samples) assert.ok(allBefore(recorded, sample).has(gate.name), sample.name);
    const system = objects(recorded).filter((each) => !["in-samples", "in-guard-rails"].includes(parentOf(each)));
    for (const each of system) assert.ok(!allBefore(recorded, each).has(gate.name), each.name);
  });

  it("asks for the proof anew when the policy or the cluster changes, and only then", async () => {
    const inputOf = (run: Recorded) =>
      mapOf(resource(run, "pulumi:index:Stash", "in-guard-rails-in-force").inputs.input);
    const spec = exampleSpec("aws-dev");
    const before = inputOf(recorded);
    assert.deepEqual(inputOf(await record({ ...spec, addons: { ...spec.addons, samples: false } })), before);
    assert.notDeepEqual(
      inputOf(
        await record(
          withPools(
            spec,
            spec.pools.filter(({ release }) => release.name !== "windows-2019"),
          ),
        ),
      ),
      before,
    );
    assert.deepEqual(Object.keys(before).toSorted(), ["cluster", "digest", "policy"]);
    assert.equal(before.cluster, "cluster-1");
  });

  for (const { title, spec } of combinations.filter((each) => each.title.endsWith("-dev, everything on")))
    it(`waits for no DaemonSet of workers, and rolls each in at most ten steps: ${title}`, async () => {
      const daemonSets = objects(await record(spec)).filter(({ type }) => type === "kubernetes:apps/v1:DaemonSet");
      const annotations = ({ inputs }: RecordedResource) => mapOf(mapOf(inputs.metadata).annotations);
      const awaited = daemonSets.filter((each) => annotations(each)["pulumi.com/skipAwait"] !== "true");
      // One that is not waited for must not be going when it is made again.
      const notInBackground = daemonSets.filter(
        (each) => annotations(each)["pulumi.com/deletionPropagationPolicy"] !== "background",
      );
      assert.deepEqual(notInBackground, awaited);
      assert.deepEqual(
        awaited.map(({ name }) => name),
        ["in-cloud-controller-cloud-controller-manager"],
      );
      for (const { name, inputs } of daemonSets.filter((each) => parentOf(each) !== "in-samples"))
        assert.deepEqual(
          plain(mapOf(inputs.spec).updateStrategy),
          { type: "RollingUpdate", rollingUpdate: { maxUnavailable: "10%" } },
          name,
        );
    });

  it("deletes what owns something in the cloud before the machines and the controllers, and the rest with them", () => {
    const kept = objects(recorded).filter((each) => deletedWith(each) === "");
    const owners = kept.filter((each) => parentOf(each) === "in-samples");
    assert.deepEqual(owners.map(({ name }) => name.replace("in-samples-fenestra-samples-", "")).toSorted(), [
      "iis-2019-lb",
      "iis-2022-lb",
      "persistent-2019",
      "persistent-2019",
      "persistent-2022",
      "persistent-2022",
      "win-webserver-2019-lb",
      "win-webserver-2022-lb",
    ]);
    // What is deleted first depends on what must outlive it.
    for (const owner of owners) {
      const before = allBefore(recorded, owner);
      for (const name of [
        "gate",
        "pool-linux",
        "pool-win2022",
        "in-cloud-controller-cloud-controller-manager",
        "in-storage-ebs-csi-controller",
        "in-storage-ebs-csi-node-windows",
      ])
        assert.ok(before.has(name), `${owner.name} does not wait for ${name}`);
    }
    assert.deepEqual([...new Set(kept.filter((each) => parentOf(each) !== "in-samples").map(parentOf))].toSorted(), [
      "in-cloud-controller",
      "in-storage",
      "in-volumes",
    ]);
  });
});
