import { CustomResource as CustomObject } from "@pulumi/kubernetes/apiextensions/customResource.js";
import type { CustomResource, CustomResourceOptions } from "@pulumi/pulumi";
import { kinds } from "./kinds.ts";
import type { Manifest, ManifestOf } from "./manifest.ts";

type Classes = {
  readonly [Kind in Manifest["kind"]]: new (
    name: string,
    manifest: ManifestOf<Kind>,
    options: CustomResourceOptions,
  ) => CustomResource;
};

const classes: Classes = {
  ...kinds,
  PrometheusRule: CustomObject,
  ServiceMonitor: CustomObject,
  GMSACredentialSpec: CustomObject,
  VolumeSnapshotClass: CustomObject,
};

/** Makes the resource of a manifest's kind. */
export function createObject<Kind extends Manifest["kind"]>(
  name: string,
  kind: Kind,
  manifest: ManifestOf<Kind>,
  options: CustomResourceOptions,
): CustomResource {
  return new classes[kind](name, manifest, options);
}
