import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import type { Context } from "mocha";
import { breakages } from "../../rehearsal/negativeControls.ts";
import { findWine } from "../../rehearsal/programs/wine.ts";
import { skipIf } from "../support/skip.ts";
import { broken, failures } from "./broken.ts";

/** Skips a test that needs programs of Windows where the host lacks Wine or the compiler of its shims; in CI that is a failure. */
async function needWine(test: Context): Promise<void> {
  const found = await findWine();
  skipIf(test, typeof found === "string" ? found : undefined);
}

describe("the rehearsal's checks can fail", function () {
  // The programs are built once when no earlier run has left them in the cache.
  this.timeout(45 * 60_000);

  it("sees a taint that is corrupted in the decoded user data", async () => {
    const { code, lines } = await broken("windows-taint", "pool ");
    assert.equal(code, 1);
    assert.deepEqual(
      failures(lines).map(([id]) => id),
      ["pool win2019: registration", "pool win2022: registration"],
    );
    for (const [, reason] of failures(lines)) {
      assert.match(
        reason,
        /^taint os of i-[0-9a-f]{17}: found \[{"effect":"NoSchedule","key":"os","value":"Windows"}\], wanted \[{"effect":"NoSchedule","key":"os","value":"windows"}\]$/,
      );
    }
    const followers = lines.filter((line) => /skip .*\[pool win\d+: ready\]/.test(line));
    assert.equal(followers.length, 2);
    // The third is the slow check of a pool's gate.
    assert.equal(lines.at(-1), "2 passed, 2 failed, 3 skipped");
  });

  it("sees that the API server refuses what kubelets register, and quotes it", async () => {
    const { code, lines } = await broken("duplicate-taint", "nodes register");
    assert.equal(code, 1);
    const [[id, reason] = ["", ""], ...more] = failures(lines);
    assert.deepEqual([id, more], ["nodes register", []]);
    assert.match(
      reason,
      /^aws-dev-control-plane-0-instance: Node "i-[0-9a-f]{17}" is invalid: metadata\.taints\[\d\]: Duplicate value: {"key":"node\.cloudprovider\.kubernetes\.io\/uninitialized",.*}: taints must be unique by key and effect pair$/i,
    );
    assert.equal(lines.at(-1), "0 passed, 1 failed");
  });

  it("sees that the API server refuses what kubelet.exe registers, and quotes it", async function () {
    await needWine(this);
    const { code, lines } = await broken("windows-duplicate-taint", "nodes register");
    assert.equal(code, 1);
    const [[id, reason] = ["", ""], ...more] = failures(lines);
    assert.deepEqual([id, more], ["nodes register", []]);
    assert.match(
      reason,
      /^aws-dev-pool-win20\d\d-group\[[01]\].*: Node "i-[0-9a-f]{17}" is invalid: metadata\.taints\[2\]: Duplicate value: .*uninitialized/,
    );
  });

  it("sees what each program that a Windows machine's scripts start does not take", async function () {
    await needWine(this);
    const { code, lines } = await broken(
      ["windows-reservations", "windows-cni-version", "windows-proxy-flag", "windows-drain-columns"],
      "windows: ",
    );
    assert.equal(code, 1);
    const wanted: readonly (readonly [string, RegExp])[] = [
      ["windows: host-local.exe", /flannel\.4096s.*No such file/],
      ["windows: CNI plug-in", /cannot unmarshal string into Go struct field NetConf\.NetConf\.apiVersion of type int/],
      ["windows: kube-proxy.exe", /unknown flag: --source-vips/],
      ["windows: kubectl.exe", /^namespace, name and owners of the node's pods.*"<none>"/],
    ];
    // They run beside each other.
    const reasons = new Map(failures(lines).map(([id, reason]) => [id, reason]));
    assert.deepEqual([...reasons.keys()].toSorted(), wanted.map(([id]) => id).toSorted());
    for (const [id, reason] of wanted) assert.match(reasons.get(id) ?? "", reason);
  });

  it("sees a label that no kubelet may give its node", async () => {
    const { code, lines } = await broken("refused-label", "nodes register");
    assert.equal(code, 1);
    const [[id, reason] = ["", ""], ...more] = failures(lines);
    assert.deepEqual([id, more], ["nodes register", []]);
    assert.match(
      reason,
      /^aws-dev-pool-linux-group-[01](?: \(and 1 more\))?: .*unknown 'kubernetes\.io' or 'k8s\.io' labels specified with --node-labels: \[node-restriction\.kubernetes\.io\/team\]/,
    );
  });

  it("sees that workers trust another authority, and marks what only follows", async () => {
    const { code, lines } = await broken("wrong-ca", "n");
    assert.equal(code, 1);
    const [[id, reason] = ["", ""], ...more] = failures(lines);
    assert.deepEqual([id, more], ["nodes register", []]);
    assert.match(reason, /^aws-dev-pool-linux-group-[01](?: \(and 1 more\))?: .*certificate signed by unknown authority/);
    assert.equal(lines.filter((line) => line.includes("follows from nodes register")).length, 3);
    assert.equal(lines.at(-1), "0 passed, 1 failed, 3 skipped");
  });

  it("sees what each of several faults breaks in one cluster, and nothing else", async () => {
    const { code, lines } = await broken(["launch-hook", "approver-without-domain", "probe-port", "approves-every-name"], "");
    assert.equal(code, 1);
    const wanted: readonly (readonly [string, RegExp])[] = [
      ["launch hooks", /^workers of which their group learns nothing: found \["i-[0-9a-f]{17}","i-[0-9a-f]{17}"\]/],
      ["serving certificates", /^denied: system:node:(i-[0-9a-f]{17}): \1\.eu-central-1\.compute\.internal does not fit /],
      ["static pods", /^kube-scheduler-i-[0-9a-f]{17} is not ready: \w+ probe failed: .*:10259: connect: connection refused$/],
      ["names of nodes", /^system:node:i-[0-9a-f]{17} was approved$/],
    ];
    const reasons = new Map(failures(lines));
    assert.deepEqual([...reasons.keys()].toSorted(), wanted.map(([id]) => id).toSorted());
    for (const [id, reason] of wanted) assert.match(reasons.get(id) ?? "", reason);
  });

  for (const [name, reason] of [
    ["pod-addresses-kept", /^no pod has a network of its own$/],
    ["pod-addresses-elsewhere", /^pods with other addresses: found \["coredns-\S+ on \S+ has [\d.]+"/],
  ] as const) {
    it(`sees that pods do not have the addresses of their machine's interface: ${name}`, async () => {
      const { code, lines } = await broken(name, "pod addresses", "azure-cni");
      assert.equal(code, 1);
      const [[id, found] = ["", ""], ...more] = failures(lines);
      assert.deepEqual([id, more], ["pod addresses", []]);
      assert.match(found, reason);
    });
  }

  it("sees that machines do not trust the mirror's authority", async () => {
    const { code, lines } = await broken("mirror-distrusted", "control plane", "aws-existing");
    assert.equal(code, 1);
    const [[id, reason] = ["", ""], ...more] = failures(lines);
    assert.deepEqual([id, more], ["control plane", []]);
    assert.equal(reason, "a machine does not trust the mirror https://mirror.corp.test/files");
  });

  it("sees that the mirror lacks a file that a machine wants", async () => {
    const { code, lines } = await broken("mirror-without-crictl", "control plane", "aws-restricted");
    assert.equal(code, 1);
    const [[id, reason] = ["", ""], ...more] = failures(lines);
    assert.deepEqual([id, more], ["control plane", []]);
    assert.match(
      reason,
      /^a machine wants https:\/\/mirror\.example\.com\/files\/github\.com\/\S+crictl-v\S+-linux-amd64\.tar\.gz of the mirror, which holds only what `fenestra mirror --list` names$/,
    );
  });

  it("sees that machines use the proxy without the login that it wants", async () => {
    const { code, lines } = await broken("proxy-without-login", "control plane", "aws-existing");
    assert.equal(code, 1);
    const [[id, reason] = ["", ""], ...more] = failures(lines);
    assert.deepEqual([id, more], ["control plane", []]);
    assert.match(reason, /^100\.64\.0\.10 asks the proxy for mirror\.corp\.test:443 without its login$/);
  });

  it("sees that machines ask the mirror without the login that it wants", async () => {
    const { code, lines } = await broken("mirror-without-login", "control plane", "aws-existing");
    assert.equal(code, 1);
    const [[id, reason] = ["", ""], ...more] = failures(lines);
    assert.deepEqual([id, more], ["control plane", []]);
    assert.match(reason, /^[\d.]+ asks the mirror for https:\/\/mirror\.corp\.test\/files\/\S+ without its login$/);
  });

  it("sees that a machine with a mirror asks another host", async () => {
    const { code, lines } = await broken("stray-request", "mirror: nothing else", "aws-restricted");
    assert.equal(code, 1);
    const [[id, reason] = ["", ""], ...more] = failures(lines);
    assert.deepEqual([id, more], ["mirror: nothing else", []]);
    assert.match(reason, /: found \["stray\.example\.org by 10\.30\.\d+\.\d+"(,"stray\.example\.org by [\d.]+"){2}\], wanted \[\]$/);
  });

  it("refuses to leave a file out of a mirror that the stack does not have", async () => {
    const { code, lines } = await broken("mirror-without-crictl", "mirror");
    assert.equal(code, 1);
    assert.equal(
      lines.at(-2),
      "The rehearsal broke off: aws-dev has no fenestra:mirror.artifacts, so nothing can be left out of its mirror",
    );
  });

  it("has a test of each", () => {
    const folder = new URL("./", import.meta.url);
    const tests = readdirSync(folder).map((name) => readFileSync(new URL(name, folder), "utf8"));
    const untested = Object.keys(breakages).filter((name) => !tests.some((text) => text.includes(`"${name}"`)));
    assert.deepEqual(untested, []);
  });
});
