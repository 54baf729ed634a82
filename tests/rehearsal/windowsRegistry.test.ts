import assert from "node:assert/strict";
import { notKept } from "../../rehearsal/programs/checkers/containerdExe.ts";
import { pathInPrefix } from "../../rehearsal/programs/winePrefix.ts";
import { windowsRegistry } from "../../rehearsal/programs/wineRegistry.ts";

describe("the prefix of a Windows machine", () => {
  it("has the registry values by which a kubelet knows its system, in the form of Wine's files", () => {
    const text = windowsRegistry({
      year: "2025",
      build: "10.0.26100",
      systemUuid: "01234567-89ab-cdef-0123-456789abcdef",
    });
    assert.equal(
      text,
      String.raw`
[Software\\Microsoft\\Windows NT\\CurrentVersion]
"CurrentMajorVersionNumber"=dword:0000000a
"CurrentMinorVersionNumber"=dword:00000000
"CurrentBuild"="26100"
"CurrentBuildNumber"="26100"
"CurrentVersion"="6.3"
"ProductName"="Windows Server 2025 Datacenter"
"UBR"=dword:0000104b

[System\\HardwareConfig]
"LastConfig"="{01234567-89ab-cdef-0123-456789abcdef}"

[System\\CurrentControlSet\\Control\\Session Manager\\Memory Management\\PrefetchParameters]
"BootId"=dword:00000001
`,
    );
  });

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
