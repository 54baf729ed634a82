import assert from "node:assert/strict";
import { checked, flagName, kubeletFlags, refusedSettings } from "../../components/machine/kubeletFlags.ts";
import { minors } from "../../components/model/releases.ts";
import { exampleReleases, fileOf, onePerSystem } from "./examples.ts";

const args = {
  os: "windows",
  minor: "1.36",
  bootstrap: true,
  labels: { zeta: "1", alpha: "2", "fenestra.dev/pool": "win" },
} as const;

describe("the kubelet's flags", () => {
  // The whole command lines are in the snapshots of the payloads.
  const byName = (flags: readonly string[]) => new Map(flags.map((flag) => [flagName(flag), flag]));
  const windows = byName(kubeletFlags(args));
  const linux = byName(kubeletFlags({ ...args, os: "linux" }));

  it("are the same on both systems but for paths, and what only Windows has", () => {
    const own = [...windows.keys()].filter((name) => !linux.has(name));
    const others = own.filter((name) => !name.startsWith("windows-"));
    assert.deepEqual(others, []);
    const differing = [...linux].filter(([name, flag]) => windows.get(name) !== flag).map(([name]) => name);
    assert.deepEqual(differing.sort(), ["bootstrap-kubeconfig", "cert-dir", "config", "kubeconfig"]);
  });

  it("of a control-plane machine have neither a bootstrap nor labels", () => {
    const controlPlane = kubeletFlags({ ...args, os: "linux", bootstrap: false, labels: {} }).map(flagName);
    const others = [...linux.keys()].filter((name) => !controlPlane.includes(name));
    assert.deepEqual(others, ["bootstrap-kubeconfig", "node-labels"]);
  });

  it("hold none that any minor to be chosen has removed; nor does kube-proxy's command line", () => {
    for (const release of exampleReleases) {
      const minor = release.split(".").slice(0, 2).join(".");
      for (const { payload } of [...onePerSystem("aws", release), ...onePerSystem("azure", release)]) {
        const { kubelet, kubeProxy } = JSON.parse(fileOf(payload, "C:\\fenestra\\machine.json"));
        assert.deepEqual(refusedSettings("kubelet", minor, kubelet.arguments), []);
        assert.deepEqual(refusedSettings("kube-proxy", minor, kubeProxy.arguments), []);
      }
    }
  });

  it("that were removed are refused from that minor on, and not before", () => {
    const flag = ["--pod-infra-container-image=pause"];
    assert.deepEqual(refusedSettings("kubelet", "1.34", flag), []);
    for (const { minor } of minors) {
      const refused = refusedSettings("kubelet", minor, flag).map(({ name }) => name);
      assert.deepEqual(refused, ["pod-infra-container-image"]);
    }
    assert.throws(
      () => checked("kubelet", "1.36", flag),
      /pod-infra-container-image \(gone since 1\.35, kubernetes\/kubernetes#133779\)/,
    );
  });

  it("feature gates are found inside their list", () => {
    const flags = ["--feature-gates=Other=false,NodeLogQuery=true"];
    const refused = refusedSettings("kubelet", "1.36", flags).map(({ name }) => name);
    assert.deepEqual(refused, ["NodeLogQuery"]);
    assert.deepEqual(refusedSettings("kubelet", "1.35", flags), []);
    assert.deepEqual(refusedSettings("kube-proxy", "1.36", flags), []);
  });
});
