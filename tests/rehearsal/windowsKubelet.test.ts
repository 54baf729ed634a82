import assert from "node:assert/strict";
import { onLinux } from "../../rehearsal/machines/windowsKubelet.ts";

describe("files of a Windows machine for the Linux build of the kubelet", () => {
  it("name its paths, in whatever notation", () => {
    const found = ["a: C:\\etc\\kubernetes\\pki\\ca.crt", '"C:\\\\var\\\\lib"', "--config=C:/etc/a.yaml,b"].map(onLinux);
    assert.deepEqual(found, ["a: /etc/kubernetes/pki/ca.crt", '"/var/lib"', "--config=/etc/a.yaml,b"]);
  });

  it("keep what is no path", () => {
    const text = "npipe:////./pipe/containerd-containerd arc: x";
    assert.equal(onLinux(text), text);
  });
});
