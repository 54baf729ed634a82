import assert from "node:assert/strict";
import { rightOf, unusedRights } from "../../rehearsal/testkit/cluster.ts";
import { folderOf, hostProcess } from "../../rehearsal/testkit/machines.ts";

/** As hcsshim starts it: internal/jobcontainers of v0.15.0-rc.1, mounts.go and `replaceWithMountPoint`. */
describe("the fake of HostProcess containers", () => {
  const container = {
    name: "manager",
    command: ["manager.exe"],
    args: ["--node=$(NODE)", "--kubeconfig=%CONTAINER_SANDBOX_MOUNT_POINT%\\var\\run\\kubeconfig", "--other=C:\\x"],
    volumeMounts: [
      { name: "api", mountPath: "C:\\var\\run" },
      { name: "config", mountPath: "/config.yml", subPath: "config.yml" },
    ],
  };
  const started = (binds: boolean) => hostProcess(container, { NODE: "win1" }, { binds, id: "c1" });

  it("has no mount at its own path on Windows Server 2019, and each below a folder of the container's", () => {
    const { argv, env, links } = started(false);
    assert.deepEqual(argv, ["manager.exe", "--node=win1", "--kubeconfig=/hpc/c1/var/run/kubeconfig", "--other=/x"]);
    assert.deepEqual(env, { NODE: "win1", CONTAINER_SANDBOX_MOUNT_POINT: "/hpc/c1" });
    assert.deepEqual(
      links.map(({ at }) => at),
      ["/hpc/c1/var/run", "/hpc/c1/config.yml"],
    );
  });

  it("makes the folder that an init container makes, and refuses what it does not know", () => {
    const init = (...words: readonly string[]) => ({ name: "init", command: ["powershell.exe", "-Command", ...words] });
    assert.equal(folderOf(init("New-Item -ItemType Directory -Force -Path C:\\var\\lib\\x")), "/var/lib/x");
    assert.throws(() => folderOf(init("Remove-Item C:\\var")), /does not know: powershell.exe -Command Remove-Item/);
  });

  it("has them at both places on later releases", () => {
    assert.deepEqual(
      started(true).links.map(({ at }) => at),
      ["/hpc/var/run", "/var/run", "/hpc/config.yml", "/config.yml"],
    );
  });
});

describe("rights of add-ons that a rehearsal has not seen used", () => {
  it("are those of its rules, without what no audit log has and what everybody may", () => {
    const rules = [
      { apiGroups: [""], resources: ["nodes", "nodes/status", "events"], verbs: ["get", "list"] },
      { apiGroups: ["authorization.k8s.io"], resources: ["selfsubjectrulesreviews"], verbs: ["create"] },
      { apiGroups: ["storage.k8s.io"], resources: ["csinodes"], verbs: ["watch"] },
    ];
    const used = new Set([rightOf("get", undefined, "nodes", "status"), rightOf("list", "", "nodes")]);
    const left = ["get nodes", "list nodes/status", "watch csinodes.storage.k8s.io"];
    assert.deepEqual(unusedRights(rules, used), left);
    assert.deepEqual(unusedRights(rules, new Set([...used, ...left])), []);
  });
});
