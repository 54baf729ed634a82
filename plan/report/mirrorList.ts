import { verifyImageList } from "../../components/kubernetes/images.ts";
import { mirrorOf } from "../../components/machine/registryMirrors.ts";
import { type Artifact, downloadUrl, isImage } from "../../components/model/artifacts.ts";
import type { ClusterSpec } from "../../components/model/clusterSpec.ts";
import { kubeadmImages } from "../../components/model/releases.ts";
import type { Plan } from "../plan.ts";
import { imagesIn } from "../program/recorded.ts";

export interface MirrorFile {
  readonly url: string;
  /** `sha256:<hex>` or `sha512:<hex>`; `null` without one in the lock file. */
  readonly digest: string | null;
  /** The publisher's checksum file, which machines read while there is no digest. */
  readonly checksumUrl: string | null;
  /** Where this stack's machines look for it, if there is a mirror. */
  readonly mirror: string | null;
}

interface MirrorImage {
  readonly reference: string;
  /** `sha256:<hex>`; `null` when the reference is a tag alone. */
  readonly digest: string | null;
  /** The registry's mirror in this stack, if there is one. */
  readonly mirror: string | null;
}

export interface MirrorList {
  readonly version: 1;
  readonly stack: string;
  readonly files: readonly MirrorFile[];
  readonly images: readonly MirrorImage[];
}

/**
 * Files and images in machines' payloads and Kubernetes objects, images of the control plane (chosen by kubeadm) and
 * of the pods of `fenestra verify`.
 *
 * @throws RangeError for a Kubernetes minor without images in the table of releases.
 */
export function mirrorList(plan: Plan, spec: ClusterSpec): MirrorList {
  const payloads = plan.machines.flatMap(({ files }) => files.map(({ content }) => content));
  const objects = plan.resources.filter(({ type }) => type.startsWith("kubernetes:"));
  const { artifacts, registries } = spec.mirror;
  const texts = [...payloads, ...objects.map(({ inputs }) => JSON.stringify(inputs))];
  const named = new Set(texts.flatMap((text) => text.match(/https?:\/\/[^\s"'\\,<>]+/g) ?? []));
  const files = spec.artifacts.filter(
    (artifact) => !isImage(artifact) && named.has(downloadUrl(artifact.url, artifacts)),
  );
  const images = new Set([
    ...kubeadmImages(spec.artifacts, spec.kubernetes.version),
    ...objects.flatMap(({ inputs }) => imagesIn(inputs)),
    ...payloads.flatMap((text) => referencesIn(text, spec.artifacts)),
    ...verifyImageList(
      spec.artifacts,
      spec.pools.flatMap(({ os, release }) => (os === "windows" ? [release] : [])),
    ),
  ]);
  return {
    version: 1,
    stack: plan.stack,
    files: files
      .map(({ url, algorithm, digest, checksumUrl }) => ({
        url,
        digest: digest === null ? null : `${algorithm}:${digest}`,
        checksumUrl: digest === null ? (checksumUrl ?? null) : null,
        mirror: artifacts === undefined ? null : downloadUrl(url, artifacts),
      }))
      .sort((a, b) => (a.url < b.url ? -1 : 1)),
    images: [...images]
      .sort()
      .map((reference) => ({
        reference,
        digest: reference.split("@")[1] ?? null,
        mirror: mirrorOf(registries, reference.split("/")[0] ?? "") ?? null,
      })),
  };
}

/** References to images of the lock file. */
function referencesIn(text: string, lock: readonly Artifact[]): readonly string[] {
  return lock.filter((artifact) => isImage(artifact) && text.includes(artifact.url)).map(({ url }) => url);
}

/** Columns by tabs; `-` for a digest that is not recorded. */
export function mirrorText({ files, images }: MirrorList): string {
  return [
    ...files.flatMap(({ url, digest, checksumUrl }) => [
      ["file", digest ?? "-", url],
      ...(checksumUrl === null ? [] : [["file", "-", checksumUrl]]),
    ]),
    ...images.map(({ reference, digest }) => ["image", digest ?? "-", reference]),
  ]
    .map((cells) => `${cells.join("\t")}\n`)
    .join("");
}
