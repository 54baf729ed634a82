import type { Artifact } from "../../components/model/artifacts.ts";

/** Where and how a publisher gives the digest of a file. */
export interface Published {
  /** Checksum file, or description of a release. */
  readonly url: string;
  /** The hexadecimal digest of the file in the text at `url`; `undefined` when it has none. */
  readonly digestIn: (text: string) => string | undefined;
}

/** Hexadecimal digits of a digest. */
const digits = { sha256: 64, sha512: 128 } as const;

/** A reference of an image, taken apart. */
export interface ImageReference {
  /** `registry.k8s.io`. */
  readonly registry: string;
  /** `pause`. */
  readonly repository: string;
  readonly tag: string;
  /** `sha256:...`; `undefined` when the reference has none. */
  readonly digest: string | undefined;
}

/** Takes a reference of an image apart. Throws RangeError when it has no registry or no tag. */
export function imageReference(reference: string): ImageReference {
  const match = /^([^/]+)\/([^:@]+):([^@]+)(?:@(sha256:[0-9a-f]{64}))?$/.exec(reference);
  const [, registry, repository, tag, digest] = match ?? [];
  if (registry === undefined || repository === undefined || tag === undefined)
    throw new RangeError(`${reference} is not an image with registry and tag`);
  return { registry, repository, tag, digest };
}

/** Where the publisher of a file gives its digest. `undefined` for a publisher that is not described here. */
export function publishedChecksum({ url, algorithm }: Pick<Artifact, "url" | "algorithm">): Published | undefined {
  const { host, pathname } = new URL(url);
  const file = pathname.split("/").at(-1) ?? "";
  const folder = url.slice(0, url.lastIndexOf("/"));
  const bare = (text: string) => hexOf(text.trim().split(/\s+/)[0], algorithm);
  const line = (text: string) => lineOf(text, file, algorithm);
  // Kubernetes documentation, "Download Kubernetes": the file's name and .sha256 or .sha512, the digest alone.
  if (host === "dl.k8s.io" || host === "artifacts.k8s.io") return { url: `${url}.${algorithm}`, digestIn: bare };
  if (host !== "github.com" || algorithm !== "sha256") return undefined;
  const [, owner, repository, , , tag] = pathname.split("/");
  switch (`${owner}/${repository}`) {
    case "containerd/containerd":
      return { url: `${url}.sha256sum`, digestIn: line };
    case "containernetworking/plugins":
    case "kubernetes-sigs/cri-tools":
      return { url: `${url}.sha256`, digestIn: bare };
    case "opencontainers/runc":
      return { url: `${folder}/runc.sha256sum`, digestIn: line };
    case "etcd-io/etcd":
      return { url: `${folder}/SHA256SUMS`, digestIn: line };
    default:
      // No checksum file: GitHub itself gives the digest of a release's files (REST API, "Get a release by tag name").
      return {
        url: `https://api.github.com/repos/${owner}/${repository}/releases/tags/${tag}`,
        digestIn: (text) => assetDigest(text, file),
      };
  }
}

function hexOf(text: string | undefined, algorithm: Artifact["algorithm"]): string | undefined {
  return text !== undefined && new RegExp(`^[0-9a-f]{${digits[algorithm]}}$`, "i").test(text) ? text.toLowerCase() : undefined;
}

/** The digest of one file in the output of sha256sum: `digest  name`, or `digest *name`. */
function lineOf(text: string, file: string, algorithm: Artifact["algorithm"]): string | undefined {
  for (const line of text.split("\n")) {
    const [digest, name] = line.trim().split(/\s+\*?/);
    if (name === file) return hexOf(digest, algorithm);
  }
  return undefined;
}

function assetDigest(text: string, file: string): string | undefined {
  const release: unknown = JSON.parse(text);
  if (typeof release !== "object" || release === null || !("assets" in release)) return undefined;
  const assets: readonly unknown[] = Array.isArray(release.assets) ? release.assets : [];
  for (const asset of assets) {
    if (typeof asset !== "object" || asset === null || !("name" in asset && "digest" in asset)) continue;
    if (asset.name === file && typeof asset.digest === "string") return hexOf(/^sha256:(.*)$/.exec(asset.digest)?.[1], "sha256");
  }
  return undefined;
}
