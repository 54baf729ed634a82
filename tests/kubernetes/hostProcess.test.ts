import assert from "node:assert/strict";
import { type Container, type Manifest, type PodSpec, podSpec } from "../../components/kubernetes/manifest.ts";
import { readWindowsScript, windowsScripts } from "../../components/machine/windows/worker.ts";
import { buildLabel } from "../../components/model/pools.ts";
import { podNetworks } from "../../components/podNetworks/podNetworks.ts";
import { readDocument } from "../docs/documents.ts";
import { combinations, manifestsOf } from "./switches.ts";

/** Below it mounts are on every release, and on Windows Server 2019 nowhere else. */
const variable = "%CONTAINER_SANDBOX_MOUNT_POINT%";
const tokenFolder = "/var/run/secrets/kubernetes.io/serviceaccount";
const build2019 = "10.0.17763";

/** Why programs with an account need not be given its files; by workload and container. */
const others: Readonly<Record<string, string>> = {
  "ebs-csi-node-windows/ebs-plugin": "looks below the container's folder by itself (pkg/cloud/metadata/k8s.go)",
  "ebs-csi-node-windows/node-driver-registrar": "speaks to the kubelet's sockets alone",
  "ebs-csi-node-windows/liveness-probe": "asks the driver's socket alone",
  "ebs-csi-node-windows/folder": "makes a folder and ends",
};

/** Why no PowerShell of HostProcess containers with less than 512 MiB is refused memory. */
const withoutPowerShell: Readonly<Record<string, string>> = {
  "csi-azuredisk-node-windows/folder": "makes a folder by cmd and ends",
  "csi-azuredisk-node-windows/node-driver-registrar": "speaks to the kubelet's sockets alone",
  "csi-smb-node-windows/folder": "as Azure's",
  "csi-smb-node-windows/node-driver-registrar": "as Azure's",
  "ebs-csi-node-windows/folder": "as Azure's",
  "ebs-csi-node-windows/liveness-probe": "asks the driver's socket alone",
  "ebs-csi-node-windows/node-driver-registrar": "as Azure's",
};

/** Who notices a hung Windows half that lacks the probe of its Linux half. */
const unprobed: Readonly<Record<string, string>> = {
  "kube-flannel-windows": "the machine's health task",
  "csi-azuredisk-node-windows": "`verify`: volume/ and attachments; upstream's half has none",
  "csi-smb-node-windows": "`verify`: share/; upstream's half has none",
};

const withoutDrive = (path: unknown): string =>
  String(path)
    .replace(/^[A-Z]:/i, "")
    .replaceAll("\\", "/");

/** HostProcess pods with their objects. */
const hostProcessPods = (all: readonly Manifest[]) =>
  all.flatMap((each) => {
    const pod = podSpec(each);
    return pod?.securityContext?.windowsOptions?.hostProcess === true ? [{ name: each.metadata.name, pod, each }] : [];
  });

const containersOf = ({ initContainers = [], containers }: PodSpec) => [...initContainers, ...containers];

/** Whether a pod never comes to a node of Windows Server 2019. */
function avoids2019(pod: PodSpec): boolean {
  const terms = pod.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms ?? [];
  return terms.some(({ matchExpressions = [] }) =>
    matchExpressions.some(
      ({ key, operator, values }) => key === buildLabel && operator === "NotIn" && values?.includes(build2019),
    ),
  );
}

const subjects = (all: readonly Manifest[]): ReadonlySet<string> =>
  new Set(
    all.flatMap((each) =>
      each.kind === "RoleBinding" || each.kind === "ClusterRoleBinding"
        ? (each.subjects ?? []).map(({ name }) => String(name))
        : [],
    ),
  );

/** Whether a container runs a script of ours that calls this, with each pod network that has the script. */
function scriptHas({ command = [] }: Container, call: string): boolean {
  const name = /^C:\\fenestra\\([\w-]+\.ps1)$/.exec(String(command.at(-1)))?.[1] ?? "";
  const networks = Object.values(podNetworks).filter((network) => windowsScripts(network).includes(name));
  const called = new RegExp(`^ *${call} `, "m");
  return networks.length > 0 && networks.every((network) => called.test(readWindowsScript(name, network)));
}

/** What a container of a HostProcess pod does not find on Windows Server 2019. */
function unfound(pod: PodSpec, container: Container, hasRight: boolean): readonly string[] {
  const { command = [], args = [], env = [] } = container;
  const named = (mounted: string): boolean => {
    if (mounted === tokenFolder && scriptHas(container, "Write-PodKubeconfig")) return true;
    const values = env.map(({ value }) => withoutDrive(value));
    if (scriptHas(container, "Resolve-MountedFiles")) return values.some((value) => value.startsWith(`${mounted}/`));
    return [...command, ...args].some((text) => withoutDrive(text).includes(variable + mounted));
  };
  const mounts = (container.volumeMounts ?? []).map(({ mountPath }) => withoutDrive(mountPath));
  const account = pod.automountServiceAccountToken !== false && hasRight;
  return [...mounts, ...(account ? [tokenFolder] : [])].filter((mounted) => !named(mounted));
}

function unfoundIn(all: readonly Manifest[]): readonly string[] {
  const accounts = subjects(all);
  return hostProcessPods(all).flatMap(({ name, pod }) => {
    if (avoids2019(pod)) return [];
    const hasRight = accounts.has(String(pod.serviceAccountName));
    return containersOf(pod).flatMap((container) =>
      unfound(pod, container, hasRight).map((path) => `${name}/${container.name}: ${path}`),
    );
  });
}

/** The same without `others`. */
const wrong = (all: readonly Manifest[]): readonly string[] =>
  unfoundIn(all).filter((line) => !(line.replace(`: ${tokenFolder}`, "") in others));

describe("HostProcess containers on Windows Server 2019, where no mount is at its path", () => {
  it("find their account and each of their mounts, or need none for a reason", () => {
    for (const { title, spec } of combinations) assert.deepEqual(wrong(manifestsOf(spec)), [], title);
    const found = new Set(combinations.flatMap(({ spec }) => unfoundIn(manifestsOf(spec))));
    assert.deepEqual(
      [...found].toSorted(),
      Object.keys(others)
        .map((name) => `${name}: ${tokenFolder}`)
        .toSorted(),
    );
  });

  it("have the memory that a powershell.exe of their job needs, where they start any", () => {
    const megabytes = (limit: unknown): number => {
      const [, number = "NaN", unit] = /^(\d+)([GM])i$/.exec(String(limit)) ?? [];
      return Number(number) * (unit === "G" ? 1024 : 1);
    };
    const small = combinations.flatMap(({ spec }) =>
      hostProcessPods(manifestsOf(spec)).flatMap(({ name, pod }) =>
        containersOf(pod)
          .filter(({ resources }) => !(megabytes(resources?.limits?.memory) >= 512))
          .map((container) => `${name}/${container.name}`),
      ),
    );
    assert.deepEqual([...new Set(small)].toSorted(), Object.keys(withoutPowerShell).toSorted());
  });

  it("are probed as their halves on Linux, but for these", () => {
    const lacking = combinations.flatMap(({ spec }) => {
      const all = manifestsOf(spec);
      return all.flatMap((each) => {
        const linux = all.find(
          ({ kind, metadata }) => kind === each.kind && `${metadata.name}-windows` === each.metadata.name,
        );
        const probed = (half: Manifest | undefined) =>
          (half && podSpec(half)?.containers.some(({ livenessProbe }) => livenessProbe)) === true;
        return probed(linux) && !probed(each) ? [each.metadata.name] : [];
      });
    });
    assert.deepEqual([...new Set(lacking)].toSorted(), Object.keys(unprobed).toSorted());
  });

  it("have a line in the manual on what their programs do less than on Linux", () => {
    const workloads = combinations.flatMap(({ spec }) =>
      hostProcessPods(manifestsOf(spec)).flatMap(({ name, each }) =>
        each.metadata.namespace === "fenestra-samples-host" ? [] : [name],
      ),
    );
    const { text } = readDocument("docs/operations/debugging.md");
    const [, section = ""] = text.split("### Where an add-on does less on Windows\n");
    const told = [...(section.split("\n#")[0] ?? "").matchAll(/^\| `([\w-]+)` \|/gm)].map(([, name]) => name);
    assert.deepEqual(told.toSorted(), [...new Set(workloads)].toSorted());
  });
});
