import { stringify } from "yaml";
import type { NodeSettings } from "../../model/nodeSettings.ts";
import type { PoolSpec } from "../../model/pools.ts";
import { credentialFlags } from "../credentialProvider.ts";
import { type KubeletArgs, kubeletConfiguration } from "../kubeletConfig.ts";
import { kubeletFlags, workerLabels } from "../kubeletFlags.ts";
import type { PayloadFile } from "../payload.ts";
import { rootFile, unitFolder } from "./rootfs.ts";

export const kubeletService = "kubelet.service";

/** The kubelet's configuration and command line. */
export function kubeletFiles(args: KubeletArgs & { readonly spec: NodeSettings }): readonly PayloadFile[] {
  return [
    { path: "/etc/fenestra/kubelet.yaml", content: stringify(kubeletConfiguration(args), { lineWidth: 0 }) },
    { path: "/etc/fenestra/kubelet.env", content: kubeletEnv(args.spec, args.pool) },
  ];
}

/** Its unit; a control-plane machine's waits for a mount. */
export function kubeletUnit(requiresMount: string | undefined): PayloadFile {
  const unit = rootFile(`${unitFolder}/${kubeletService}`);
  const line = "RequiresMountsFor=@REQUIRED_MOUNT@\n";
  const own = requiresMount === undefined ? "" : line.replace("@REQUIRED_MOUNT@", requiresMount);
  return { ...unit, content: unit.content.replace(line, own), mode: "0600" };
}

/**
 * The kubelet's command line for its unit. A control-plane machine has its kubeconfig from kubeadm, without bootstrap.
 */
function kubeletEnv(spec: NodeSettings, pool: PoolSpec | undefined): string {
  const flags = kubeletFlags({
    os: "linux",
    minor: spec.kubernetes.minor,
    bootstrap: pool !== undefined,
    labels: pool === undefined ? {} : workerLabels(pool),
    credentials: pool === undefined ? [] : credentialFlags(spec, "linux"),
  });
  return `KUBELET_ARGS="${flags.join(" ")}"\n`;
}
