import assert from "node:assert/strict";
import { notKept } from "../../rehearsal/programs/checkers/containerdExe.ts";
import { pathInPrefix } from "../../rehearsal/programs/winePrefix.ts";

describe("the prefix of a Windows machine", () => {
  it("has the files of C: below its drive", () => {
    assert.equal(pathInPrefix("/wine", "C:\\etc\\kubernetes\\kubelet.conf"), "/wine/drive_c/etc/kubernetes/kubelet.conf");
  });
});

describe("the dump of containerd.exe", () => {
  it("must have every setting, in its section", () => {
    const config = "version = 3\nroot = 'C:\\r'\n\n[grpc]\naddress = 'p'\n\n[plugins.a]\nx = 1\n";
    const dump =
      "version = 4\nroot = 'C:\\r'\n[plugins]\n  [plugins.'io.containerd.server.v1.grpc']\n    address = 'p'\n  [plugins.b]\n    x = 1\n";
    assert.deepEqual(notKept(config, dump), ["containerd.exe does not keep [plugins.a] x = 1"]);
  });
});
