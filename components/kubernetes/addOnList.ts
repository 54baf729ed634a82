import type { ClusterSpec } from "../model/clusterSpec.ts";
import type { AddOnEntry, InClusterValues } from "./addOnEntry.ts";
import { autoscaler } from "./addOns/autoscaler.ts";
import { cloudController } from "./addOns/cloudController.ts";
import { gmsa } from "./addOns/gmsa.ts";
import { logs } from "./addOns/logs.ts";
import { exporters, metricsServer, monitoring } from "./addOns/metrics.ts";
import { networking, networkPolicies } from "./addOns/networking.ts";
import { nodeProblemDetector } from "./addOns/nodeProblemDetector.ts";
import { volumeSnapshots } from "./addOns/volumeSnapshots.ts";
import { smb, storage, volumes } from "./addOns/volumes.ts";
import { nodeController, signIn, workloadIdentity } from "./addOns/workloadIdentity.ts";
import { runtimeClasses } from "./guardRails/places.ts";
import { guardRails, podWarnings } from "./guardRails.ts";
import type { Manifest } from "./manifest.ts";
import { samples } from "./samples.ts";
import { configMap } from "./workload.ts";

export const addOnList = inOrder([
  runtimeClasses,
  signIn,
  networking,
  networkPolicies,
  cloudController,
  nodeController,
  volumeSnapshots,
  storage,
  smb,
  volumes,
  guardRails,
  metricsServer,
  monitoring,
  exporters,
  nodeProblemDetector,
  logs,
  autoscaler,
  gmsa,
  workloadIdentity,
  samples,
]);

/**
 * The same add-ons.
 *
 * @throws RangeError when one does not come after all that it names: it would not wait for those
 */
function inOrder(entries: readonly AddOnEntry[]): readonly AddOnEntry[] {
  for (const [index, { name, after }] of entries.entries()) {
    const late = after.find((other) => !entries.slice(0, index).includes(other));
    if (late !== undefined) throw new RangeError(`${name} must come after ${late.name}`);
  }
  return entries;
}

export interface RenderedAddOn {
  readonly name: string;
  readonly entry: AddOnEntry;
  readonly manifests: readonly Manifest[];
}

/** The add-ons of a cluster in the order of creation. */
export function addOnOrder(spec: ClusterSpec, values: InClusterValues): readonly RenderedAddOn[] {
  const isOn = (setting: keyof typeof spec.addons) =>
    spec.addons[setting] !== undefined && spec.addons[setting] !== false;
  const made = addOnList
    .filter(({ settings }) => settings?.some(isOn) ?? true)
    .map((entry) => ({ name: entry.name, entry, manifests: entry.manifests(spec, values) }))
    .filter(({ manifests }) => manifests.length > 0);
  const all = [...made, ...warnings(spec)];
  return [...all, inventory(spec, all)];
}

/** What is told of pods; in a list of its own, since its objects came to clusters so. */
function warnings(spec: ClusterSpec): readonly RenderedAddOn[] {
  if (!spec.addons.guardRails) return [];
  const manifests = podWarnings(spec);
  const name = "pod-warnings";
  return [{ name, entry: { name, after: [], manifests: () => manifests }, manifests }];
}

/**
 * What there must be, machines of the control plane, pools, and a line for each object: `fenestra verify` knows nothing
 * of the stack, and sees what somebody has deleted.
 */
function inventory({ controlPlane, pools }: ClusterSpec, made: readonly RenderedAddOn[]): RenderedAddOn {
  const objects = made
    .flatMap(({ manifests }) => manifests)
    .map(({ apiVersion, kind, metadata: { namespace = "", name } }) => `${apiVersion} ${kind} ${namespace}/${name}`);
  const data = {
    controlPlane: String(controlPlane.members.length),
    pools: pools.map(({ name }) => name).join(" "),
    objects: objects.join("\n"),
  };
  const manifest = configMap({ name: "fenestra-objects", namespace: "kube-system" }, data);
  const entry: AddOnEntry = { name: "inventory", after: [], manifests: () => [manifest] };
  return { name: entry.name, entry, manifests: [manifest] };
}
