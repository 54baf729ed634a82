import type { ClusterSpec } from "../../model/clusterSpec.ts";
import type { Manifest } from "../manifest.ts";
import { sampleLabels, samplesNamespace, yearOf } from "./sampleSite.ts";
import { winWebserverName } from "./winWebserver.ts";

/** Scales the PowerShell web servers by their use of processors: two pods when idle, at most four. */
export function autoscaledManifests(spec: Pick<ClusterSpec, "windows">): readonly Manifest[] {
  return spec.windows.map((os): Manifest => {
    const name = winWebserverName(yearOf(os));
    return {
      apiVersion: "autoscaling/v2",
      kind: "HorizontalPodAutoscaler",
      metadata: { name, namespace: samplesNamespace, labels: sampleLabels(name) },
      spec: {
        scaleTargetRef: { apiVersion: "apps/v1", kind: "Deployment", name },
        minReplicas: 2,
        maxReplicas: 4,
        metrics: [{ type: "Resource", resource: { name: "cpu", target: { type: "Utilization", averageUtilization: 70 } } }],
      },
    };
  });
}
