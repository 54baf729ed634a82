import type { PolicyProof } from "../gates/policyGate.ts";
import type { ClusterSpec } from "../model/clusterSpec.ts";
import type { AddOnEntry } from "./addOnEntry.ts";
import { networking } from "./addOns/networking.ts";
import { controlPlaneDaemonSets } from "./guardRails/controlPlane.ts";
import { placementPolicy, placementPolicyName } from "./guardRails/placementPolicy.ts";
import { daemonSetPolicy, runtimeClassProbes } from "./guardRails/runtimeClassPolicy.ts";
import { validationPolicies } from "./guardRails/validationPolicies.ts";
import type { Manifest } from "./manifest.ts";
import { runtimeClasses } from "./runtimeClasses.ts";

/** Policies, with the proof that Windows pods get their RuntimeClass. */
export const guardRails: AddOnEntry = {
  name: "guard-rails",
  after: [runtimeClasses, networking],
  settings: ["guardRails"],
  proof: runtimeClassProof,
  manifests: guardRailManifests,
};

/** Admission policies inside the API server; no webhook that could be down. */
function guardRailManifests(
  spec: Pick<ClusterSpec, "addons" | "facts" | "kubernetes" | "pools" | "windows">,
): readonly Manifest[] {
  return [
    ...placementPolicy(spec),
    ...controlPlaneDaemonSets(spec),
    ...(spec.windows.length > 0 ? daemonSetPolicy(spec) : []),
    ...validationPolicies(spec),
  ];
}

/** How the policy on RuntimeClasses shows that it is in force; `undefined` where the cluster has none. */
function runtimeClassProof(spec: Pick<ClusterSpec, "kubernetes" | "pools" | "windows">): PolicyProof | undefined {
  if (spec.windows.length === 0) return undefined;
  return { policy: placementPolicyName, objects: placementPolicy(spec), probes: runtimeClassProbes(spec.windows) };
}
