import { downloadUrl } from "../../model/artifacts.ts";
import type { NodeSettings } from "../../model/nodeSettings.ts";
import { machineArtifacts } from "../../model/releases.ts";
import { credentialPlugin } from "../credentialProvider.ts";
import { tsvFile } from "./rootfs.ts";

interface Placement {
  /** `binary`: installed under its own name; `tar`: unpacked, gzip. */
  readonly kind: "binary" | "tar";
  readonly destination: string;
  /** Leading path components of the archive to strip. Default 0. */
  readonly strip?: number;
  /** Patterns of the files to extract from the archive. Default all. */
  readonly members?: readonly string[];
}

const program: Placement = { kind: "binary", destination: "/usr/local/bin" };

/** Destination of each artifact. Everything is on the PATH that systemd gives to services. */
const placements: Readonly<Record<string, Placement>> = {
  kubelet: program,
  kubectl: program,
  kubeadm: program,
  runc: program,
  etcd: { kind: "tar", destination: "/usr/local/bin", strip: 1, members: ["*/etcdctl", "*/etcdutl"] },
  containerd: { kind: "tar", destination: "/usr/local" },
  crictl: { kind: "tar", destination: "/usr/local/bin" },
  "cni-plugins": { kind: "tar", destination: "/opt/cni/bin" },
};

/**
 * `/etc/fenestra/artifacts.tsv`: name, URL, algorithm, digest or `-`, URL of the publisher's checksum file or `-`,
 * `binary` or `tar`, folder, path components to strip, files to extract or `-`. Digests stay the publisher's with a
 * mirror.
 */
export function artifactTable(spec: NodeSettings, role: "control-plane" | "linux"): string {
  const mirror = spec.mirror.artifacts;
  const artifacts = Object.entries(machineArtifacts(spec.artifacts, spec.kubernetes.version, role));
  const plugin = role === "linux" ? credentialPlugin(spec, "linux") : undefined;
  return tsvFile([
    ...artifacts.map(([name, { url, algorithm, digest, checksumUrl }]) => {
      const place = placements[name];
      if (place === undefined) throw new RangeError(`nobody has said where the artifact ${name} goes on Linux`);
      if (digest === null && checksumUrl === undefined)
        throw new RangeError(`the artifact ${name} has neither a digest nor a checksum file`);
      return [
        name,
        downloadUrl(url, mirror),
        algorithm,
        digest ?? "-",
        checksumUrl === undefined ? "-" : downloadUrl(checksumUrl, mirror),
        place.kind,
        place.destination,
        String(place.strip ?? 0),
        place.members?.join(",") ?? "-",
      ];
    }),
    ...(plugin === undefined
      ? []
      : [
          [
            plugin.name,
            downloadUrl(plugin.url, mirror),
            "sha256",
            plugin.sha256,
            "-",
            "binary",
            plugin.folder,
            "0",
            "-",
          ],
        ]),
  ]);
}
