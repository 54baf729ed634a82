import assert from "node:assert/strict";
import { mock } from "node:test";
import { byReason, Refusals } from "../../rehearsal/cluster/cluster.ts";
import { endOf, refusal, stuckStage } from "../../rehearsal/machines/logs.ts";

const done = 'I1122 01:59:52.226967 2291 kubelet_node_status.go:78] "Successfully registered node" node="i-1"';
const tooEarly =
  'E1122 01:59:51.2 2291 kubelet_node_status.go:107] "Unable to register node with API server" err="Unauthorized"';
const notSigned =
  'E1122 02:00:01.1 2291 certificate_manager.go:596] "Failed while requesting a signed certificate from the control plane" err="cannot create certificate signing request: Post \\"https://api:6443\\": tls: failed to verify certificate: x509: certificate signed by unknown authority" logger="UnhandledError"';

const denied = (purpose: string): string =>
  `E1122 13:55:07.5 8778 certificate_manager.go:613] "Certificate request was not signed" err="cannot watch on the certificate signing request: certificate signing request is denied, reason: FenestraDenied, message: too late" logger="kubernetes.io/${purpose}.UnhandledError"`;

describe("why a kubelet has no node", () => {
  it("is the last thing that its log says on the way to one", () => {
    assert.equal(
      refusal(`${tooEarly}\n${notSigned}\nI1122 02:00:02.1 2291 other.go:1] "Something else" err="forbidden"`),
      'cannot create certificate signing request: Post "https://api:6443": tls: failed to verify certificate: x509: certificate signed by unknown authority',
    );
    assert.match(
      refusal(`${denied("kube-apiserver-client-kubelet")}\n${tooEarly}`) ?? "",
      /is denied, reason: FenestraDenied, message: too late$/,
    );
    assert.equal(refusal(denied("kubelet-serving")), undefined);
    assert.equal(refusal(`${denied("kube-apiserver-client-kubelet")}\n${done}`), undefined);
    assert.equal(
      refusal('E1122 02:00:01.1 1 run.go:72] "command failed" err=<\n\tfailed: unknown "a"\n\tallowed is b\n >\n'),
      'failed: unknown "a" allowed is b',
    );
  });

  it("is nothing once it goes on, nor while an API server is away", () => {
    assert.equal(refusal(`${notSigned}\n${done}`), undefined);
    assert.equal(refusal(tooEarly), undefined);
    assert.equal(
      refusal('"Unable to register node with API server" err="dial tcp 10.0.0.1:6443: connect: connection refused"'),
      undefined,
    );
    assert.equal(refusal(""), undefined);
  });

  it("is one line for all machines of one reason", () => {
    assert.deepEqual(byReason(["a: x", "b: y: z", "c: x", "d: x"]), ["a (and 2 more): x", "b: y: z"]);
  });

  it("lasts when a machine was refused all the time, in whatever words", async () => {
    mock.timers.enable({ apis: ["Date"] });
    try {
      const words = [["a: no CSR", "b: no"], ["a: no Node"], ["a: no CSR", "b: no"], ["a: no Node", "b: no"]];
      const refusals = new Refusals(async () => words.shift() ?? []);
      const lasting: (readonly string[])[] = [];
      for (const _ of [...words]) {
        lasting.push(await refusals.lasting());
        mock.timers.tick(8_000);
      }
      assert.deepEqual(lasting, [[], [], ["a: no CSR"], ["a: no Node"]]);
    } finally {
      mock.timers.reset();
    }
  });
});

describe("a bootstrap that gets no further", () => {
  const failed = (stage: string, seconds: number): string =>
    `2026-11-22T02:00:00Z error: no ${stage}\n2026-11-22T02:00:00Z bootstrap ${stage}: failed after ${seconds} s with status 1; exit code 12\n`;
  const done = (stage: string): string => `2026-11-22T02:00:00Z bootstrap ${stage}: done after 1 s\n`;

  it("is one whose stage has failed three times in a row, without waiting", () => {
    const run = `${done("os")}${failed("artifacts", 31)}`;
    assert.equal(
      stuckStage(run.repeat(3)),
      "stage artifacts fails each time: 2026-11-22T02:00:00Z error: no artifacts",
    );
    const unresolved = "curl: (6) Could not resolve host: mirror.corp.example";
    assert.equal(
      stuckStage(`${run}${done("os")}  % Total\n${unresolved}\n${unresolved}\n${failed("artifacts", 31)}`.repeat(3)),
      `stage artifacts fails each time: ${unresolved}; at last: 2026-11-22T02:00:00Z error: no artifacts`,
    );
    const waiting = failed("addons", 120).repeat(4);
    for (const log of [
      "",
      run.repeat(2),
      waiting,
      `${run.repeat(3)}${done("artifacts")}`,
      `${run.repeat(2)}${waiting}`,
    ])
      assert.equal(stuckStage(log), undefined, log);
  });
});

describe("why a program of the control plane has ended", () => {
  // Each as the real program says it, in the kubelet's format.
  const log = (...lines: readonly string[]): string =>
    lines.map((line) => `2026-11-29T06:51:23.47Z stderr F ${line}\n`).join("");

  it("is what it says last of a flag or a file that it does not take", () => {
    for (const [line, reason] of [
      ["Error: unknown flag: --max-requests-inflght", "Error: unknown flag: --max-requests-inflght"],
      [
        'E1129 06:51:23.7 1 run.go:72] "command failed" err="loading audit policy file: \\"a\\" is no stage"',
        'loading audit policy file: "a" is no stage',
      ],
      ["flag provided but not defined: -nope", "flag provided but not defined: -nope"],
      [
        'invalid value "x" for flag -snapshot-count: parse error',
        'invalid value "x" for flag -snapshot-count: parse error',
      ],
      [
        '{"level":"fatal","ts":"2026","msg":"discovery failed","error":"time: invalid duration \\"x\\"","stacktrace":"a"}',
        'time: invalid duration "x"',
      ],
    ] as const)
      assert.equal(endOf(log("I1129 a.go:1] begins", line, "Usage:")), reason);
  });

  it("is nothing of one that runs, whatever it complains of", () => {
    assert.equal(endOf(""), undefined);
    assert.equal(
      endOf(log('E1129 06:51:23.7 1 a.go:1] "Error syncing" err="forbidden"', '{"level":"warn","error":"no leader"}')),
      undefined,
    );
  });
});
