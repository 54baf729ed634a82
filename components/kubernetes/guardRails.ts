import type { PolicyProof } from "../gates/policyGate.ts";
import type { ClusterSpec } from "../model/clusterSpec.ts";
import type { AddOnEntry } from "./addOnEntry.ts";
import { networking } from "./addOns/networking.ts";
import { controlPlaneDaemonSets } from "./guardRails/controlPlane.ts";
import { placementPolicy, placementPolicyName } from "./guardRails/placementPolicy.ts";
import { changesPods, withoutMutation } from "./guardRails/policy.ts";
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

/** What a reader of the plan should know about the guard rails: what this version cannot do. */
export function guardRailFindings(spec: Pick<ClusterSpec, "addons" | "kubernetes" | "windows">): readonly string[] {
  if (!spec.addons.guardRails || spec.windows.length === 0) return [];
  return withoutMutation(spec, "Windows pods must name their RuntimeClass themselves");
}

/** Admission policies inside the API server; no webhook that could be down. */
export function guardRailManifests(
  spec: Pick<ClusterSpec, "addons" | "facts" | "kubernetes" | "pools" | "windows">,
): readonly Manifest[] {
  return [
    ...(changesPods(spec) ? [...placementPolicy(spec), ...controlPlaneDaemonSets(spec)] : []),
    ...(placesPods(spec) ? daemonSetPolicy(spec) : []),
    ...validationPolicies(spec),
  ];
}

/** How the policy on RuntimeClasses shows that it is in force; `undefined` where the cluster has none. */
function runtimeClassProof(spec: Pick<ClusterSpec, "kubernetes" | "pools" | "windows">): PolicyProof | undefined {
  if (!placesPods(spec)) return undefined;
  return { policy: placementPolicyName, objects: placementPolicy(spec), probes: runtimeClassProbes(spec.windows) };
}

function placesPods(spec: Pick<ClusterSpec, "kubernetes" | "windows">): boolean {
  return spec.windows.length > 0 && changesPods(spec);
}
