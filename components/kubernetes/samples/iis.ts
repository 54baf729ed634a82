import type { ClusterSpec } from "../../model/clusterSpec.ts";
import { windowsImage } from "../../model/windowsImages.ts";
import type { Container, Manifest } from "../manifest.ts";
import { loadBalancer, windowsDeployment, yearOf } from "./sampleSite.ts";

/**
 * Internet Information Services per Windows build in use, behind a load balancer: `iis-2019`, `iis-2022`, ... It gets requests only while it
 * answers, and for a moment longer than the load balancer sends them.
 */
export function iisManifests(spec: Pick<ClusterSpec, "addons" | "artifacts" | "kubernetes" | "windows">): readonly Manifest[] {
  return spec.windows.flatMap((os): Manifest[] => {
    const name = `iis-${yearOf(os)}`;
    return [
      windowsDeployment({
        name,
        os,
        container: {
          name: "iis",
          image: windowsImage(spec.artifacts, "servercore/iis", os),
          ports: [{ name: "http", containerPort: 80 }],
          readinessProbe: {
            ...answers(spec.kubernetes.podNetwork.windows.hostReachesOwnPods(os)),
            periodSeconds: 5,
            timeoutSeconds: 5,
          },
          lifecycle: { preStop: { sleep: { seconds: 5 } } },
        },
      }),
      ...loadBalancer(spec, name),
    ];
  });
}

/** Asks the server from outside the container, or within it where the kubelet cannot reach pods by their addresses. */
function answers(hostReachesOwnPods: boolean): NonNullable<Container["readinessProbe"]> {
  return hostReachesOwnPods
    ? { httpGet: { path: "/", port: "http" } }
    : { exec: { command: ["curl.exe", "--silent", "--fail", "--output", "NUL", "http://localhost/"] } };
}
