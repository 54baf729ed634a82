import { downloadUrl } from "../../model/artifacts.ts";
import type { Placement } from "../../model/machineParts.ts";
import type { NodeSettings } from "../../model/nodeSettings.ts";
import { machineArtifacts } from "../../model/releases.ts";
import { credentialPlugin } from "../credentialProvider.ts";
import { tsvFile } from "./shell.ts";

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

/** A program that only the stack file names. */
interface OwnProgram {
  readonly name: string;
  readonly url: string;
  readonly sha256: string;
  readonly folder: string;
}

/**
 * `/etc/fenestra/artifacts.tsv`: name, URL, algorithm, digest or `-`, URL of the publisher's checksum file or `-`, `binary` or `tar`,
 * folder, path components to strip, files to extract or `-`. With a mirror, URLs are the mirror's and digests stay the publisher's.
 */
export function artifactTable(spec: NodeSettings, role: "control-plane" | "linux", more?: OwnProgram): string {
  const mirror = spec.mirror.artifacts;
  const network = spec.kubernetes.podNetwork;
  const artifacts = Object.entries({
    ...machineArtifacts(spec.artifacts, spec.kubernetes.version, role),
    ...network.artifacts(spec, role),
  });
  const plugin = role === "linux" ? credentialPlugin(spec, "linux") : more;
  return tsvFile([
    ...artifacts.map(([name, { url, algorithm, digest, checksumUrl }]) => {
      const place = placements[name] ?? network.linux.places[name];
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
      : [[plugin.name, downloadUrl(plugin.url, mirror), "sha256", plugin.sha256, "-", "binary", plugin.folder, "0", "-"]]),
  ]);
}
