import { windowsLogCollector } from "../../model/logs.ts";
import type { NodeSettings } from "../../model/nodeSettings.ts";
import { tokenFacts } from "../../model/workloadIdentity.ts";
import { sources, type WindowsArtifact } from "./artifacts.ts";
import { windowsPaths } from "./paths.ts";

/** Folder of the log collector's program. */
const folder = `${windowsPaths.root}\\otelcol`;

/** The collector's archive as one more download, of what is not needed to become Ready; none where logs stay on the node. */
export function logCollectorArtifacts(spec: NodeSettings): readonly WindowsArtifact[] {
  const { logs } = spec.addons;
  if (logs === undefined) return [];
  const archive = windowsLogCollector(logs, spec.artifacts);
  if (archive === undefined) throw new RangeError("the log collector for Windows has no digest");
  return [
    {
      name: "otelcol-contrib",
      file: `${archive.sha256.slice(0, 12)}-otelcol-contrib.tar.gz`,
      urls: sources(spec, archive.url),
      algorithm: "sha256",
      digest: archive.sha256,
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
