import assert from "node:assert/strict";
import type { V1Pod, V1PodSpec } from "@kubernetes/client-node";
import { newerImages } from "../../../check/cluster/updates.ts";
import { smallFileSystems, staleAttachments } from "../../../check/cluster/volumes.ts";

const now = new Date("2026-11-27T12:00:00Z");
const ago = (minutes: number): Date => new Date(now.getTime() - minutes * 60_000);

const pod = (spec: Partial<V1PodSpec>, status: V1Pod["status"] = { phase: "Running" }): V1Pod => ({
  metadata: { namespace: "shop", name: "db-0" },
  spec: { containers: [], nodeName: "w1", ...spec },
  status,
});

describe("attachments that outlive their pods", () => {
  const usedBy = { volumes: [{ name: "d", persistentVolumeClaim: { claimName: "data" } }] };
  const lines = (
    metadata: { creationTimestamp?: Date; deletionTimestamp?: Date },
    pods: readonly V1Pod[] = [],
    detachError?: { time: Date; message: string },
    name = "data",
  ) => {
    const volumes = [{ metadata: { name: "pv-1" }, spec: { claimRef: { namespace: "shop", name } } }];
    const status = { attached: true, ...(detachError === undefined ? {} : { detachError }) };
    const spec = { attacher: "ebs.csi.aws.com", nodeName: "w1", source: { persistentVolumeName: "pv-1" } };
    return staleAttachments({ attachments: [{ metadata, spec, status }], volumes, pods }, now);
  };

  it("are those that should have gone, with the driver's words, also of a pod that is back", () => {
    assert.deepEqual(lines({ deletionTimestamp: ago(9) }), []);
    const error = { time: ago(60), message: "volume is busy" };
    assert.deepEqual(lines({ deletionTimestamp: ago(11) }, [pod(usedBy)], error), [
      "volume pv-1 (shop/data) is attached to w1, and should have gone at 2026-11-27T11:49:00.000Z: volume is busy",
    ]);
    assert.equal(lines({ creationTimestamp: ago(1) }, [pod(usedBy)], error).length, 1);
  });

  it("are those that no pod of their node uses, ended pods apart", () => {
    const old = { creationTimestamp: ago(600) };
    assert.deepEqual(lines(old, [pod(usedBy)]), []);
    const ephemeral = pod({ volumes: [{ name: "tmp", ephemeral: {} }] });
    assert.deepEqual(lines(old, [ephemeral], undefined, "db-0-tmp"), []);
    for (const pods of [[], [pod({ ...usedBy, nodeName: "w2" })], [pod(usedBy, { phase: "Failed" })]])
      assert.deepEqual(lines(old, pods), ["volume pv-1 (shop/data) is attached to w1, and no pod there uses it"]);
    assert.deepEqual(lines({ creationTimestamp: ago(9) }), []);
  });
});

describe("file systems", () => {
  it("smaller than their claims are told with the way out", () => {
    const claim = { metadata: { namespace: "shop", name: "data" }, status: { capacity: { storage: "20Gi" } } };
    const summary = (capacityBytes: number) => ({
      pods: [{ volume: [{ name: "token" }, { capacityBytes, pvcRef: { namespace: "shop", name: "data" } }] }],
    });
    assert.deepEqual(smallFileSystems([claim], summary(10 * 1024 ** 3), now), [
      "claim shop/data has 20Gi, and its file system 10.0Gi: enlarge the claim by 1Gi, and its file system follows",
    ]);
    assert.deepEqual(smallFileSystems([claim], summary(19 * 1024 ** 3), now), []);
    assert.deepEqual(smallFileSystems([], summary(1), now), []);
    assert.deepEqual(smallFileSystems([claim], undefined, now), []);
  });

  it("are told when they do not grow while mounted", () => {
    const summary = { pods: [{ volume: [{ capacityBytes: 10, pvcRef: { namespace: "shop", name: "data" } }] }] };
    const told = (lastTransitionTime: Date, of: unknown = summary) => {
      const conditions = [{ type: "FileSystemResizePending", status: "True", lastTransitionTime }];
      const status = { capacity: { storage: "10" }, conditions };
      return smallFileSystems([{ metadata: { namespace: "shop", name: "data" }, status }], of, now);
    };
    assert.deepEqual(told(ago(11)), [
      "claim shop/data is to grow since 2026-11-27T11:49:00.000Z, and its file system does not: delete its pods, whose next mount extends it",
    ]);
    assert.deepEqual([told(ago(9)), told(ago(11), { pods: [] })], [[], []]);
  });
});

describe("images of a later month than their node", () => {
  const node = { name: "w1", update: "10.0.20348.4171" };
  const told = (image: string, exitCode?: number) => {
    const state = exitCode === undefined ? {} : { lastState: { terminated: { exitCode } } };
    const containerStatuses = [{ name: "app", image, imageID: "", ready: true, restartCount: 0, ...state }];
    return newerImages([node], [pod({ containers: [{ name: "app", image }] }, { containerStatuses })]);
  };
  const core = "mcr.microsoft.com/windows/servercore";

  it("are told by their tag, and by their exit code", () => {
    assert.deepEqual(told(`${core}:10.0.20348.4773`), [
      `pod shop/db-0: ${core}:10.0.20348.4773 is newer than its node w1 with 10.0.20348.4171: roll the pool to an image of this month first`,
    ]);
    assert.match(
      told(`${core}@sha256:76cf`, 3_224_830_214)[0] ?? "",
      /with 10\.0\.20348\.4171, and ends with 0xc0370106:/,
    );
    for (const image of ["10.0.20348.4171", "10.0.20348.999", "10.0.17763.9999", "ltsc2022", "110.0.20348.9999"])
      assert.deepEqual(told(`${core}:${image}`), [], image);
    assert.deepEqual(told(core, 1), []);
  });
});
