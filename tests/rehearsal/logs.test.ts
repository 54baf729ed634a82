import assert from "node:assert/strict";
import { endOf, refusal, stuckStage } from "../../rehearsal/machines/logs.ts";

it("why a kubelet has no node is the last thing that its log says on the way to one", () => {
  const done = 'I1122 01:59:52.226967 2291 kubelet_node_status.go:78] "Successfully registered node" node="i-1"\n';
  const notSigned =
    'E1122 02:00:01.1 2291 certificate_manager.go:596] "Failed while requesting a signed certificate from the control plane" err="cannot create certificate signing request: Post \\"https://api:6443\\": tls: failed to verify certificate: x509: certificate signed by unknown authority" logger="UnhandledError"\n';
  const denied = (purpose: string) =>
    `E1122 13:55:07.5 8778 certificate_manager.go:613] "Certificate request was not signed" err="cannot watch on the certificate signing request: certificate signing request is denied, reason: FenestraDenied, message: too late" logger="kubernetes.io/${purpose}.UnhandledError"\n`;
  const away =
    '"Unable to register node with API server" err="dial tcp 10.0.0.1:6443: connect: connection refused" x="forbidden"';
  for (const [log, said] of [
    [notSigned, /^cannot create certificate signing request: Post "https:\/\/api:6443": .* unknown authority$/],
    [denied("kube-apiserver-client-kubelet"), /is denied, reason: FenestraDenied, message: too late$/],
    [
      'run.go:72] "command failed" err=<\n\tfailed: unknown "a"\n\tallowed is b\n >\n',
      /^failed: unknown "a" allowed is b$/,
    ],
    [denied("kubelet-serving"), /^undefined$/],
    [notSigned + done, /^undefined$/],
    [away, /^undefined$/],
  ] as const)
    assert.match(String(refusal(log)), said);
});

it("a bootstrap gets no further whose stage has failed three times in a row, without waiting", () => {
  const unresolved = "curl: (6) Could not resolve host: mirror.corp.example";
  const failed = (stage: string, seconds: number) =>
    `${unresolved}\n2026-11-22T02:00:00Z error: no ${stage}\n2026-11-22T02:00:00Z bootstrap ${stage}: failed after ${seconds} s with status 1; exit code 12\n`;
  const done = (stage: string) => `2026-11-22T02:00:00Z bootstrap ${stage}: done after 1 s\n`;
  const run = `${done("os")}${failed("artifacts", 31)}`;
  assert.equal(
    stuckStage(run.repeat(3)),
    `stage artifacts fails each time: ${unresolved}; at last: 2026-11-22T02:00:00Z error: no artifacts`,
  );
  for (const log of [run.repeat(2), failed("addons", 120).repeat(4), `${run.repeat(3)}${done("artifacts")}`])
    assert.equal(stuckStage(log), undefined, log);
});

it("why a program of the control plane has ended is what it says last of what it does not take", () => {
  // Each as the real program says it, in the kubelet's format.
  for (const [line, reason] of [
    ["Error: unknown flag: --max-requests-inflght", "Error: unknown flag: --max-requests-inflght"],
    [
      'E1129 06:51:23.7 1 run.go:72] "command failed" err="loading audit policy file: \\"a\\" is no stage"',
      'loading audit policy file: "a" is no stage',
    ],
    ["flag provided but not defined: -nope", "flag provided but not defined: -nope"],
    ['{"level":"fatal","ts":"2026","msg":"discovery failed","error":"time: invalid"}', "time: invalid"],
    ['E1129 06:51:23.7 1 a.go:1] "Error syncing" err="forbidden"', undefined],
  ] as const)
    assert.equal(endOf(`2026-11-29T06:51:23.47Z stderr F ${line}\n`), reason);
});
