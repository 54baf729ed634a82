import assert from "node:assert/strict";
import { podSpec } from "../../components/kubernetes/manifest.ts";
import { exampleSpec } from "../support/stacks.ts";
import { manifest, manifestsOf } from "./switches.ts";

describe("CSI drivers", () => {
  for (const [stack, prefix, driver] of [
    ["aws-dev", "ebs-csi", "ebs.csi.aws.com"],
    ["azure-dev", "csi-azuredisk", "disk.csi.azure.com"],
  ] as const) {
    it(`make the folder of their socket on Windows before they listen in it: ${driver}`, () => {
      const pod = podSpec(manifest(manifestsOf(exampleSpec(stack)), "DaemonSet", `${prefix}-node-windows`));
      const folder = `C:\\var\\lib\\kubelet\\plugins\\${driver}`;
      const [first, ...more] = pod?.initContainers ?? [];
      assert.deepEqual(more, []);
      assert.equal(first?.command?.at(-1), `New-Item -ItemType Directory -Force -Path ${folder}`);
      const [plugin, registrar] = pod?.containers ?? [];
      assert.ok(plugin?.args?.includes(`--endpoint=unix://${folder}\\csi.sock`));
      assert.ok(registrar?.args?.includes(`--kubelet-registration-path=${folder}\\csi.sock`));
      // The kubelet would pass over a volume that nobody mounts.
      assert.equal(pod?.volumes, undefined);
    });
  }
});
