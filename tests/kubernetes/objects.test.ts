import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { parse } from "yaml";
import { z } from "zod";
import { volumes } from "../../components/kubernetes/addOns/volumes.ts";
import { type Container, type Manifest, type PodSpec, podSpec } from "../../components/kubernetes/manifest.ts";
import { samples } from "../../components/kubernetes/samples.ts";
import { nameServerPatch } from "../../components/machine/linux/staticPodPatches.ts";
import { readWindowsScript, windowsScripts } from "../../components/machine/windows/worker.ts";
import { buildLabel } from "../../components/model/pools.ts";
import { flannelPaths } from "../../components/podNetworks/flannel/network.ts";
import { podNetworks } from "../../components/podNetworks/podNetworks.ts";
import { readDocument } from "../docs/documents.ts";
import { exampleWindowsWorker, fileOf } from "../machine/examples.ts";
import { lacking, needs, syntaxErrors } from "../support/powershellRules.ts";
import { exampleSpec } from "../support/stacks.ts";
import { suiteFolder } from "../support/suite.ts";
import {
  combinations,
  containersOf,
  manifest,
  manifestsOf,
  planOf,
  subjectsOf,
  withoutWindows,
  withPools,
} from "./switches.ts";

const aws = exampleSpec("aws-dev");
const azure = exampleSpec("azure-dev");

describe("networking objects", () => {
  const folder = suiteFolder();

  it("give Linux the net-conf that a Windows node finds on its disk, and packets that the cloud does not split", () => {
    for (const [spec, unsplit] of [
      [aws, {}],
      [azure, { MTU: 1400 }],
    ] as const) {
      const data = manifest(manifestsOf(spec), "ConfigMap", "kube-flannel-cfg").data ?? {};
      const netConf = {
        Network: spec.kubernetes.podCidr,
        EnableNFTables: false,
        Backend: { Type: "vxlan", VNI: 4096, Port: 4789 },
      };
      const backend = { ...netConf.Backend, ...unsplit };
      assert.deepEqual(JSON.parse(String(data["net-conf.json"])), { ...netConf, Backend: backend });
      assert.deepEqual(JSON.parse(String(fileOf(exampleWindowsWorker(spec), flannelPaths.netConf))), netConf);
    }
  });

  it("make a Linux node Ready when flanneld has written what its plug-in reads, or end flanneld", async () => {
    const pod = podSpec(manifest(manifestsOf(aws), "DaemonSet", "kube-flannel")) ?? assert.fail();
    const writers = (containers: readonly Container[] = []) =>
      containers.flatMap(({ name, volumeMounts = [] }) =>
        volumeMounts.some(({ mountPath }) => mountPath === "/etc/cni/net.d") ? [name] : [],
      );
    assert.deepEqual([writers(pod.initContainers), writers(pod.containers)], [[], ["kube-flannel"]]);
    const [, , script] = z
      .tuple([z.literal("sh"), z.literal("-c"), z.string()])
      .parse(pod.containers[0]?.lifecycle?.postStart?.exec?.command);
    const here = script.replaceAll(/\/run\/flannel|\/opt\/bin/g, folder).replace("timeout 90", "timeout 0.5");
    writeFileSync(path.join(folder, "install-conf"), '#!/bin/sh\necho "$@"\n', { mode: 0o755 });
    // It knows a rule that was added (iptables(8), --check).
    const rules = path.join(folder, "rules");
    const iptables = `#!/bin/sh\ncase "$*" in *" -C "*) grep -qxe "\${*%% -C *} -A \${*#* -C }" ${rules} ;; *) echo "$@" >>${rules} ;; esac\n`;
    writeFileSync(path.join(folder, "iptables"), iptables, { mode: 0o755 });
    const PATH = `${folder}:${process.env.PATH}`;
    const run = () => {
      const { status, stdout } = spawnSync("sh", ["-c", here], { encoding: "utf8", env: { PATH } });
      return [status, stdout.trim()];
    };
    assert.deepEqual(run(), [124, ""]);
    writeFileSync(path.join(folder, "subnet.env"), "FLANNEL_SUBNET=10.244.1.1/24\n");
    assert.deepEqual(run(), [0, "/etc/kube-flannel/cni-conf.json /etc/cni/net.d/10-flannel.conflist"]);
    // Added once, and for packets of nodes alone: a Service may have this port.
    const untracked = (chain: string) => `-w 5 -t raw -A ${chain} -p udp --dport 4789 -j NOTRACK\n`;
    assert.equal(
      readFileSync(rules, "utf8"),
      untracked("PREROUTING -m addrtype --dst-type LOCAL") + untracked("OUTPUT"),
    );
  });

  it("want more pods of CoreDNS in a larger cluster", () => {
    const scale = (count: number, max: number) => {
      const pools = aws.pools.slice(0, 1).map((pool) => ({ ...pool, count, autoscale: { min: 1, max } }));
      const { minReplicas, maxReplicas } =
        manifest(manifestsOf(withPools(aws, pools)), "HorizontalPodAutoscaler", "coredns").spec ?? {};
      return [minReplicas, maxReplicas];
    };
    assert.deepEqual(
      [scale(1, 1), scale(60, 60), scale(60, 200)],
      [
        [2, 4],
        [4, 8],
        [4, 26],
      ],
    );
  });

  it("want no more pods of CoreDNS than its nodes hold, whatever the pools, and no hard spread over nodes with taints", () => {
    const windows = aws.pools.find(({ os }) => os === "windows");
    const linux = aws.pools.find(({ os }) => os === "linux");
    assert.ok(windows !== undefined && linux !== undefined);
    const taints = [{ key: "gpu", value: "true", effect: "NoSchedule" as const }];
    const tainted = { ...linux, scheduling: { ...linux.scheduling, taints } };
    for (const free of [0, 1, 30])
      for (const others of [0, 46, 900])
        for (const closed of [windows, tainted]) {
          const pools = [
            { ...linux, count: free },
            { ...closed, name: "other", count: others },
          ].map((pool) => ({ ...pool, autoscale: undefined }));
          const scale = manifest(manifestsOf(withPools(aws, pools)), "HorizontalPodAutoscaler", "coredns").spec ?? {};
          const least = Number(scale.minReplicas);
          const room = 4 * (aws.controlPlane.members.length + free);
          assert.ok(
            least >= 2 && least <= room && Number(scale.maxReplicas) <= room,
            JSON.stringify([free, others, scale]),
          );
        }
    const patches = [nameServerPatch.content, ...manifestsOf(aws).map((each) => JSON.stringify(podSpec(each) ?? {}))];
    for (const text of patches) {
      const spec = /^spec/.test(text) ? parse(text).spec.template.spec : JSON.parse(text);
      for (const { whenUnsatisfiable, nodeTaintsPolicy } of spec.topologySpreadConstraints ?? [])
        assert.ok(whenUnsatisfiable !== "DoNotSchedule" || nodeTaintsPolicy === "Honor", text);
      assert.deepEqual(spec.affinity?.podAntiAffinity?.requiredDuringSchedulingIgnoredDuringExecution, undefined);
    }
  });

  it("have nothing for Windows in a cluster without it", () => {
    assert.deepEqual(
      manifestsOf(withoutWindows(aws)).filter((each) => podSpec(each)?.os?.name === "windows"),
      [],
    );
  });
});

describe("admission policies", () => {
  it("spare the type controller work: for each expression and kind it compiles all variables anew", () => {
    const policy = z.object({
      variables: z.array(z.object({ expression: z.string() })).default([]),
      validations: z.array(z.object({ expression: z.string(), messageExpression: z.string().optional() })),
      matchConstraints: z.object({
        resourceRules: z.array(z.object({ apiVersions: z.array(z.string()), resources: z.array(z.string()) })),
      }),
    });
    for (const { title, spec } of combinations)
      for (const { kind, metadata, ...rest } of manifestsOf(spec)) {
        if (kind !== "ValidatingAdmissionPolicy") continue;
        const { variables, validations, matchConstraints } = z.object({ spec: policy }).parse(rest).spec;
        // It knows no type by which to check a rule for all versions (k8s.io/apiserver: validating/typechecking.go).
        const kinds = matchConstraints.resourceRules.flatMap(({ apiVersions, resources }) =>
          apiVersions.includes("*") ? [] : resources.filter((name) => !name.includes("/")),
        );
        const before = variables.reduce((sum, { expression }) => sum + expression.length, 0);
        const each = validations.flatMap(({ expression, messageExpression }) => [expression, messageExpression ?? []]);
        const compiled = kinds.length * each.flat().reduce((sum, { length }) => sum + before + length, 0);
        assert.ok(compiled < 100_000, `${title}: ${metadata.name}: ${compiled} characters`);
      }
  });
});

describe("cloud objects", () => {
  it("let no account read Secrets of all namespaces: a program on a worker could read those of the control plane", () => {
    const readers = combinations.flatMap(({ title, spec }) =>
      manifestsOf(spec).flatMap((each) =>
        each.kind === "ClusterRole" &&
        each.rules?.some(
          ({ resources = [], resourceNames = [] }) =>
            resourceNames.length === 0 && resources.some((name) => name === "secrets" || name === "*"),
        )
          ? `${title}: ${each.metadata.name}`
          : [],
      ),
    );
    assert.deepEqual(readers, []);
  });

  it("reach the API by its name from every HostProcess pod that acts with an account, and not by a Service's address", () => {
    for (const { title, spec } of combinations)
      for (const each of manifestsOf(spec)) {
        const pod = podSpec(each);
        if (pod?.securityContext?.windowsOptions?.hostProcess !== true || pod.automountServiceAccountToken === false)
          continue;
        const host = pod.containers[0]?.env?.find(({ name }) => name === "KUBERNETES_SERVICE_HOST");
        assert.equal(host?.value, "api.internal.test", `${title}: ${each.metadata.name} wants apiByName, or no token`);
      }
  });

  it("let the drivers go after the volumes of deleted claims, without a time that every roll would wait for", () => {
    for (const { title, spec } of combinations) {
      const plan = planOf(spec);
      const all = plan.flatMap(({ manifests }) => manifests);
      const drivers = all.filter(({ kind, metadata }) => kind === "Deployment" && /csi/.test(metadata.name));
      for (const each of all.filter(({ metadata }) => !/^fenestra-samples/.test(metadata.namespace ?? ""))) {
        assert.ok(
          containersOf(each).every(({ lifecycle }) => lifecycle?.preStop === undefined),
          `${title}: ${each.metadata.name}`,
        );
      }
      const held = plan.find(({ name }) => name === "volumes");
      assert.equal(held !== undefined, drivers.length > 0, title);
      assert.deepEqual(
        held?.manifests.flatMap(({ metadata }) => metadata.finalizers) ?? [],
        held === undefined ? [] : ["fenestra.dev/volumes"],
      );
    }
    assert.ok(samples.after.includes(volumes) && volumes.cleansUp === true);
  });
});

describe("PowerShell in objects", () => {
  it("has the limits and encodings of the machines' scripts, in commands of pods and in files for them", async () => {
    const embedded = combinations.flatMap(({ spec }) =>
      manifestsOf(spec).flatMap((each) => {
        const commands = containersOf(each).map(({ command = [], args = [] }) => [...command, ...args]);
        const files = each.kind === "ConfigMap" ? Object.entries(each.data ?? {}) : [];
        return [
          ...commands.filter((words) => /^(?:powershell|pwsh)/.test(String(words[0])) && words.includes("-Command")),
          ...files.filter(([name]) => name.endsWith(".ps1")),
        ].map((words) => String(words.at(-1)));
      }),
    );
    const scripts = [...new Set(embedded)];
    assert.ok(scripts.length > 5 && scripts.some((script) => script.includes("diary.txt")));
    for (const script of scripts) {
      assert.deepEqual(await lacking(script, needs), []);
      assert.deepEqual(await syntaxErrors(script), []);
    }
  });
});

/** Below it mounts are on every release, and on Windows Server 2019 nowhere else. */
const variable = "%CONTAINER_SANDBOX_MOUNT_POINT%";
const tokenFolder = "/var/run/secrets/kubernetes.io/serviceaccount";

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

const withoutDrive = (path: unknown) =>
  String(path)
    .replace(/^[A-Z]:/i, "")
    .replaceAll("\\", "/");

/** HostProcess pods with their objects. */
const hostProcessPods = (all: readonly Manifest[]) =>
  all.flatMap((each) => {
    const pod = podSpec(each);
    return pod?.securityContext?.windowsOptions?.hostProcess === true ? [{ name: each.metadata.name, pod, each }] : [];
  });

/** Whether a pod never comes to a node of Windows Server 2019. */
function avoids2019(pod: PodSpec) {
  const terms = pod.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms ?? [];
  return terms.some(({ matchExpressions = [] }) =>
    matchExpressions.some(
      ({ key, operator, values }) => key === buildLabel && operator === "NotIn" && values?.includes("10.0.17763"),
    ),
  );
}

/** Whether a container runs a script of ours that calls this, with each pod network that has the script. */
function scriptHas({ command = [] }: Container, call: string) {
  const name = /^C:\\fenestra\\([\w-]+\.ps1)$/.exec(String(command.at(-1)))?.[1] ?? "";
  const networks = Object.values(podNetworks).filter((network) => windowsScripts(network).includes(name));
  const called = new RegExp(`^ *${call} `, "m");
  return networks.length > 0 && networks.every((network) => called.test(readWindowsScript(name, network)));
}

/** What a container of a HostProcess pod does not find on Windows Server 2019. */
function unfound(pod: PodSpec, container: Container, hasRight: boolean) {
  const { command = [], args = [], env = [] } = container;
  const named = (mounted: string) => {
    if (mounted === tokenFolder && scriptHas(container, "Write-PodKubeconfig")) return true;
    const values = env.map(({ value }) => withoutDrive(value));
    if (scriptHas(container, "Resolve-MountedFiles")) return values.some((value) => value.startsWith(`${mounted}/`));
    return [...command, ...args].some((text) => withoutDrive(text).includes(variable + mounted));
  };
  const mounts = (container.volumeMounts ?? []).map(({ mountPath }) => withoutDrive(mountPath));
  const account = pod.automountServiceAccountToken !== false && hasRight;
  return [...mounts, ...(account ? [tokenFolder] : [])].filter((mounted) => !named(mounted));
}

function unfoundIn(all: readonly Manifest[]) {
  const accounts = new Set(subjectsOf(all).map(({ name }) => String(name)));
  return hostProcessPods(all).flatMap(({ name, pod, each }) => {
    if (avoids2019(pod)) return [];
    const hasRight = accounts.has(String(pod.serviceAccountName));
    return containersOf(each).flatMap((container) =>
      unfound(pod, container, hasRight).map((path) => `${name}/${container.name}: ${path}`),
    );
  });
}

/** The same without `others`. */
const wrong = (all: readonly Manifest[]) =>
  unfoundIn(all).filter((line) => !(line.replace(`: ${tokenFolder}`, "") in others));

describe("HostProcess containers on Windows Server 2019, where no mount is at its path", () => {
  it("find their account and each of their mounts, or need none for a reason", () => {
    for (const { title, spec } of combinations) assert.deepEqual(wrong(manifestsOf(spec)), [], title);
    assert.deepEqual(
      [...new Set(combinations.flatMap(({ spec }) => unfoundIn(manifestsOf(spec))))].toSorted(),
      Object.keys(others)
        .map((name) => `${name}: ${tokenFolder}`)
        .toSorted(),
    );
  });

  it("name their user, and have the memory that a powershell.exe of their job needs, where they start any", () => {
    const megabytes = (limit: unknown) => {
      const [, number = "NaN", unit] = /^(\d+)([GM])i$/.exec(String(limit)) ?? [];
      return Number(number) * (unit === "G" ? 1024 : 1);
    };
    const small = combinations.flatMap(({ spec }) =>
      hostProcessPods(manifestsOf(spec)).flatMap(({ name, pod, each }) => {
        assert.match(
          String(pod.securityContext?.windowsOptions?.runAsUserName),
          /^NT AUTHORITY\\(SYSTEM|Local service)$/,
          name,
        );
        return containersOf(each)
          .filter(({ resources }) => !(megabytes(resources?.limits?.memory) >= 512))
          .map((container) => `${name}/${container.name}`);
      }),
    );
    assert.deepEqual(
      [...new Set(small)].toSorted(),
      Object.keys(withoutPowerShell).toSorted(),
      "512Mi, or a reason in withoutPowerShell",
    );
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
    assert.deepEqual(
      [...new Set(lacking)].toSorted(),
      Object.keys(unprobed).toSorted(),
      "a probe, or a row in unprobed",
    );
  });

  it("have a line in the manual on what their programs do less than on Linux", () => {
    const workloads = combinations.flatMap(({ spec }) =>
      hostProcessPods(manifestsOf(spec)).flatMap(({ name, each }) =>
        each.metadata.namespace === "fenestra-samples-host" ? [] : [name],
      ),
    );
    const { text } = readDocument("docs/windows-applications.md");
    const [, section = ""] = text.split("## What Windows does differently\n");
    assert.deepEqual(
      [...(section.split("\n#")[0] ?? "").matchAll(/^\| `([\w-]*windows[\w-]*)` \|/gm)]
        .map(([, name]) => name)
        .toSorted(),
      [...new Set(workloads)].toSorted(),
      "rows of docs/windows-applications.md",
    );
  });
});
