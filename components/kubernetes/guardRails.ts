import type { ClassProbe, PolicyProof } from "../gates/policyGate.ts";
import type { ClusterSpec } from "../model/clusterSpec.ts";
import { systemNamespaces } from "../model/nodeSettings.ts";
import { type WindowsFacts, windowsReleases } from "../model/operatingSystems.ts";
import { buildLabel } from "../model/pools.ts";
import type { AddOnEntry } from "./addOnEntry.ts";
import { networking } from "./addOns/networking.ts";
import { type Blanks, readPolicies } from "./guardRails/ownNode.ts";
import { classForImages, type Placing, placing, runtimeClasses } from "./guardRails/places.ts";
import type { Manifest } from "./manifest.ts";

/** Policies, with the proof that Windows pods get their RuntimeClass. */
export const guardRails: AddOnEntry = {
  name: "guard-rails",
  after: [runtimeClasses, networking],
  settings: ["guardRails"],
  proof: runtimeClassProof,
  manifests: (spec) => ["placement", "pods", "services"].flatMap((name) => policies(name, spec)),
};

/** Name of the policy that gives pods their places, and of its binding. */
const placementPolicyName = "fenestra-placement";

type Spec = Placing & Pick<ClusterSpec, "addons" | "controlPlane" | "facts" | "kubernetes">;

/** Admission policies inside the API server; no webhook that could be down. */
function policies(name: string, spec: Spec): readonly Manifest[] {
  return readPolicies(new URL(`guardRails/${name}.yaml`, import.meta.url), blanks(spec));
}

/**
 * Objects with a pod's spec in them. Their authors see the warnings; those that a controller gets are not shown. Why
 * for every version: `guardRails/pods.yaml`.
 */
const workloads = [
  ["apps", "deployments", "daemonsets", "statefulsets", "replicasets"],
  ["batch", "jobs", "cronjobs"],
  ["", "replicationcontrollers"],
].map(([group, ...resources]) => ({
  apiGroups: [group],
  apiVersions: ["*"],
  operations: ["CREATE", "UPDATE"],
  resources,
}));

/** What the files of policies have to know of a cluster. */
function blanks(spec: Spec): Blanks {
  const { addons, controlPlane, facts, kubernetes, windows } = spec;
  const { cel, values } = placing(spec);
  const namespaces = systemNamespaces(spec);
  const ofWindows = windows.length > 0;
  const network = kubernetes.podNetwork.windows;
  const deaf = windows.filter((release) => !network.hostReachesOwnPods(release)).map(({ name }) => name);
  // Another level by default has rules that nobody here knows.
  const baseline = !controlPlane.admission?.some(({ name }) => name === "PodSecurity");
  return {
    cel: { ...cel, ...(!baseline && { seesNode: "false" }) },
    values: {
      ...values,
      workloads,
      systemNamespaces: namespaces,
      notSystem: { key: "kubernetes.io/metadata.name", operator: "NotIn", values: namespaces },
      withoutAccounts: ofWindows && addons.gmsa === undefined,
      withoutHostPorts: ofWindows && !network.hostPorts,
      deaf: deaf.length > 0 && deaf,
      deafNames: deaf.join(", "),
      otherBuild:
        windows.length > 1
          ? `, or choose another build by {pod}.runtimeClassName, in a DaemonSet by ${buildLabel} in {pod}.nodeSelector`
          : "",
      baseline,
      addressAnnotations: facts.network.addressAnnotations,
      unenforced: unenforced(spec),
    },
  };
}

/** What of NetworkPolicies nothing enforces. */
function unenforced({ kubernetes, windows }: Pick<ClusterSpec, "kubernetes" | "windows">): string | undefined {
  if (kubernetes.networkPolicies === "none")
    return "nothing in this cluster enforces NetworkPolicies, so every pod still reaches every other: keep tenants in clusters of their own";
  return windows.length === 0
    ? undefined
    : "NetworkPolicies hold for pods on Linux alone: what Windows pods may reach and who reaches them they do not limit";
}

/** What is told of pods. */
export const podWarnings = (spec: Spec): readonly Manifest[] => policies("warnings", spec);

/**
 * Pods that prove that the policy is in force: an image of every known release and one of none, each with the class
 * that it must get. With every build that a cluster gains or loses one answer changes, so that an earlier policy is not
 * mistaken for the present one.
 */
export function runtimeClassProbes(builds: readonly WindowsFacts[]): readonly ClassProbe[] {
  const [only, ...others] = builds;
  const probe = (tag: string, name: string): ClassProbe => ({
    image: `mcr.microsoft.com/windows/nanoserver:${tag}`,
    runtimeClass: name === "" ? undefined : name,
  });
  return [
    ...windowsReleases.map((release) => probe(release.imageTag, classForImages(release, builds))),
    probe("latest", others.length === 0 ? (only?.name ?? "") : ""),
  ];
}

/** How the policy on RuntimeClasses shows that it is in force; `undefined` where the cluster has none. */
function runtimeClassProof(spec: Spec): PolicyProof | undefined {
  if (spec.windows.length === 0) return undefined;
  const objects = policies("placement", spec).filter(({ metadata: { name } }) => name === placementPolicyName);
  return { policy: placementPolicyName, objects, probes: runtimeClassProbes(spec.windows) };
}
