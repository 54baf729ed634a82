import assert from "node:assert/strict";
import type { ServerResponse } from "node:http";
import { KubeConfig, V1MicroTime } from "@kubernetes/client-node";
import { type ClusterApi, clusterApi, ifFound } from "../../../check/cluster/clusterApi.ts";
import { addOnProblems } from "../../../check/cluster/controlPlane.ts";
import { clockProblems, machineProblems, releaseProblems, silentKubelets } from "../../../check/cluster/machines.ts";
import { metricsCheck } from "../../../check/cluster/metrics.ts";
import { verify } from "../../../check/cluster/verify.ts";
import { type Answer, eachFault, faults, serving } from "../../gates/serving.ts";
import { node } from "./network.ts";

const now = 1_800_000_000;
const well = { wanted: 2, ready: 2, old: 0 };
const page = (pool: object, more: object = {}) =>
  JSON.stringify({ at: now, pools: { other: well, win: { ...well, ...pool } }, ...more });

describe("verify, of what should be", () => {
  it("passes a page on which all is well, and fails any less", () => {
    const wanted = { members: 3, pools: ["win"] };
    assert.deepEqual(machineProblems(page({ roll: { state: "Successful" }, joining: ["i-1"] }), 3, wanted, now), []);
    assert.deepEqual(
      machineProblems(page({}, { pools: { "c-b-win": well } }), 3, { ...wanted, pools: ["win", "b-win"] }, now),
      ["the page names no pool b-win"],
    );
    for (const [text, members, problem] of [
      [page({}), 1, /^1 control-plane Nodes, wanted 3/],
      [page({ ready: 0 }), 3, /^win: 0 of 2 Ready$/],
      [page({ wanted: "2" }), 3, /not one of its own: pools\.win\.wanted: /],
      [page({ sick: ["i-1"] }), 3, /to be replaced: i-1/],
      [page({ frozen: "half are not well" }), 3, /nothing is replaced: half/],
      [page({}, { duties: { nodes: "403" } }), 3, /^the node controller does not get its nodes done: 403$/],
      [page({}, { requests: { skipped: 1 } }), 3, /^1 requests for certificates are too long/],
      [page({}, { at: now - 181 }), 3, /^nobody has written since/],
      [page({ roll: { state: "Failed", why: "no capacity" } }), 3, /roll: Failed: no capacity/],
      [page({}, { halt: "9 of 12" }), 3, /^nothing is replaced or removed/],
      [page({}, { cloud: { problems: ["page 2"] } }), 3, /list is not whole: page 2/],
      [page({}, { requests: { waiting: 9 } }), 3, /^9 certificate requests wait/],
      [page({}, { pools: undefined }), 3, /names no pool/],
      [page({}, { at: now + 3600 }), 3, /of the future/],
      ["", 3, /has said nothing yet/],
    ] as const)
      assert.match(machineProblems(text, members, wanted, now)[0] ?? "none", problem);
  });
});

describe("verify, of what differs", () => {
  it("knows silent kubelets by their leases", () => {
    const lease = (name: string, age: number) => ({
      metadata: { name, managedFields: [{ time: new Date((now - age) * 1000) }] },
    });
    assert.deepEqual(
      silentKubelets(
        ["a", "b", "c"].map((name) => node(name)),
        [lease("a", 10), lease("b", 121)],
        new Date(now * 1000),
      ),
      ["Ready, but their leases have not been renewed for 2 minutes: b, c"],
    );
  });

  it("refuses releases that do not go together", () => {
    const told = (...versions: string[]) =>
      releaseProblems(versions.map((kubelet, index) => node(`n${index}`, { kubelet, controlPlane: index < 2 }))).join();
    for (const worker of ["v1.36.9", "v1.33.0"]) assert.equal(told("v1.36.4", "v1.36.4", worker), "");
    for (const worker of ["v1.37.0", "v1.32.9", ""])
      assert.match(told("v1.36.4", "v1.36.4", worker), /^node n2: its kubelet is (v1|of no release)/);
    assert.match(told("v1.36.4", "v1.36.3", "v1.30.0"), /^its machines are of v1.36.3 and v1.36.4: an update has not/);
  });

  it("names each node whose clock is off from the API server's, either way, and none that is silent", () => {
    const lease = (name: string, seconds: number | undefined) => ({
      metadata: { name, managedFields: [{ manager: "kubelet", time: new Date(now * 1000) }] },
      spec: seconds === undefined ? {} : { renewTime: new V1MicroTime((now + seconds) * 1000) },
    });
    const leases = [lease("a", 30), lease("b", -30), lease("c", 31), lease("d", -3600), lease("e", undefined)];
    assert.deepEqual(clockProblems([...leases, { metadata: { name: "f" }, spec: leases[3]?.spec ?? {} }]), [
      "node c: its clock is 31 s ahead of the API server's",
      "node d: its clock is 3600 s behind the API server's",
    ]);
  });

  it("says that kubeadm's add-ons stayed behind, once all of the control plane has one release", () => {
    assert.deepEqual(addOnProblems(["v1.36.4", "v1.36.4"], "r/kube-proxy:v1.36.4@sha256:0"), []);
    assert.deepEqual(addOnProblems(["v1.36.4", "v1.36.3"], "r/kube-proxy:v1.36.3"), []);
    assert.deepEqual(addOnProblems(["v1.36.4"], undefined), []);
    assert.match(
      addOnProblems(["v1.36.4"], "r/kube-proxy:v1.36.3")[0] ?? "",
      /:v1\.36\.3, .* v1\.36\.4: the stage addons/,
    );
  });
});

describe("calls of verify and status", () => {
  const configOf = (server: string, caCertificate: string) => {
    const config = new KubeConfig();
    config.loadFromClusterAndUser(
      { name: "c", server, caData: Buffer.from(caCertificate).toString("base64"), skipTLSVerify: false },
      { name: "u" },
    );
    return config;
  };
  const ask = async (answer: Answer, action: (api: ClusterApi) => Promise<void>, limitMs?: () => number) =>
    await serving(
      () => answer,
      async ({ server, caCertificate }) => {
        await action(clusterApi(configOf(server, caCertificate), server, limitMs));
      },
    );
  const said = (body: object | string, status = 200): Answer => ({
    status,
    body: typeof body === "string" ? body : JSON.stringify(body),
    say: (response, text) => void response.writeHead(status, { "content-type": "application/json" }).end(text),
  });

  it("end in time, and name what answered nothing or something else", async () => {
    const nodes = ({ core }: ClusterApi) => core.listNode();
    const list = said({ kind: "NodeList", metadata: {}, items: [] });
    await eachFault([list], Object.entries(faults), async (was, [fault, make]) => {
      const given = make(was);
      const isWrong = given.body !== was.body || given.status !== was.status || given.say !== was.say;
      // Every client of the web leaves the mark out.
      if (isWrong && fault !== "byte order mark")
        await ask(
          given,
          (api) => assert.rejects(nodes(api), /^(Error|Refused): (GET \/api\/v1\/nodes: |HTTP-Code: 4)/),
          () => 200,
        );
    });
    for (const [answer, why] of [
      [{ ...list, say: () => undefined }, /^Error: GET \/api\/v1\/nodes: no whole answer within 0.2 s$/],
      [said({ kind: "NodeList" }), /no list of nodes/],
      [said({ kind: "PodList", items: [] }), /no list/],
      [said({ kind: "NodeList", metadata: { continue: "x" }, items: [] }), /not whole/],
      [said({ message: "etcd is away" }, 500), /^Error: GET \/api\/v1\/nodes: etcd is away$/],
      [said("", 401), /^Refused: GET \/api\/v1\/nodes: /],
    ] as const)
      await ask(answer, (api) => assert.rejects(nodes(api), why), why.source.includes("0.2") ? () => 200 : undefined);
    // A kubelet answers logs and what is asked of a node through the API server, as long as it likes.
    const endless = (response: ServerResponse) => {
      const more = () => void (response.write("x".repeat(2 ** 22)) ? setImmediate(more) : response.once("drain", more));
      more();
    };
    await ask(
      { ...list, say: endless },
      (api) =>
        assert.rejects(api.core.readNamespacedPodLog({ namespace: "a", name: "b" }), /: more than 67108864 bytes$/),
      () => 50_000,
    );
    const read = ({ core }: ClusterApi) => ifFound(core.readNamespacedConfigMap({ name: "a", namespace: "b" }));
    await ask(said({ kind: "Status" }, 404), async (api) => assert.equal(await read(api), undefined));
    for (const other of [{ kind: "Status" }, { kind: "ConfigMap", metadata: { name: "x" } }])
      await ask(said(other), (api) => assert.rejects(read(api), /the answer is none of configmaps a$/));
    const well = said({ kind: "ConfigMap", metadata: { name: "a" }, data: { x: "1" } });
    await ask(well, async (api) => assert.deepEqual((await read(api))?.data, { x: "1" }));
  });

  it("make no stack trace of a refusal, and say which it is", async () => {
    for (const [status, why] of [
      [403, /refuses this kubeconfig: namespaces is forbidden\nlook at: whose/],
      [500, /does not answer as it should: POST .* is forbidden\nlook at: whether/],
    ] as const)
      await ask(said({ kind: "Status", message: "namespaces is forbidden" }, status), async (api) => {
        const err: string[] = [];
        assert.equal(
          await verify(api, [], { limitMs: 1 }, { out: assert.fail, err: (words) => void err.push(words) }),
          false,
        );
        assert.match(err.join(""), why);
      });
  });

  it("take no metrics for measured that have no value", async () => {
    const lists = (usage: object) => ({ kind: "NodeMetricsList", items: [{ metadata: { name: "n" }, usage }] });
    const run = (usage: object) =>
      serving(
        (path) =>
          said(path.includes("metrics") ? lists(usage) : { kind: "NodeList", items: [{ metadata: { name: "n" } }] }),
        async ({ server, caCertificate }) =>
          await Reflect.apply(metricsCheck.run, undefined, [
            {
              api: clusterApi(configOf(server, caCertificate), server),
              signal: AbortSignal.timeout(300),
              note: () => {},
            },
          ]),
      );
    await run({ memory: "1Gi" });
    for (const usage of [{}, { memory: "0Ki" }]) await assert.rejects(run(usage), /none for n$/);
  });
});
