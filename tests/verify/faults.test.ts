import assert from "node:assert/strict";
import { KubeConfig } from "@kubernetes/client-node";
import { clusterApi } from "../../verify/api.ts";
import { asked, askedList, askedObject } from "../../verify/asked.ts";
import { machineProblems } from "../../verify/checks/machines.ts";
import { type Answer, serving } from "../gates/serving.ts";

const now = 1_800_000_000;
const well = { wanted: 2, ready: 2, old: 0 };
const page = (pool: object, more: object = {}) =>
  JSON.stringify({ at: now, pools: { other: well, win: { ...well, ...pool } }, ...more });

describe("verify, of what should be", () => {
  it("passes a page on which all is well, and fails each that shows less", () => {
    assert.deepEqual(machineProblems(page({ roll: { state: "Successful" }, joining: ["i-1"] }), 3, now), []);
    for (const [text, members, problem] of [
      [page({}), 2, /^2 control-plane Nodes, wanted 1, 3 or 5/],
      [page({ ready: 0 }), 3, /^win: 0 of 2 Ready$/],
      [page({ wanted: "2" }), 3, /^win: /],
      [page({ sick: ["i-1"] }), 3, /to be replaced: i-1/],
      [page({ frozen: "half are not well" }), 3, /nothing is replaced: half/],
      [page({ roll: { state: "Failed", why: "no capacity" } }), 3, /roll: Failed: no capacity/],
      [page({}, { halt: "9 of 12" }), 3, /^nothing is replaced or removed/],
      [page({}, { cloud: { problems: ["page 2"] } }), 3, /list is not whole: page 2/],
      [page({}, { requests: { waiting: 9 } }), 3, /^9 certificate requests wait/],
      [page({}, { pools: [] }), 3, /names no pools/],
      [page({}, { at: now + 3600 }), 3, /of the future/],
      ["", 3, /has said nothing yet/],
    ] as const)
      assert.match(machineProblems(text, members, now)[0] ?? "none", problem);
  });
});

describe("calls of verify and status", () => {
  /** Asks an API with this answer. */
  const ask = async (answer: Answer, action: (api: ReturnType<typeof clusterApi>) => Promise<void>) =>
    await serving(
      () => answer,
      async ({ server, caCertificate }) => {
        const config = new KubeConfig();
        config.loadFromClusterAndUser(
          { name: "c", server, caData: Buffer.from(caCertificate).toString("base64"), skipTLSVerify: false },
          { name: "u" },
        );
        await action(clusterApi(config, server));
      },
    );
  const said = (body: object | string, status = 200): Answer => ({
    status,
    body: typeof body === "string" ? body : JSON.stringify(body),
    say: (response, text) => void response.writeHead(status, { "content-type": "application/json" }).end(text),
  });

  it("end in time, and name what did not answer or answered something else", async () => {
    const silent: Answer = { status: 200, body: "", say: () => undefined };
    const half: Answer = { status: 200, body: "", say: (response) => void response.writeHead(200).write("{") };
    for (const answer of [silent, half])
      await ask(answer, ({ core }) =>
        assert.rejects(
          asked("the Nodes", 200, (call) => core.listNode({}, call)),
          /^Error: the Nodes: no whole answer within 0.2 s$/,
        ),
      );
    for (const [answer, why] of [
      [said({}), /no list/],
      [said({ kind: "NodeList" }), /no list/],
      [said({ kind: "NodeList", metadata: { continue: "x" }, items: [] }), /not whole/],
      [said({ message: "forbidden" }, 403), /the Nodes: forbidden/],
      [said("", 401), /^Error: the Nodes: /],
      [said("<html>", 200), /^Error: the Nodes: /],
    ] as const)
      await ask(answer, ({ core }) =>
        assert.rejects(
          askedList("the Nodes", (call) => core.listNode({}, call)),
          why,
        ),
      );
    const read = ({ core }: ReturnType<typeof clusterApi>) =>
      askedObject("the page", "ConfigMap", (call) => core.readNamespacedConfigMap({ name: "a", namespace: "b" }, call));
    await ask(said({ kind: "Status" }, 404), async (api) => assert.equal(await read(api), undefined));
    await ask(said({ kind: "Status" }), (api) => assert.rejects(read(api), /the page: the answer is no ConfigMap/));
  });
});
