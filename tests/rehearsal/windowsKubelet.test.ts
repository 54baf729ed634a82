import assert from "node:assert/strict";
import { kubeletSettings, type MachineFacts, nodeObject, parseFlags } from "../../rehearsal/machines/windowsKubelet.ts";

const config = `apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
providerID: aws:///eu-central-1a/i-0123
serverTLSBootstrap: true
maxPods: 60
kubeReserved: {cpu: 100m, memory: 500Mi}
systemReserved: {memory: 1Gi}
evictionHard: {memory.available: 100Mi}
registerWithTaints:
  - {key: os, value: windows, effect: NoSchedule}
`;

const flags = [
  "--config=/etc/kubelet.yaml",
  "--hostname-override=i-0123",
  "--kubeconfig=/etc/kubelet.conf",
  "--bootstrap-kubeconfig",
  "/etc/bootstrap.conf",
  "--node-labels=fenestra.dev/pool=a,x=b=c,empty=",
];

function settingsFor(args: readonly string[] = flags, text = config) {
  return kubeletSettings(args, async (path) => {
    assert.equal(path, "/etc/kubelet.yaml");
    return text;
  });
}

describe("the flags of a command line", () => {
  it("may have their value after an equals sign, as the next word, or none", () => {
    assert.deepEqual(
      [...parseFlags(["--a=1", "--b", "2", "--c", "--d=", "-e=x=y", "word", "--f"])],
      [
        ["a", "1"],
        ["b", "2"],
        ["c", "true"],
        ["d", ""],
        ["e", "x=y"],
        ["f", "true"],
      ],
    );
  });

  it("count the last time that they are given", () => {
    assert.equal(parseFlags(["--a=1", "--a=2"]).get("a"), "2");
  });
});

describe("what a kubelet is told", () => {
  it("comes from its flags and its configuration", async () => {
    assert.deepEqual(await settingsFor(), {
      nodeName: "i-0123",
      labels: { "fenestra.dev/pool": "a", x: "b=c", empty: "" },
      taints: [{ key: "os", value: "windows", effect: "NoSchedule" }],
      providerId: "aws:///eu-central-1a/i-0123",
      serverTlsBootstrap: true,
      reserved: [{ cpu: "100m", memory: "500Mi" }, { memory: "1Gi" }, { memory: "100Mi" }],
      maxPods: 60,
      kubeconfigPath: "/etc/kubelet.conf",
      bootstrapKubeconfigPath: "/etc/bootstrap.conf",
    });
  });

  const external = { key: "node.cloudprovider.kubernetes.io/uninitialized", value: "true", effect: "NoSchedule" };
  it("has the taint of an external cloud controller behind the configured ones, even where that makes two", async () => {
    const one = await settingsFor([...flags, "--cloud-provider=external"]);
    assert.deepEqual(one.taints.slice(1), [external]);
    const own = `${config}  - {key: ${external.key}, value: "true", effect: NoSchedule}\n`;
    const both = await settingsFor([...flags, "--cloud-provider=external"], own);
    assert.deepEqual(both.taints.slice(1), [external, external]);
    assert.equal((await settingsFor()).taints.length, 1);
  });

  it("must hold a name, a configuration and a kubeconfig", async () => {
    for (const name of ["config", "hostname-override", "kubeconfig"]) {
      const without = flags.filter((flag) => !flag.startsWith(`--${name}`));
      await assert.rejects(settingsFor(without), new RegExp(`kubelet has no --${name}`));
    }
  });

  it("is refused where the taints are not of their form", async () => {
    await assert.rejects(settingsFor(flags, config.replace("value: windows", "values: windows")));
  });
});

describe("the Node of a kubelet", () => {
  const facts: MachineFacts = {
    os: "windows",
    arch: "amd64",
    build: "10.0.20348",
    osImage: "Windows Server 2022",
    kernelVersion: "10.0.20348.1",
    address: "10.0.0.4",
    vcpus: 2,
    memoryGib: 8,
    diskGib: 128,
    kubeletVersion: "v1.36.4",
  };

  it("has its labels, its taints and what is left of the machine for pods", async () => {
    const { metadata, spec, status } = nodeObject(await settingsFor(), facts);
    assert.equal(metadata?.name, "i-0123");
    assert.deepEqual(metadata?.labels, {
      "kubernetes.io/os": "windows",
      "kubernetes.io/arch": "amd64",
      "kubernetes.io/hostname": "i-0123",
      "node.kubernetes.io/windows-build": "10.0.20348",
      "fenestra.dev/pool": "a",
      x: "b=c",
      empty: "",
    });
    assert.deepEqual(spec, {
      taints: [{ key: "os", value: "windows", effect: "NoSchedule" }],
      providerID: "aws:///eu-central-1a/i-0123",
    });
    assert.deepEqual(status?.capacity, { cpu: "2", memory: "8192Mi", pods: "60", "ephemeral-storage": "128Gi" });
    // 8192 - 500 - 1024 - 100 MiB.
    assert.deepEqual(status?.allocatable, { ...status?.capacity, cpu: "1900m", memory: "6568Mi" });
    assert.deepEqual(
      [status?.nodeInfo?.operatingSystem, status?.nodeInfo?.kubeletVersion, status?.addresses?.[0]?.address],
      ["windows", "v1.36.4", "10.0.0.4"],
    );
  });

  it("has no build on Linux and no provider id that nobody gave", async () => {
    const { build: _, ...linux } = facts;
    const bare = await settingsFor(flags, config.replace(/providerID: .*\n/, ""));
    const { metadata, spec } = nodeObject(bare, { ...linux, os: "linux" });
    assert.equal(metadata?.labels?.["node.kubernetes.io/windows-build"], undefined);
    assert.deepEqual(Object.keys(spec ?? {}), ["taints"]);
  });
});
