import type { ClusterSpec } from "../../model/clusterSpec.ts";
import type { Manifest } from "../manifest.ts";
import type { Placing } from "./cel.ts";
import { affinityPlace, keepsOff, labelsNamer } from "./controlPlane.ts";
import { mutationManifests, namespaceLabels, notSystem, podsWhen, sum } from "./policy.ts";
import { placesWindows } from "./runtimeClassPolicy.ts";
import { text, texts } from "./texts.ts";

/** Name of the policy that gives pods their places, and of its binding. */
export const placementPolicyName = "fenestra-placement";

/**
 * Gives Windows pods what takes them to Windows nodes, and keeps pods off the machines of the control plane. One policy
 * for both: the API server makes a map of each pod for every condition, and the whole pod anew for every change
 * (k8s.io/apiserver: plugin/policy/mutating/dispatcher.go). Conditions know no namespace but its name, so that those
 * with the label go through the mutation and stay as they are.
 */
export function placementPolicy(spec: Placing & Pick<ClusterSpec, "kubernetes">): readonly Manifest[] {
  const off = keepsOff("spec", true);
  const windows = spec.windows.length > 0 ? placesWindows(spec) : undefined;
  const order = windows?.order;
  const bound = `!(request.namespace in ${texts(notSystem(spec).values)})`;
  const allowed = `namespaceObject.metadata.?labels[?${text(namespaceLabels.controlPlane)}].orValue("") == "allowed"`;
  return mutationManifests({
    name: placementPolicyName,
    resourceRules: [podsWhen("CREATE", "UPDATE")],
    conditions: {
      concerned: [
        ...(windows === undefined ? [] : [`(${windows.when})`]),
        `(${bound} && ((${labelsNamer.when}) || (${off.when})))`,
      ].join(" || "),
    },
    variables: {
      ...(windows === undefined ? {} : { places: windows.when, ...windows.variables }),
      bound: `${bound} && !(${allowed})`,
      keepsOff: `variables.bound && (${off.when})`,
      // Who is meant for Windows gets its label beside this.
      system: windows === undefined ? off.system : `!variables.places && (${off.system})`,
      ...(order === undefined ? {} : { prefers: `variables.places && (${order.when})` }),
    },
    reinvocationPolicy: "IfNeeded",
    patches: sum(
      ...(windows === undefined ? [] : [`variables.places ? (${windows.patches}) : []`]),
      `variables.keepsOff${order === undefined ? "" : " || variables.prefers"} ? (${affinityPlace("spec")}) : []`,
      ...(order === undefined ? [] : [`variables.prefers ? (${order.patches}) : []`]),
      `variables.keepsOff ? (${off.patches}) : []`,
      `variables.bound && (${labelsNamer.when}) ? (${labelsNamer.patches}) : []`,
    ),
  });
}
