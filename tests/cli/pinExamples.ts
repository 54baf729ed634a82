import type { Artifact } from "../../components/model/artifacts.ts";

/** Two digests. */
export const [a, b] = ["a".repeat(64), "b".repeat(64)] as const;

/** An artifact that is a file. */
export function file(name: string, digest: string | null, url = `https://dl.k8s.io/release/v1.36.4/bin/linux/amd64/${name}`) {
  const checksumUrl = digest === null ? { checksumUrl: `${url}.sha256` } : {};
  const platform = { os: "linux", arch: "amd64", algorithm: "sha256" } as const;
  return { name, version: "1.36.4", ...platform, url, digest, source: "test", ...checksumUrl } satisfies Artifact;
}

/** An artifact that is an image. */
export function image(name: string, tag: string, digest: string | null): Artifact {
  const url = `${name}:${tag}${digest === null ? "" : `@sha256:${digest}`}`;
  return { name, version: tag, os: "any", arch: "any", url, algorithm: "sha256", digest, source: "test" };
}
