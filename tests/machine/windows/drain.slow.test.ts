// Sees what nothing faster does: what real kubectl prints for the columns and fields that a drain reads.
import assert from "node:assert/strict";
import { podColumns } from "../../../components/machine/windows/worker.ts";
import { type ApiServer, startApiServer } from "../../support/apiServer.ts";

const uid = "00000000-0000-0000-0000-000000000001";
const owner = (kind: string) => ({ apiVersion: "apps/v1", kind, name: kind.toLowerCase(), uid });
const pod = (name: string, metadata: object) => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name, namespace: "default", ...metadata },
  spec: { nodeName: "n", containers: [{ name: "main", image: "x" }] },
});

describe("what a node's drain reads", function () {
  // The first run on a machine builds the programs.
  this.timeout(30 * 60_000);
  let api: ApiServer;
  before(async function () {
    api = await startApiServer(this);
  });

  it("of pods is what kubectl gives for its columns", async () => {
    const pods = [
      pod("bare", { labels: { App: "a", app: "b" } }),
      pod("owned", { ownerReferences: [owner("ReplicaSet")] }),
      pod("static", {
        ownerReferences: [owner("Node"), owner("DaemonSet")],
        annotations: { "kubernetes.io/config.mirror": "8f3e" },
      }),
      pod("leaving", { finalizers: ["fenestra.dev/test"] }),
    ];
    // The controller manager, which makes it, does not run here.
    await api.kubectl(["create", "serviceaccount", "default"]);
    const made = await api.kubectl(
      ["create", "-f", "-"],
      JSON.stringify({ apiVersion: "v1", kind: "List", items: pods }),
    );
    assert.deepEqual([made.code, made.stderr], [0, ""]);
    await api.kubectl(["delete", "pod", "leaving", "--wait=false", "--grace-period=0"]);
    const { code, stdout, stderr } = await api.kubectl([
      "get",
      "pods",
      "--all-namespaces",
      "--field-selector",
      "spec.nodeName=n",
      "--no-headers",
      "-o",
      `custom-columns=${podColumns}`,
    ]);
    assert.deepEqual([code, stderr], [0, ""]);
    const rows = stdout
      .trim()
      .split("\n")
      .map((line) => line.trim().split(/\s+/));
    assert.match(rows[1]?.at(-1) ?? "", /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
    assert.deepEqual(rows.map((row) => row.join(" ")).toSpliced(1, 1), [
      "default bare Pending <none> <none> <none>",
      "default owned Pending ReplicaSet <none> <none>",
      "default static Pending Node,DaemonSet 8f3e <none>",
    ]);
  });

  it("of disks is those in use, if any", async () => {
    const disks = async () => {
      const { code, stdout, stderr } = await api.kubectl([
        ...["get", "node", "n1", "--ignore-not-found", "--output", "jsonpath={.status.volumesInUse[*]}"],
      ]);
      assert.deepEqual([code, stderr], [0, ""]);
      return stdout;
    };
    assert.equal(await disks(), "");
    await api.kubectl(
      ["create", "-f", "-"],
      JSON.stringify({ apiVersion: "v1", kind: "Node", metadata: { name: "n1" } }),
    );
    assert.equal(await disks(), "");
    const status = JSON.stringify({ status: { volumesInUse: ["kubernetes.io/csi/a^1", "kubernetes.io/csi/a^2"] } });
    await api.kubectl(["patch", "node", "n1", "--subresource=status", "--type=merge", "--patch", status]);
    assert.equal(await disks(), "kubernetes.io/csi/a^1 kubernetes.io/csi/a^2");
  });
});
