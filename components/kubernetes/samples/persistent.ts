import type { ClusterSpec } from "../../model/clusterSpec.ts";
import { windowsImage } from "../../model/windowsImages.ts";
import type { Manifest } from "../manifest.ts";
import { sampleLabels, samplesNamespace, windowsDeployment, yearOf } from "./sampleSite.ts";

/** Appends a line with the time to a file on the disk and shows the whole file: it grows across restarts. */
const keepDiary =
  'while ($true) { Add-Content -Path C:\\data\\diary.txt -Value "$(Get-Date -Format o) $env:COMPUTERNAME"; Get-Content -Path C:\\data\\diary.txt -Tail 1; Start-Sleep -Seconds 30 }';

/** A claim on an NTFS disk of the cloud per Windows build, and a pod that writes to it. */
export function persistentManifests(spec: Pick<ClusterSpec, "artifacts" | "windows">): readonly Manifest[] {
  return spec.windows.flatMap((os): Manifest[] => {
    const name = `persistent-${yearOf(os)}`;
    return [
      {
        apiVersion: "v1",
        kind: "PersistentVolumeClaim",
        metadata: { name, namespace: samplesNamespace, labels: sampleLabels(name) },
        spec: {
          accessModes: ["ReadWriteOnce"],
          storageClassName: "windows",
          resources: { requests: { storage: "4Gi" } },
        },
      },
      windowsDeployment({
        name,
        os,
        strategy: "Recreate",
        container: {
          name: "diary",
          image: windowsImage(spec.artifacts, "servercore", os),
          command: ["powershell.exe", "-NoProfile", "-NonInteractive", "-Command", keepDiary],
          volumeMounts: [{ name: "disk", mountPath: "C:\\data" }],
        },
        volumes: [{ name: "disk", persistentVolumeClaim: { claimName: name } }],
      }),
    ];
  });
}
