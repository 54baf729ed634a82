import type { ClusterSpec } from "../../model/clusterSpec.ts";
import { windowsImage } from "../../model/windowsImages.ts";
import type { Manifest } from "../manifest.ts";
import { windowsBuilds } from "../runtimeClasses.ts";
import { loadBalancer, windowsDeployment, yearOf } from "./sampleSite.ts";

/** Internet Information Services per Windows build in use, behind a load balancer: `iis-2019`, `iis-2022`, ... */
export function iisManifests(spec: ClusterSpec): readonly Manifest[] {
  return windowsBuilds(spec).flatMap((os): Manifest[] => {
    const name = `iis-${yearOf(os)}`;
    return [
      windowsDeployment({
        name,
        os,
        container: {
          name: "iis",
          image: windowsImage(spec.artifacts, "servercore/iis", os),
          ports: [{ name: "http", containerPort: 80 }],
        },
      }),
      ...loadBalancer(spec, name),
    ];
  });
}
