import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import path from "node:path";
import { messageOf } from "../../../components/gates/poll.ts";
import { fenestra } from "../../support/fenestra.ts";
import { suiteFolder } from "../../support/temporary.ts";

async function run(...args: readonly string[]): Promise<{ readonly code: number; readonly said: string }> {
  const { code, out, err } = await fenestra(...args);
  return { code, said: out + err };
}

const needed =
  "fenestra: a running cluster needs --kubeconfig FILE, KUBECONFIG or a file kubeconfig in this folder: pulumi stack output kubeconfig --show-secrets > kubeconfig\n";

describe("fenestra verify, status, up and down", () => {
  const folder = suiteFolder();
  for (const [args, said] of [
    [["verify"], needed],
    [
      ["verify", "--kubeconfig", "k", "--timeout", "0"],
      "fenestra: --timeout 0 is not a time limit; allowed: whole seconds from 1 to 999999\n",
    ],
    [
      ["verify", "--kubeconfig", "k", "--outbound", "example.org"],
      "fenestra: --outbound example.org is no address; allowed: an http or https URL, or none\n",
    ],
    ...[
      ["--load-balancer", "public"],
      ["--source", "203.0.113.7/32"],
      ["--load-balancer", "public", "--source", "everybody"],
    ].map(
      (args) =>
        [
          ["verify", "--kubeconfig", "k", ...args],
          `fenestra: --source ${args.includes("--source") ? args.at(-1) : ""} does not fit; allowed: networks as 203.0.113.7/32, with --load-balancer public, which needs them\n`,
        ] as const,
    ),
    [["status"], needed],
    [["up"], "fenestra: up needs an answer before it updates; allowed: a terminal, or --yes\n"],
    [["down"], "fenestra: down needs an answer before it destroys; allowed: a terminal, or --yes\n"],
  ] as const)
    it(`refuse ${args.join(" ")}`, async () => assert.deepEqual(await run(...args), { code: 2, said }));

  it("tell of a kubeconfig that is missing or names no cluster", async () => {
    const missing = await run("verify", "--kubeconfig", "no/such/file");
    assert.equal(missing.code, 2);
    assert.match(
      missing.said,
      /^fenestra: --kubeconfig no\/such\/file cannot be read: ENOENT.*; allowed: a kubeconfig/,
    );
  });

  it("end with 1 when the API server is silent, without a namespace or the kubeconfig's content", async () => {
    const file = path.join(folder, "kubeconfig");
    const config = {
      apiVersion: "v1",
      kind: "Config",
      // Nothing listens there, and fetch allows the port.
      clusters: [{ name: "c", cluster: { server: "https://127.0.0.1:47" } }],
      users: [{ name: "u", user: { token: "hunter2" } }],
      contexts: [{ name: "x", context: { cluster: "c", user: "u" } }],
      "current-context": "x",
    };
    writeFileSync(file, JSON.stringify(config));
    for (const args of [["verify"], ["status"]]) {
      const { code, said } = await run(...args, "--kubeconfig", file);
      assert.equal(code, 1);
      assert.match(
        said,
        /^fenestra: the API server https:\/\/127\.0\.0\.1:47 does not answer as it should: .*ECONNREFUSED/,
      );
      assert.doesNotMatch(said, /namespace|hunter2/);
      assert.equal(said.includes("look at: whether this machine may reach it"), args[0] !== "status");
    }
  });
});

describe("what is told of an API that does not answer", () => {
  it("says why, in one line", () => {
    const cause = new Error("connect ECONNREFUSED 127.0.0.1:6443");
    assert.equal(
      messageOf(new TypeError("fetch failed", { cause })),
      "fetch failed: connect ECONNREFUSED 127.0.0.1:6443",
    );
    assert.equal(messageOf({ body: '{"message":"forbidden"}' }), "forbidden");
  });
});
