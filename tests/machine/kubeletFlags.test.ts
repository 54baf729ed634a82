import assert from "node:assert/strict";
import { checked, refusedSettings } from "../../components/machine/kubeletFlags.ts";
import { minors } from "../../components/model/releases.ts";
import { exampleReleases, fileOf, onePerSystem } from "./examples.ts";

describe("the kubelet's flags", () => {
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
