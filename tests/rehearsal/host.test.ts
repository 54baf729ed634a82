import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { loadConfig } from "../../components/config/load.ts";
import { readArtifactLock } from "../../components/model/artifacts.ts";
import { minorOf, minors, versions as pins, selectableVersions, versionFor } from "../../components/model/releases.ts";
import { RehearsalError } from "../../rehearsal/host/command.ts";
import { type HostFacts, hostProblem, instancesFor, instancesOf } from "../../rehearsal/host/hostCheck.ts";
import { download, pinnedMinors, readRuntimeModule, versionsIn } from "../../rehearsal/programs/catalog.ts";
import { stackConfig } from "../support/stacks.ts";
import { listening, suiteFolder } from "../support/suite.ts";

describe("host check", () => {
  const inotify = { wanted: 0, used: 0 };
  const fine: HostFacts = { platform: "linux", root: false, missingTools: [], attempt: "", settings: {}, inotify };
  const remedies = (facts: Partial<HostFacts>) =>
    hostProblem({ ...fine, ...facts })
      ?.message.split("\n  - ")
      .slice(1);
  const container = "in a container: docker run --privileged, or run on the host itself";

  it("is content when the attempt succeeded", () => assert.equal(hostProblem(fine), undefined));

  it("names another system and missing tools", () => {
    assert.match(
      hostProblem({ ...fine, platform: "darwin" })?.message ?? "",
      /^The rehearsal needs Linux .* this is darwin\./,
    );
    assert.equal(
      hostProblem({ ...fine, missingTools: ["ip", "setpriv"] })?.message.split("\n")[0],
      "Not found on PATH: ip, setpriv.",
    );
  });

  it("gives the remedy that fits the kernel's settings", () => {
    const attempt = "unshare: unshare failed: Operation not permitted";
    assert.match(
      hostProblem({ ...fine, attempt })?.message ?? "",
      /namespaces of a rehearsal: unshare: unshare failed/,
    );
    assert.deepEqual(remedies({ attempt, root: true }), [container]);
    assert.deepEqual(remedies({ attempt, settings: { "user/max_user_namespaces": "0" } }), [
      "allow user namespaces: sudo sysctl -w user.max_user_namespaces=15000 (found 0)",
      "run it as root",
      container,
    ]);
    assert.deepEqual(
      remedies({
        attempt,
        settings: { "kernel/unprivileged_userns_clone": "1", "kernel/apparmor_restrict_unprivileged_userns": "1" },
      }),
      [
        "Ubuntu 24.04: sudo sysctl -w kernel.apparmor_restrict_unprivileged_userns=0 (found 1)",
        "run it as root",
        container,
      ],
    );
    assert.deepEqual(remedies({ attempt: "Error: Unknown device type." }), [
      "load the kernel modules as root: modprobe bridge veth",
    ]);
  });

  it("wants as many instances of inotify as the stack's machines take, of both limits", () => {
    const [host, own] = ["fs/inotify/max_user_instances", "user/max_inotify_instances"] as const;
    const limits = (wanted: number, used: number, settings: HostFacts["settings"]) =>
      hostProblem({ ...fine, settings, inotify: { wanted, used } })?.message ?? "";
    assert.equal(limits(72, 56, { [host]: "128", [own]: "2147483647" }), "");
    assert.match(
      limits(72, 57, { [host]: "128", [own]: "128" }),
      /take 72 instances of inotify; this user has 57 and may have 128 \(fs\.inotify\.max_user_instances\)\.\n {2}- .*sysctl -w fs\.inotify\.max_user_instances=1024$/m,
    );
    assert.match(limits(72, 57, { [host]: "8192", [own]: "128" }), /sysctl -w user\.max_inotify_instances=1024$/m);
    // A control-plane machine, two workers of Linux and four of Windows; three, three and five.
    assert.deepEqual(
      ["aws-dev", "aws-prod"].map((name) => instancesFor(loadConfig(stackConfig(name)))),
      [22 + 16 + 8, 66 + 24 + 10],
    );
  });

  const folder = suiteFolder();
  it("counts the instances that a process has", async () => {
    const file = `${folder}/watched`;
    const tail = spawn("sh", ["-c", `echo 1 > ${file} && exec tail --follow ${file}`]);
    try {
      await once(tail.stdout, "data");
      // It watches from its first output on, or a moment later.
      while ((await instancesOf([String(tail.pid)])) !== 1) await new Promise((resolve) => setTimeout(resolve, 20));
    } finally {
      tail.kill();
    }
    assert.equal(await instancesOf(["1x"]), 0);
  });
});

describe("programs of a rehearsal", () => {
  const folder = suiteFolder();

  it("are pinned for every minor with kubeadm's choice of etcd, and all of Kubernetes at that release", async () => {
    const pinned = await pinnedMinors();
    const sorted = [...pinned.keys()].sort();
    const wanted = minors.map(({ minor }) => minor);
    assert.deepEqual(sorted, wanted);
    for (const { minor } of minors) {
      const { goMod } = await readRuntimeModule(pinned.get(minor));
      const versions = versionsIn(goMod);
      assert.equal(minorOf(versions.kubernetes), minor);
      assert.ok(selectableVersions(readArtifactLock()).includes(versions.kubernetes), versions.kubernetes);
      const etcd = versionFor(pins.components.etcd, versions.kubernetes, "linux");
      assert.equal(minorOf(versions.etcd), minorOf(etcd));
      if (pinned.get(minor) !== undefined) assert.equal(versions.etcd, etcd);
      const staging = [...goMod.matchAll(/^\t(k8s\.io\/[a-z-]+) => \1 v0\.(.*)$/gm)];
      const others = staging.filter(([, , version]) => `1.${version}` !== versions.kubernetes);
      assert.deepEqual([staging.length > 25, others], [true, []], minor);
    }
  });

  it("are not kept with another checksum than the published one", async () => {
    const sum = "0".repeat(64);
    const server = createServer(({ url }, response) => void response.end(url === "/sum" ? sum : "something else"));
    const origin = `http://127.0.0.1:${await listening(server)}`;
    const [target, what] = [
      join(folder, "kubeadm"),
      { url: `${origin}/kubeadm`, checksumUrl: `${origin}/sum`, checksumIn: (text: string) => text },
    ];
    try {
      await assert.rejects(download(what, target), (error: Error) => {
        assert.ok(error instanceof RehearsalError);
        assert.match(error.message, new RegExp(`/kubeadm has the SHA-256 [0-9a-f]{64}, but \\S+/sum says ${sum}\\.`));
        return true;
      });
      assert.equal(existsSync(target), false);
    } finally {
      server.close();
    }
  });
});
