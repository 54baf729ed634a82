import type { CustomResourceOptions } from "@pulumi/pulumi";
import type { Manifest } from "./manifest.ts";

/**
 * Fields that the API server refuses to change although the provider would send the change as an update: it uses its own list
 * (pulumi/pulumi-kubernetes: provider/pkg/provider/diff.go, `forceNew`) and asks no server. The server's rules are in
 * kubernetes/kubernetes, pkg/apis/storage/validation and pkg/apis/node/validation. None of these objects holds data, and volumes outlive
 * their class and driver.
 *
 * Left out on purpose are a claim's size, which only grows, and scope and names of a CustomResourceDefinition: a replacement would delete
 * the data, a refused update does not.
 */
export const fixedFields: Partial<Record<Manifest["kind"], readonly string[]>> = {
  StorageClass: ["reclaimPolicy", "volumeBindingMode"],
  CSIDriver: ["spec.attachRequired", "spec.volumeLifecycleModes"],
  RuntimeClass: ["handler"],
};

/** Options by which a change of such a field replaces the object. Its name is taken until the old one is gone. */
export function replacedOnChange({ kind }: Manifest): Pick<CustomResourceOptions, "replaceOnChanges" | "deleteBeforeReplace"> {
  const fields = fixedFields[kind];
  return fields === undefined ? {} : { replaceOnChanges: [...fields], deleteBeforeReplace: true };
}
