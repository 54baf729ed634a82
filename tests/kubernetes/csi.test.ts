import assert from "node:assert/strict";
import { podSpec } from "../../components/kubernetes/manifest.ts";
import { exampleSpec } from "../support/stacks.ts";
import { combinations, manifest, manifestsOf } from "./switches.ts";

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

  const everything = combinations.find(({ title }) => title === "aws-dev, everything on");
  assert.ok(everything !== undefined);
  const all = manifestsOf(everything.spec);

  it("make a folder of its own for each volume of a share, with a secret that is named and never told", () => {
    assert.deepEqual(manifest(all, "StorageClass", "files"), {
      apiVersion: "storage.k8s.io/v1",
      kind: "StorageClass",
      metadata: { name: "files" },
      provisioner: "smb.csi.k8s.io",
      parameters: {
        source: "//files.corp.example.com/pods",
        "csi.storage.k8s.io/provisioner-secret-name": "smb-pods",
        "csi.storage.k8s.io/provisioner-secret-namespace": "kube-system",
        "csi.storage.k8s.io/node-stage-secret-name": "smb-pods",
        "csi.storage.k8s.io/node-stage-secret-namespace": "kube-system",
      },
      reclaimPolicy: "Delete",
      volumeBindingMode: "Immediate",
      mountOptions: ["dir_mode=0777"],
    });
    assert.equal(manifest(all, "StorageClass", "archive").mountOptions, undefined);
    assert.equal(all.filter(({ kind }) => kind === "StorageClass").length, 4);
  });

  it("read the secrets of the shares and no other, and on the nodes nothing at all", () => {
    const rules = manifest(all, "Role", "csi-smb-controller").rules ?? [];
    assert.deepEqual(
      rules.filter(({ resources }) => resources?.includes("secrets")),
      [{ apiGroups: [""], resources: ["secrets"], verbs: ["get"], resourceNames: ["smb-pods", "smb-archive"] }],
    );
    const withRights = all.flatMap((each) =>
      each.kind === "ClusterRoleBinding" || each.kind === "RoleBinding" ? (each.subjects ?? []) : [],
    );
    const names = withRights.map(({ name }) => String(name)).filter((name) => name.startsWith("csi-smb"));
    assert.deepEqual(names, ["csi-smb-controller", "csi-smb-controller"]);
    assert.equal(
      all.some(({ kind, metadata }) => kind === "Secret" && metadata.name.startsWith("smb-")),
      false,
    );
  });

  it("get no right to any secret while no share is named", () => {
    const spec = { ...everything.spec, addons: { ...everything.spec.addons, smb: { shares: [] } } };
    const rules = manifest(manifestsOf(spec), "Role", "csi-smb-controller").rules ?? [];
    assert.deepEqual(
      rules.map(({ resources }) => resources),
      [["leases"]],
    );
  });

  it("put the SMB plug-in on tainted Windows nodes, and no attacher or resizer beside its controller", () => {
    const pod = podSpec(manifest(all, "DaemonSet", "csi-smb-node-windows"));
    assert.deepEqual(pod?.nodeSelector, { "kubernetes.io/os": "windows" });
    assert.deepEqual(pod?.tolerations, [{ operator: "Exists" }]);
    assert.equal(pod?.securityContext?.seccompProfile, undefined);
    assert.match(String(pod?.containers[0]?.image), /^registry\.k8s\.io\/sig-storage\/smbplugin:v1\.20\.3-windows-hp/);
    const controller = podSpec(manifest(all, "Deployment", "csi-smb-controller"));
    assert.equal(controller?.nodeSelector?.["kubernetes.io/os"], "linux");
    assert.deepEqual(
      controller?.containers.map(({ name }) => name),
      ["smb", "csi-provisioner", "liveness-probe"],
    );
    assert.deepEqual(manifest(all, "CSIDriver", "smb.csi.k8s.io").spec, {
      attachRequired: false,
      podInfoOnMount: true,
      volumeLifecycleModes: ["Persistent"],
    });
  });

  it("have no port of the machines in common", () => {
    for (const { title, spec } of combinations) {
      const taken = manifestsOf(spec)
        .filter((each) => each.kind === "Deployment" && /csi/.test(each.metadata.name))
        .flatMap((each) => podSpec(each)?.containers ?? [])
        .flatMap(({ args }) => (args ?? []).map(String))
        .flatMap((arg) => /(?:health-port=|metrics-address=.*:)(\d+)$/.exec(arg)?.[1] ?? []);
      assert.equal(new Set(taken).size, taken.length, `${title}: ${taken.join(", ")}`);
    }
  });
});
