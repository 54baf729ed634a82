import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { readArtifactLock } from "../../components/model/artifacts.ts";
import { minorOf, minors, versions as pins, selectableVersions, versionFor } from "../../components/model/releases.ts";
import { RehearsalError } from "../../rehearsal/host/command.ts";
import { type HostFacts, hostProblem } from "../../rehearsal/host/hostCheck.ts";
import { download, pinnedMinors, readRuntimeModule, versionsIn } from "../../rehearsal/programs/catalog.ts";
import { listening, suiteFolder } from "../support/suite.ts";

it("the host check says what is missing and how to fix it", () => {
  const inotify = { wanted: 0, used: 0 };
  const fine: HostFacts = { platform: "linux", root: false, missingTools: [], attempt: "", settings: {}, inotify };
  const attempt = "unshare: Operation not permitted";
  const few = { wanted: 72, used: 57 };
  for (const [facts, said] of [
    [{}, /^undefined$/],
    [{ platform: "darwin" }, /^RehearsalError: The rehearsal needs Linux .* this is darwin\./],
    [{ missingTools: ["ip", "setpriv"] }, /Not found on PATH: ip, setpriv\.\n {2}- Debian/],
    [{ attempt, root: true }, /namespaces of a rehearsal: unshare: Operation not permitted\n {2}- in a container/],
    [{ attempt, settings: { "user/max_user_namespaces": "0" } }, / - allow .*user\.max_user_namespaces=15000/],
    [{ attempt, settings: { "kernel/apparmor_restrict_unprivileged_userns": "1" } }, / - Ubuntu 24\.04: sudo sysctl/],
    [{ attempt: "Error: Unknown device type." }, /modprobe bridge veth/],
    [{ inotify: few, settings: { "fs/inotify/max_user_instances": "128" } }, /user has 57 and may have 128 .*=1024\n/s],
    [{ inotify: few, settings: { "fs/inotify/max_user_instances": "129" } }, /^undefined$/],
  ] as const)
    assert.match(String(hostProblem({ ...fine, ...facts, missingTools: [...(facts.missingTools ?? [])] })), said);
});

describe("programs of a rehearsal", () => {
  const folder = suiteFolder();

  it("are pinned for every minor with kubeadm's choice of etcd, and all of Kubernetes at that release", async () => {
    const pinned = await pinnedMinors();
    assert.deepEqual(
      [...pinned.keys()].sort(),
      minors.map(({ minor }) => minor),
    );
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
