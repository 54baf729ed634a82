import type { ClusterSpec } from "../../model/clusterSpec.ts";
import { windowsImage } from "../../model/windowsImages.ts";
import type { Manifest } from "../manifest.ts";
import { sampleLabels, samplesNamespace, windowsPod, yearOf } from "./sampleSite.ts";

/** A program that ends per Windows build: its log has the build that it ran on. */
export function jobManifests(spec: Pick<ClusterSpec, "artifacts" | "windows">): readonly Manifest[] {
  return spec.windows.map((os): Manifest => {
    const name = `job-${yearOf(os)}`;
    const labels = sampleLabels(name);
    return {
      apiVersion: "batch/v1",
      kind: "Job",
      metadata: { name, namespace: samplesNamespace, labels },
      spec: {
        backoffLimit: 3,
        template: {
          metadata: { labels },
          spec: windowsPod({
            os,
            container: {
              name: "version",
              image: windowsImage(spec.artifacts, "nanoserver", os),
              command: ["cmd.exe", "/c", "ver"],
            },
            pod: { restartPolicy: "Never" },
          }),
        },
      },
    };
  });
}
