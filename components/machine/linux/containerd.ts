import type { NodeSettings } from "../../model/nodeSettings.ts";
import { pauseImage } from "../../model/releases.ts";
import { containerdConfig, containerdPaths } from "../containerd.ts";
import type { PayloadFile } from "../payload.ts";
import { registryMirrorFiles } from "../registryMirrors.ts";
import { trustFiles } from "../trust.ts";

/** containerd's configuration, whom it trusts, its mirrors, and crictl's. */
export function containerdFiles(spec: NodeSettings): readonly PayloadFile[] {
  return [
    {
      path: containerdPaths.linux.config,
      content: containerdConfig({ os: "linux", pauseImage: pauseImage(spec.artifacts, spec.kubernetes.version) }),
    },
    ...trustFiles(spec, "linux"),
    ...registryMirrorFiles({ os: "linux", registries: spec.mirror.registries, credentials: spec.credentials }),
    { path: "/etc/crictl.yaml", content: `runtime-endpoint: ${containerdPaths.linux.endpoint}\n` },
  ];
}
