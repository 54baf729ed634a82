import type { ClusterSpec } from "../../model/clusterSpec.ts";
import { windowsImage } from "../../model/windowsImages.ts";
import type { Manifest } from "../manifest.ts";
import { windowsDeployment, yearOf } from "./sampleSite.ts";

/** The user that every Windows base image has beside the administrator. */
const user = "ContainerUser";

/** A container that runs as an ordinary user per Windows build: its log says as whom, and stays empty of "ContainerAdministrator". */
export function runAsUserManifests(spec: Pick<ClusterSpec, "artifacts" | "windows">): readonly Manifest[] {
  return spec.windows.map((os) =>
    windowsDeployment({
      name: `run-as-user-${yearOf(os)}`,
      os,
      container: {
        name: "who",
        image: windowsImage(spec.artifacts, "nanoserver", os),
        command: ["cmd.exe", "/c", "for /l %i in (0,0,1) do (echo %USERNAME%& ping -n 60 127.0.0.1 >nul)"],
      },
      pod: { securityContext: { runAsNonRoot: true, windowsOptions: { runAsUserName: user } } },
    }),
  );
}
