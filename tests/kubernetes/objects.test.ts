import assert from "node:assert/strict";
import { parse } from "yaml";
import { z } from "zod";
import { volumes } from "../../components/kubernetes/addOns/volumes.ts";
import { podSpec } from "../../components/kubernetes/manifest.ts";
import { samples } from "../../components/kubernetes/samples.ts";
import { nameServerPatch } from "../../components/machine/linux/staticPodPatches.ts";
import { flannelPaths } from "../../components/podNetworks/flannel/network.ts";
import { exampleWindowsWorker, fileOf } from "../machine/examples.ts";
import { syntaxErrors } from "../support/powershell.ts";
import { lacking, needs } from "../support/powershellRules.ts";
import { exampleSpec } from "../support/stacks.ts";
import { combinations, manifest, manifestsOf, planOf, withoutWindows, withPools } from "./switches.ts";

const aws = exampleSpec("aws-dev");
const azure = exampleSpec("azure-dev");

describe("networking objects", () => {
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

  it("let drains end one pod of CoreDNS at a time, by the label that kubeadm gives it, of more pods in a larger cluster", () => {
    const { spec } = manifest(manifestsOf(aws), "PodDisruptionBudget", "coredns");
    assert.deepEqual(spec, {
      ...{ maxUnavailable: 1, unhealthyPodEvictionPolicy: "AlwaysAllow" },
      selector: { matchLabels: { "k8s-app": "kube-dns" } },
    });
    const scale = (count: number, max: number) => {
      const pools = aws.pools.slice(0, 1).map((pool) => ({ ...pool, count, autoscale: { min: 1, max } }));
      const { minReplicas, maxReplicas } =
        manifest(manifestsOf(withPools(aws, pools)), "HorizontalPodAutoscaler", "coredns").spec ?? {};
      return [minReplicas, maxReplicas];
    };
    const scaled = [scale(1, 1), scale(60, 60), scale(60, 200)];
    assert.deepEqual(scaled, [
      [2, 4],
      [4, 8],
      [4, 26],
    ]);
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
    const workloads = manifestsOf(withoutWindows(aws)).filter((each) => podSpec(each)?.os?.name === "windows");
    assert.deepEqual(workloads, []);
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
        assert.equal(host?.value, "api.internal.test", `${title}: ${each.metadata.name}`);
      }
  });

  it("let the drivers go after the volumes of deleted claims, without a time that every roll would wait for", () => {
    for (const { title, spec } of combinations) {
      const plan = planOf(spec);
      const all = plan.flatMap(({ manifests }) => manifests);
      const drivers = all.filter(({ kind, metadata }) => kind === "Deployment" && /csi/.test(metadata.name));
      for (const each of all.filter(({ metadata }) => !/^fenestra-samples/.test(metadata.namespace ?? ""))) {
        const { containers = [], initContainers = [] } = podSpec(each) ?? {};
        assert.ok(
          [...containers, ...initContainers].every(({ lifecycle }) => lifecycle === undefined),
          `${title}: ${each.metadata.name}`,
        );
      }
      const held = plan.find(({ name }) => name === "volumes");
      assert.equal(held !== undefined, drivers.length > 0, title);
      const finalizers = held?.manifests.flatMap(({ metadata }) => metadata.finalizers) ?? [];
      assert.deepEqual(finalizers, held === undefined ? [] : ["fenestra.dev/volumes"]);
    }
    assert.ok(samples.after.includes(volumes) && volumes.cleansUp === true);
  });
});

describe("PowerShell in objects", () => {
  it("has the limits and encodings of the machines' scripts, in commands of pods and in files for them", async () => {
    const embedded = combinations.flatMap(({ spec }) =>
      manifestsOf(spec).flatMap((each) => {
        const { containers = [], initContainers = [] } = podSpec(each) ?? {};
        const commands = [...containers, ...initContainers].map(({ command = [], args = [] }) => [...command, ...args]);
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
