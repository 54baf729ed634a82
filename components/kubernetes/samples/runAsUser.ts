import type { ClusterSpec } from "../../model/clusterSpec.ts";
import { windowsImage } from "../../model/windowsImages.ts";
import type { Manifest } from "../manifest.ts";
import { windowsBuilds } from "../runtimeClasses.ts";
import { sampleLabels, sampleResources, samplesNamespace, windowsPod, yearOf } from "./sampleSite.ts";

/** The user that every Windows base image has beside the administrator. */
const user = "ContainerUser";

/** A container that runs as an ordinary user per Windows build: its log says as whom, and stays empty of "ContainerAdministrator". */
export function runAsUserManifests(spec: ClusterSpec): readonly Manifest[] {
  return windowsBuilds(spec).map((os): Manifest => {
    const name = `run-as-user-${yearOf(os)}`;
    const pod = windowsPod({
      os,
      container: {
        name: "who",
        image: windowsImage(spec.artifacts, "nanoserver", os),
        command: ["cmd.exe", "/c", "for /l %i in (0,0,1) do (echo %USERNAME%& ping -n 60 127.0.0.1 >nul)"],
      },
    });
    return {
      apiVersion: "apps/v1",
      kind: "Deployment",
      metadata: { name, namespace: samplesNamespace, labels: sampleLabels(name) },
      spec: {
        replicas: 1,
        selector: { matchLabels: sampleLabels(name) },
        template: {
          metadata: { labels: sampleLabels(name) },
          spec: {
            ...pod,
            securityContext: { runAsNonRoot: true, windowsOptions: { runAsUserName: user } },
            containers: pod.containers.map((container) => ({ ...container, resources: sampleResources })),
          },
        },
      },
    };
  });
}
