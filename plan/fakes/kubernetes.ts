import { mapOf, type PropertyMap, textOf } from "../program/values.ts";
import { autoName, uuid } from "./identifiers.ts";
import type { SimulatedProvider } from "./provider.ts";

/** `apiVersion` and `kind` of a Kubernetes resource's type token: `kubernetes:apps/v1:Deployment`; the core group is `core`. */
function kindOfToken(type: string): { readonly apiVersion: string; readonly kind: string } {
  const [, group = "", kind = ""] = type.split(":");
  return { apiVersion: group.startsWith("core/") ? group.slice("core/".length) : group, kind };
}

/**
 * The provider `kubernetes`: what server-side apply adds that a program could read. The id is `<namespace>/<name>`, or the name alone for
 * objects of the cluster (pulumi-kubernetes, provider.go, `fqObjName`).
 */
export const kubernetesResource: SimulatedProvider = ({ type, name, urn, inputs }) => {
  const metadata: PropertyMap = mapOf(inputs.metadata);
  const objectName = textOf(metadata.name) ?? autoName(name, urn);
  const namespace = textOf(metadata.namespace);
  const { apiVersion, kind } = kindOfToken(type);
  return {
    id: namespace === undefined ? objectName : `${namespace}/${objectName}`,
    outputs: {
      apiVersion: inputs.apiVersion ?? apiVersion,
      kind: inputs.kind ?? kind,
      metadata: { ...metadata, name: objectName, uid: uuid(urn), resourceVersion: "1", generation: 1 },
    },
  };
};
