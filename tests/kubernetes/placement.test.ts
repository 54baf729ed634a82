import assert from "node:assert/strict";
import { runtimeClassFacts } from "../../components/kubernetes/guardRails/places.ts";
import { type Manifest, podSpec } from "../../components/kubernetes/manifest.ts";
import { readArtifactLock } from "../../components/model/artifacts.ts";
import type { ClusterSpec } from "../../components/model/clusterSpec.ts";
import { combinations, manifest, manifestsOf } from "./switches.ts";

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
        const pod = podSpec(manifest);
        for (const { image } of [...(pod?.containers ?? []), ...(pod?.initContainers ?? [])])
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
        const pod = podSpec(manifest(manifestsOf(spec), "Deployment", name));
        assert.equal(pod?.nodeSelector?.["node-role.kubernetes.io/control-plane"], "", name);
      }
    });
  }
});
