import assert from "node:assert/strict";
import { type Manifest, podSpec } from "../../components/kubernetes/manifest.ts";
import { runtimeClassFacts } from "../../components/kubernetes/runtimeClasses.ts";
import type { ClusterSpec } from "../../components/model/clusterSpec.ts";
import { combinations, manifestsOf } from "./switches.ts";

/** The node labels that a pod of this manifest demands, with its RuntimeClass's merged in as the API server does. */
function selectorOf(manifest: Manifest, spec: ClusterSpec): Readonly<Record<string, string>> {
  const pod = podSpec(manifest);
  const runtime = runtimeClassFacts(spec).find(({ name }) => name === pod?.runtimeClassName);
  const selector: Record<string, string> = {};
  for (const [key, value] of Object.entries({ ...pod?.nodeSelector, ...runtime?.nodeSelector })) selector[key] = String(value);
  return selector;
}

describe("placement of pods", () => {
  for (const { title, spec } of combinations) {
    const workloads = manifestsOf(spec).filter((manifest) => podSpec(manifest) !== undefined);

    it(`${title}: every pod says which operating system it runs on`, () => {
      for (const manifest of workloads) {
        const os = selectorOf(manifest, spec)["kubernetes.io/os"];
        const windows = podSpec(manifest)?.os?.name === "windows";
        assert.equal(os, windows ? "windows" : "linux", `${manifest.kind} ${manifest.metadata.name}`);
      }
    });

    it(`${title}: a Windows pod that is no HostProcess pod names one RuntimeClass, and its image is of that build`, () => {
      for (const manifest of workloads) {
        const pod = podSpec(manifest);
        if (pod?.os?.name !== "windows" || pod.securityContext?.windowsOptions?.hostProcess === true) continue;
        const runtime = runtimeClassFacts(spec).find(({ name }) => name === pod.runtimeClassName);
        assert.ok(runtime !== undefined, `${manifest.metadata.name} names no RuntimeClass of the cluster`);
        assert.equal(
          selectorOf(manifest, spec)["node.kubernetes.io/windows-build"],
          runtime.nodeSelector["node.kubernetes.io/windows-build"],
        );
        const year = runtime.name.replace("windows-", "");
        for (const { image } of [...pod.containers, ...(pod.initContainers ?? [])])
          assert.match(String(image), new RegExp(`[:-]ltsc${year}(@sha256:[0-9a-f]{64})?$`));
      }
    });

    it(`${title}: every Windows container states what it takes`, () => {
      for (const manifest of workloads) {
        const pod = podSpec(manifest);
        if (pod?.os?.name !== "windows") continue;
        for (const { resources } of pod.containers) {
          assert.ok(resources?.requests?.cpu !== undefined && resources.requests.memory !== undefined, manifest.metadata.name);
          assert.ok(resources.limits?.memory !== undefined, `${manifest.metadata.name} has a container without memory limit`);
        }
      }
    });
  }
});
