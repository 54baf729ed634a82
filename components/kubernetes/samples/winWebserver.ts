import { readFileSync } from "node:fs";
import type { ClusterSpec } from "../../model/clusterSpec.ts";
import { windowsImage } from "../../model/windowsImages.ts";
import type { Manifest } from "../manifest.ts";
import { loadBalancer, sampleService, samplesNamespace, windowsDeployment, yearOf } from "./sampleSite.ts";

const script = readFileSync(new URL("winWebserver.ps1", import.meta.url), "utf8");
const scriptConfigMap = "win-webserver";

/** Name of the sample for a build: `win-webserver-2022`. */
export function winWebserverName(year: string): string {
  return `win-webserver-${year}`;
}

/**
 * A web server in PowerShell per Windows build in use, two pods at least, with a NodePort and a LoadBalancer Service each. No probe by pod address: a
 * Windows 2019 node cannot reach its own pods by it, because HNS has no HostRoute policy there.
 */
export function winWebserverManifests(spec: Pick<ClusterSpec, "addons" | "artifacts" | "windows">): readonly Manifest[] {
  const builds = spec.windows;
  if (builds.length === 0) return [];
  return [
    {
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: { name: scriptConfigMap, namespace: samplesNamespace },
      data: { "server.ps1": script },
    },
    ...builds.flatMap((os): Manifest[] => {
      const name = winWebserverName(yearOf(os));
      return [
        windowsDeployment({
          name,
          os,
          container: {
            name: "web",
            image: windowsImage(spec.artifacts, "servercore", os),
            command: ["powershell.exe", "-NoProfile", "-ExecutionPolicy", "Bypass", "-File", "C:\\site\\server.ps1"],
            ports: [{ name: "http", containerPort: 80 }],
            volumeMounts: [{ name: "script", mountPath: "C:\\site", readOnly: true }],
          },
          volumes: [{ name: "script", configMap: { name: scriptConfigMap } }],
          replicas: spec.addons.metricsServer ? "autoscaled" : 2,
        }),
        sampleService(name, "NodePort"),
        ...loadBalancer(spec, name),
      ];
    }),
  ];
}
