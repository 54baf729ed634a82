// Sees what nothing faster does: that a rehearsal of a mirror ends red for each fault that it is for.
import assert from "node:assert/strict";
import { broken, describeControls } from "./controls.ts";

describeControls("the rehearsal of a mirror", {
  "that machines do not trust the mirror's authority": {
    faults: ["mirror-distrusted"],
    only: "control plane",
    stack: "aws-restricted",
    fails: { "control plane": /^a machine does not trust the mirror https:\/\/mirror\.example\.com\/files$/ },
  },
  "that machines use the proxy without the login that it wants": {
    only: "control plane",
    stack: "aws-existing",
    faults: ["proxy-without-login"],
    fails: { "control plane": /^100\.64\.0\.10 asks the proxy for \S+:443 without its login$/ },
  },
  "that machines ask the mirror without the login that it wants": {
    only: "control plane",
    stack: "azure-existing",
    faults: ["mirror-without-login"],
    fails: {
      "control plane": /^[\d.]+ asks the mirror for https:\/\/mirror\.corp\.example\/files\/\S+ without its login$/,
    },
  },
  "that the mirror lacks a file that a machine wants": {
    faults: ["mirror-without-crictl"],
    only: "control plane",
    stack: "aws-restricted",
    fails: {
      "control plane":
        /^a machine wants https:\/\/mirror\.example\.com\/files\/github\.com\/\S+crictl-v\S+-linux-amd64\.tar\.gz, and there is only what `fenestra mirror` names$/,
    },
  },
  "that the mirror lacks an image that containerd wants": {
    faults: ["mirror-without-pause"],
    only: "control plane",
    stack: "aws-restricted",
    fails: {
      "control plane":
        /^a machine wants https:\/\/mirror\.example\.com\/v2\/registry\.k8s\.io\/pause\/manifests\/sha256-[0-9a-f]{64}\?ns=registry\.k8s\.io, and there is only what `fenestra mirror` names$/,
    },
  },
  "that a machine with a mirror asks another host": {
    faults: ["stray-request"],
    only: "mirror: nothing else",
    stack: "aws-restricted",
    fails: {
      "mirror: nothing else":
        /: found \["stray\.example\.org by 10\.30\.\d+\.\d+"(,"stray\.example\.org by [\d.]+"){2}\], wanted \[\]$/,
    },
  },
});

describe("a fault of the mirror", function () {
  this.timeout(45 * 60_000);

  it("cannot be had in a stack without one", async () => {
    const { code, lines } = await broken({ faults: ["mirror-without-crictl"], only: "mirror" });
    assert.equal(code, 1);
    assert.equal(
      lines.at(-2),
      "The rehearsal broke off: aws-dev has no fenestra:mirror.artifacts, so nothing can be left out of its mirror",
    );
  });
});
