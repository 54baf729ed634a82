import { requireArtifact } from "../../model/artifacts.ts";
import type { NodeSettings } from "../../model/nodeSettings.ts";
import { otherReleases } from "../../model/releases.ts";
import { tokenFacts } from "../../model/workloadIdentity.ts";
import { sources, type WindowsArtifact } from "./artifacts.ts";
import { windowsPaths } from "./paths.ts";

/** Folder of the log collector's program. */
const folder = `${windowsPaths.root}\\otelcol`;

/** The collector's archive as one more download, of what is not needed to become Ready; none where logs stay on the node. */
export function logCollectorArtifacts(spec: NodeSettings): readonly WindowsArtifact[] {
  if (spec.addons.logs === undefined) return [];
  const query = { name: "otelcol-contrib", version: otherReleases["otelcol-contrib"], os: "windows" } as const;
  const { url, algorithm, digest, version } = requireArtifact(spec.artifacts, query);
  return [
    {
      name: "otelcol-contrib",
      file: `${version}-otelcol-contrib.tar.gz`,
      urls: sources(spec, url),
      algorithm,
      digest: digest ?? "",
      checksumUrls: [],
      stage: "programs",
      folder,
      unpack: true,
    },
  ];
}

/** Input of `start-collector.ps1`. */
export function logCollectorData({ addons, cloud }: Pick<NodeSettings, "addons" | "cloud">) {
  if (addons.logs === undefined) return {};
  return {
    logs: {
      program: `${folder}\\otelcol-contrib.exe`,
      kubeconfig: `${windowsPaths.kubernetes}\\log-collector.conf`,
      // Variables of the pod with the path of a mounted file.
      files: ["COLLECTOR_CONFIG", tokenFacts[cloud].fileVariable],
      seconds: 900,
    },
  };
}
