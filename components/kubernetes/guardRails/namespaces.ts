import { systemNamespaces } from "../../model/addOns.ts";
import type { ClusterSpec } from "../../model/clusterSpec.ts";
import type { Requirement } from "./policy.ts";

/** Labels by which an administrator changes what a policy does in a namespace. */
export const namespaceLabels = {
  /** `allowed`: HostProcess pods may run here. */
  hostProcess: "fenestra.dev/host-process",
  /** `allowed`: pods may run on control-plane machines, and so act with their cloud identity. */
  controlPlane: "fenestra.dev/control-plane",
  /** `required`: a pod for Windows must say `spec.os.name: windows`. */
  windowsOsName: "fenestra.dev/windows-os-name",
  /** `defaulted`: a LimitRange gives containers a memory limit, so that workloads need not name theirs. */
  memoryLimits: "fenestra.dev/memory-limits",
  /** `allowed`: Services may name addresses that Kubernetes or the cloud did not give them. */
  externalAddresses: "fenestra.dev/external-addresses",
} as const;

/** Every namespace but the system's. */
export const notSystem = (spec: Pick<ClusterSpec, "kubernetes">): Requirement => ({
  key: "kubernetes.io/metadata.name",
  operator: "NotIn",
  values: [...systemNamespaces(spec)],
});

/** Every namespace without a label that allows. */
export const notAllowed = (key: string): Requirement => ({ key, operator: "NotIn", values: ["allowed"] });
