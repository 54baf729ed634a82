import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { writeFileSync } from "node:fs";
import { createServer } from "node:http";
import path from "node:path";
import type { Duplex } from "node:stream";
import { KubeConfig } from "@kubernetes/client-node";
import { executor, exitCode, reaches, staysSilent } from "../../../check/cluster/probe.ts";
import { serviceNames, unknownNameProblem } from "../../../check/cluster/services.ts";
import { metadataQuestions } from "../../../check/facts.ts";
import { fenestra, listening, suiteFolder } from "../../support/suite.ts";
import { ended, fakeStart } from "./network.ts";

const url = "http://10.244.1.5:8080/hostname";
const judge = (answer: string) => (answer === "windows-2022-a0" ? undefined : `the answer was ${answer}`);
const quick = { signal: new AbortController().signal, judge, warmUpMs: 0, pauseMs: 0 };

describe("probes of verify", () => {
  it("pass only after five right answers in a row", async () => {
    const right = ended(0, "windows-2022-a0\r\n");
    const start = fakeStart([right, right, ended(28, "", "timed out"), right]);
    await reaches(start, url, { ...quick, warmUpMs: 5_000 });
    assert.equal(start.commands.length, 8);
    assert.equal(start.commands[0], `curl -sS --connect-timeout 5 -m 10 ${url}`);
  });

  it("fail with what curl, somebody else, or the cluster says, and end with the signal", async () => {
    for (const [result, message] of [
      [ended(28, "", "curl: (28) timed out\n"), "curl ended with 28: curl: (28) timed out"],
      [ended(0, "linux-b0"), "the answer was linux-b0"],
      [new Error("exec: no such pod"), "exec: no such pod"],
    ] as const)
      await assert.rejects(reaches(fakeStart([result]), url, { ...quick, lookAt: "routes" }), {
        message: `pod linux-a0 does not reach ${url}: ${message}`,
        lookAt: "routes",
      });
    const signal = AbortSignal.abort();
    await assert.rejects(reaches(fakeStart([ended(7)]), url, { ...quick, signal }), /no attempt was made/);
  });

  it("take four exit codes of curl for silence, but no answer, wrong command or missing curl", async () => {
    for (const code of [7, 28, 52, 56]) await staysSilent(fakeStart([ended(code)]), url);
    await assert.rejects(staysSilent(fakeStart([ended(0, "token")]), url), /got an answer from .*: token/);
    await assert.rejects(staysSilent(fakeStart([ended(127, "", "not found")]), url), /could not ask .* 127: not found/);
    await assert.rejects(staysSilent(fakeStart([new Error("no kubelet")]), url), /cannot run curl: no kubelet/);
  });

  it("ask the metadata service as an attacker would, by cloud", () => {
    const urls = (cloud: "aws" | "azure", os: "linux" | "windows") =>
      metadataQuestions[cloud](os).map(([target]) => target);
    assert.deepEqual(urls("aws", "windows"), ["http://169.254.169.254/latest/api/token"]);
    assert.deepEqual(urls("azure", "linux"), ["http://169.254.169.254/metadata/instance?api-version=2021-02-01"]);
    assert.deepEqual(urls("azure", "windows").slice(1), [
      "http://168.63.129.16/?comp=versions",
      "http://168.63.129.16:32526/status",
    ]);
  });
});

describe("names that verify asks for", () => {
  it("leave out on Windows what its DNS suffix cannot complete", () => {
    assert.deepEqual(serviceNames("linux", "to-x", "ns"), ["to-x", "to-x.ns", "to-x.ns.svc.cluster.local"]);
    assert.deepEqual(serviceNames("windows", "to-x", "ns"), ["to-x", "to-x.ns.svc.cluster.local"]);
  });

  it("are asked again after a lost packet, and any answer for a missing one is a failure", () => {
    assert.equal(unknownNameProblem(6), undefined);
    assert.equal(unknownNameProblem(28)?.final, false);
    for (const code of [0, 7, 52, 56]) assert.equal(unknownNameProblem(code)?.final, true);
  });
});

it("exit codes of commands in pods are not made up", () => {
  for (const reason of ["InternalError", "NonZeroExitCode"])
    assert.throws(() => exitCode({ status: "Failed", reason }), new Error(reason));
  assert.throws(() => exitCode({ status: "Failed", reason: "InternalError", message: "no" }), new Error("no"));
});

/** Says in a WebSocket (RFC 6455, 1.3 and 5.2) what a channel of a pod has (k8s.io/kubelet, pkg/cri/streaming). */
function say(socket: Duplex, channel: number, text: string) {
  const length = Buffer.alloc(2);
  length.writeUInt16BE(text.length + 1);
  return socket.write(Buffer.concat([Buffer.from([0x82, 126]), length, Buffer.from([channel]), Buffer.from(text)]));
}

/** Runs a command in a pod whose kubelet answers so. */
async function executed(answer: (socket: Duplex) => void) {
  const server = createServer().on("upgrade", ({ headers }, socket) => {
    const key = `${headers["sec-websocket-key"]}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`;
    const accept = createHash("sha1").update(key).digest("base64");
    const lines = ["HTTP/1.1 101 Switching Protocols", "Upgrade: websocket", "Connection: Upgrade"];
    const protocol = "Sec-WebSocket-Protocol: v5.channel.k8s.io";
    socket.write([...lines, `Sec-WebSocket-Accept: ${accept}`, protocol, "", ""].join("\r\n"));
    answer(socket.on("error", () => undefined));
  });
  const config = new KubeConfig();
  config.loadFromClusterAndUser(
    { name: "c", server: `http://127.0.0.1:${await listening(server)}`, skipTLSVerify: true },
    { name: "u" },
  );
  try {
    return await executor(config, "ns")("linux-a0", ["hostname"]);
  } finally {
    server.close();
  }
}

describe("commands in pods", () => {
  it("say what the pod says, with its exit code", async () => {
    assert.deepEqual(
      await executed((socket) => {
        say(socket, 1, "out");
        say(socket, 2, "err");
        say(socket, 3, JSON.stringify({ status: "Success" }));
      }),
      { code: 0, stdout: "out", stderr: "err" },
    );
  });

  it("end where a kubelet says something without an end, and hang up", async () => {
    const closed = Promise.withResolvers<void>();
    const result = executed((socket) => {
      const timer = setInterval(() => say(socket, 1, "x".repeat(60_000)), 1);
      socket.once("close", () => {
        clearInterval(timer);
        closed.resolve();
      });
    });
    await assert.rejects(result, /^Error: exec in pod linux-a0: more than 1048576 bytes$/);
    await closed.promise;
  });
});

describe("fenestra verify, up and down", () => {
  const folder = suiteFolder();
  for (const [args, said] of [
    [
      ["verify"],
      "fenestra: a running cluster needs --kubeconfig FILE, KUBECONFIG or a file kubeconfig in this folder: pulumi stack output kubeconfig --show-secrets > kubeconfig\n",
    ],
    [
      ["verify", "--kubeconfig", "k", "--load-balancer", "public"],
      "fenestra: --source  does not fit; allowed: networks as 203.0.113.7/32, with --load-balancer public, which needs them\n",
    ],
    [["up"], "fenestra: up needs an answer before it updates; allowed: a terminal, or --yes\n"],
    [["down"], "fenestra: down needs an answer before it destroys; allowed: a terminal, or --yes\n"],
  ] as const)
    it(`refuse ${args.join(" ")}`, async () =>
      assert.deepEqual(await fenestra(...args), { code: 2, out: "", err: said, order: ["err"] }));

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
    const { code, out, err } = await fenestra("verify", "--kubeconfig", file);
    assert.equal(code, 1);
    assert.match(
      err,
      /^fenestra: the API server https:\/\/127\.0\.0\.1:47 does not answer as it should: .*ECONNREFUSED.*\nlook at: whether/,
    );
    assert.doesNotMatch(out + err, /namespace|hunter2/);
  });
});
