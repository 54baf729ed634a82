import { monitoringNamespace } from "../addOns/monitoring.ts";
import { networkNamespace } from "../addOns/networking.ts";

/** Namespaces of the system, in which HostProcess pods and pods on control-plane machines belong. */
export const systemNamespaces: readonly string[] = ["kube-system", networkNamespace, monitoringNamespace];

/** Labels by which an administrator changes what a policy does in a namespace. */
export const namespaceLabels = {
  /** `allowed`: HostProcess pods may run here. */
  hostProcess: "fenestra.dev/host-process",
  /** `allowed`: pods may run on control-plane machines, and so act with their cloud identity. */
  controlPlane: "fenestra.dev/control-plane",
  /** `required`: a pod for Windows must say `spec.os.name: windows`. */
  windowsOsName: "fenestra.dev/windows-os-name",
} as const;
