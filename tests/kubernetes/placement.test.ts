import assert from "node:assert/strict";
import { groupTags as awsTags } from "../../components/aws/poolGroup.ts";
import { groupTags as azureTags } from "../../components/azure/poolGroup.ts";
import { runtimeClassFacts } from "../../components/kubernetes/guardRails/places.ts";
import { type Manifest, podSpec } from "../../components/kubernetes/manifest.ts";
import { onNodesThat } from "../../components/kubernetes/workload.ts";
import { readArtifactLock } from "../../components/model/artifacts.ts";
import { azureMachineSize } from "../../components/model/cloudFacts/machineSizes.ts";
import type { ClusterSpec } from "../../components/model/clusterSpec.ts";
import type { PoolSpec } from "../../components/model/pools.ts";
import { specOf } from "../support/mocks.ts";
import { exampleSpec } from "../support/stacks.ts";
import { argsOf, combinations, containersOf, manifest, manifestsOf, specOfTitle, subjectsOf } from "./switches.ts";

/** The node labels that its pods demand, with their RuntimeClass's merged in as the API server does. */
function selectorOf(manifest: Manifest, spec: ClusterSpec): Readonly<Record<string, string>> {
  const pod = podSpec(manifest);
  const runtime = runtimeClassFacts(spec).find(({ name }) => name === pod?.runtimeClassName);
  const selector: Record<string, string> = {};
  for (const [key, value] of Object.entries({ ...pod?.nodeSelector, ...runtime?.nodeSelector }))
    selector[key] = String(value);
  return selector;
}

describe("placement of pods", () => {
  const systems = new Map<string, Set<string>>();
  for (const { url, os } of readArtifactLock()) systems.set(url, (systems.get(url) ?? new Set()).add(os));

  for (const { title, spec } of combinations) {
    const workloads = manifestsOf(spec).filter((manifest) => podSpec(manifest) !== undefined);

    it(`${title}: every pod says which operating system it runs on`, () => {
      for (const manifest of workloads) {
        const os = selectorOf(manifest, spec)["kubernetes.io/os"];
        const windows = podSpec(manifest)?.os?.name === "windows";
        assert.equal(os, windows ? "windows" : "linux", `${manifest.kind} ${manifest.metadata.name}`);
      }
    });

    it(`${title}: every image is of its nodes' system, by the lock file`, () => {
      for (const manifest of workloads) {
        const os = selectorOf(manifest, spec)["kubernetes.io/os"] ?? "";
        for (const { image } of containersOf(manifest))
          assert.ok(
            ["any", os].some((one) => systems.get(String(image))?.has(one)),
            `${manifest.kind} ${manifest.metadata.name} on ${os}: ${image}`,
          );
      }
    });

    it(`${title}: whoever answers for admission runs where no worker's administrator can answer for it`, () => {
      const services = manifestsOf(spec).flatMap((each) =>
        each.kind === "MutatingWebhookConfiguration" || each.kind === "ValidatingWebhookConfiguration"
          ? (each.webhooks ?? []).map(({ clientConfig }) => String(clientConfig.service?.name))
          : [],
      );
      assert.equal(services.length > 0, spec.addons.gmsa !== undefined);
      for (const name of services) {
        assert.equal(
          podSpec(manifest(manifestsOf(spec), "Deployment", name))?.nodeSelector?.[
            "node-role.kubernetes.io/control-plane"
          ],
          "",
          name,
        );
      }
    });
  }
});

const pool = { name: "p", os: "windows-2022", perZone: true, autoscale: { min: 0, max: 3 } };

/** A cluster with one pool that is divided by zones and has this many labels, and ten tags. */
function clusterOf(cloud: ClusterSpec["cloud"], labels = 0) {
  const many = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, index) => [`x${index}`, "y"]));
  return specOf(`${cloud}-dev`, {
    network: { zones: cloud === "aws" ? ["eu-central-1a", "eu-central-1b"] : ["1", "2"] },
    pools: [{ ...pool, labels: many(labels) }],
    tags: many(10),
  });
}

/** Arguments of the autoscaler. */
const argsIn = (spec: ClusterSpec) => {
  const name = "cluster-autoscaler";
  return argsOf(manifest(manifestsOf(spec), "Deployment", name), name);
};

describe("the autoscaler", () => {
  for (const cloud of ["aws", "azure"] as const) {
    it(`on ${cloud} takes the groups of a divided pool for similar`, () => {
      const spec = clusterOf(cloud);
      const prefix = "--balancing-ignore-label=";
      const ignored = argsIn(spec).filter((text) => text.startsWith(prefix));
      const [first, second] = spec.pools.map(({ scheduling }) => ({
        ...scheduling.ownLabels,
        ...scheduling.kubeletLabels,
      }));
      assert.ok(first !== undefined && second !== undefined);
      const different = Object.keys(first).filter((key) => Reflect.get(first, key) !== Reflect.get(second, key));
      assert.deepEqual(different, ["fenestra.dev/pool"]);
      // Their payloads name the pool, so the label of the payload differs too.
      for (const label of [...different, "fenestra.dev/payload"])
        assert.ok(ignored.includes(`${prefix}${label}`), label);
    });

    it(`on ${cloud} finds all that it must know in the tags of a group, of which there are 50 at most`, () => {
      const count = (spec: ClusterSpec) => {
        const group = spec.pools[0] ?? assert.fail();
        return cloud === "aws" ? awsTags(spec, group).length : Object.keys(azureTags(spec, group)).length;
      };
      const most = { aws: 26, azure: 25 }[cloud];
      assert.equal(count(clusterOf(cloud, most)), 50);
      assert.throws(() => clusterOf(cloud, most + 1), /too many labels and taints/);
    });
  }
});

describe("CSI drivers", () => {
  for (const [stack, prefix, driver] of [
    ["aws-dev", "ebs-csi", "ebs.csi.aws.com"],
    ["azure-dev", "csi-azuredisk", "disk.csi.azure.com"],
  ] as const)
    it(`make the folder of their socket on Windows before they listen in it: ${driver}`, () => {
      const pod = podSpec(manifest(manifestsOf(exampleSpec(stack)), "DaemonSet", `${prefix}-node-windows`));
      const folder = `C:\\var\\lib\\kubelet\\plugins\\${driver}`;
      const [first, ...more] = pod?.initContainers ?? [];
      assert.deepEqual(more, []);
      assert.equal(first?.command?.at(-1), `New-Item -ItemType Directory -Force -Path ${folder}`);
      const [plugin, registrar] = [pod?.containers[0], pod?.containers.at(-1)];
      assert.ok(plugin?.args?.includes(`--endpoint=unix://${folder}\\csi.sock`));
      assert.ok(registrar?.args?.includes(`--kubelet-registration-path=${folder}\\csi.sock`));
      // The kubelet would ignore a volume that nothing mounts.
      assert.ok((pod?.volumes ?? []).every(({ hostPath }) => hostPath === undefined));
    });

  it("find each disk on Windows: of NVMe they read a number to base 16 as one to base 10", () => {
    const disks = { D4s_v5: undefined, D8s_v5: undefined, D4s_v6: undefined, D8s_v6: 9, "E16-4s_v7": 9 };
    const { pools, ...spec } = exampleSpec("azure-dev");
    const windows = pools.find(({ os }) => os === "windows") ?? assert.fail();
    const sized = Object.keys(disks).map((size) => {
      return { ...windows, name: size, size: azureMachineSize(`Standard_${size}`) ?? assert.fail() };
    });
    const ofPools = (some: readonly PoolSpec[]) =>
      manifestsOf({ ...spec, pools: some }).flatMap((each) =>
        each.metadata.name.startsWith("csi-azuredisk-node-windows")
          ? [podSpec(each)].filter((pod) => pod !== undefined)
          : [],
      );
    const found = sized.map(({ name }) => {
      const here = ofPools(sized).filter(({ affinity }) =>
        affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms[0]?.matchExpressions
          ?.filter(({ key }) => key === "fenestra.dev/pool")
          .every(({ operator, values = [] }) => values.includes(name) === (operator === "In")),
      );
      assert.equal(here.length, 1, name);
      const most = /--volume-attach-limit=(\d+)/.exec(String(here[0]?.containers[0]?.args))?.[1];
      return [name, most === undefined ? undefined : Number(most)];
    });
    assert.deepEqual(Object.fromEntries(found), disks);
    assert.equal(ofPools([windows]).length, 1);
  });

  it("start on a node only when its labels tell its zone, whatever its taints", () => {
    const initialised = { key: "topology.kubernetes.io/region", operator: "Exists" };
    const worker = { key: "node-role.kubernetes.io/control-plane", operator: "DoesNotExist" };
    for (const { title, spec } of combinations) {
      for (const each of manifestsOf(spec)) {
        const pod = podSpec(each);
        if (each.kind !== "DaemonSet" || !/csi/.test(each.metadata.name)) continue;
        assert.deepEqual(
          pod?.affinity,
          onNodesThat(...(pod?.os?.name === "windows" ? [initialised] : [worker, initialised])),
          `${title}: ${each.metadata.name}`,
        );
        assert.deepEqual(pod?.tolerations, [{ operator: "Exists" }], `${title}: ${each.metadata.name}`);
      }
      // A label set by the kubelet would prove nothing.
      for (const { scheduling } of spec.pools)
        assert.ok(![scheduling.kubeletLabels, scheduling.ownLabels].some((labels) => initialised.key in labels));
    }
  });

  const everything = specOfTitle("aws-dev, everything on");
  const all = manifestsOf(everything);

  it("read the secrets of the shares and no other, and on the nodes nothing at all", () => {
    const rules = manifest(all, "Role", "csi-smb-controller").rules ?? [];
    assert.deepEqual(
      rules.filter(({ resources }) => resources?.includes("secrets")),
      [{ apiGroups: [""], resources: ["secrets"], verbs: ["get"], resourceNames: ["smb-pods", "smb-archive"] }],
    );
    const secret = { name: "smb-pods", namespace: "kube-system" };
    const parameters = ["provisioner", "node-stage"].flatMap((of) =>
      Object.entries(secret).map(([key, value]) => [`csi.storage.k8s.io/${of}-secret-${key}`, value]),
    );
    assert.deepEqual(manifest(all, "StorageClass", "files").parameters, {
      source: "//files.corp.example.com/pods",
      ...Object.fromEntries(parameters),
    });
    assert.deepEqual(
      subjectsOf(all).flatMap(({ name }) => (String(name).startsWith("csi-smb") ? [name] : [])),
      ["csi-smb-controller", "csi-smb-controller"],
    );
    assert.equal(
      all.some(({ kind, metadata }) => kind === "Secret" && metadata.name.startsWith("smb-")),
      false,
    );
  });

  it("get no right to any secret while no share is named", () => {
    const spec = { ...everything, addons: { ...everything.addons, smb: { shares: [] } } };
    const rules = manifest(manifestsOf(spec), "Role", "csi-smb-controller").rules ?? [];
    assert.deepEqual(
      rules.map(({ resources, resourceNames }) => [resources, resourceNames]),
      [
        [["leases"], undefined],
        [["leases"], ["smb-csi-k8s-io"]],
      ],
    );
  });

  it("listen on no port of a machine that another add-on has", () => {
    for (const { title, spec } of combinations)
      for (const os of ["linux", "windows"])
        for (const kind of ["Deployment", "DaemonSet"] as const) {
          const taken = manifestsOf(spec)
            .flatMap((each) => (each.kind === kind ? (podSpec(each) ?? []) : []))
            .filter((pod) => pod.nodeSelector?.["kubernetes.io/os"] === os && pod.hostNetwork === true)
            .flatMap(({ containers }) => containers.flatMap((each) => [...(each.command ?? []), ...(each.args ?? [])]))
            .flatMap((arg) => /(?:endpoint|address|port)=(?:.*:)?(\d+)$/.exec(String(arg))?.[1] ?? []);
          assert.equal(new Set(taken).size, taken.length, `${title}: ${taken.join(", ")}`);
        }
  });
});
