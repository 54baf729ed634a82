import { annotated, type Manifest } from "./manifest.ts";

/** Under which name the program owns fields of its objects. */
export const fieldManager = "fenestra";

/**
 * The object with the name under which every update applies it. Without the annotation an update that finds no state of an object takes a
 * random name (pulumi/pulumi-kubernetes: provider/pkg/provider/provider.go, `fieldManagerName`). After an update that was cut off, two
 * names would then own the same fields, and what the program drops would stay, since the first one still owns it. (So it does where the
 * first update with the annotation fails while it waits for an object: the provider has the old name give up its fields only after that,
 * and only in that update.)
 *
 * A CustomResourceDefinition is left as it is. The provider replaces it as a whole, which no owner of a field can refuse (await.go,
 * `updateResource`), so that the fields stay with the old name; then it has the old name give up its fields (`Relinquish`), which the API
 * server refuses: nothing would be left of the definition.
 */
export function withFieldManager(manifest: Manifest): Manifest {
  if (manifest.kind === "CustomResourceDefinition") return manifest;
  return annotated(manifest, { "pulumi.com/patchFieldManager": fieldManager });
}
