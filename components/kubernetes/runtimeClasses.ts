import type { ClusterSpec } from "../model/clusterSpec.ts";
import { type RuntimeClassFacts, runtimeClass } from "../model/pools.ts";
import type { AddOnEntry } from "./addOnEntry.ts";

/** RuntimeClasses of the builds in use, and the Hyper-V isolated ones of pools that enable it. */
export function runtimeClassFacts(spec: Pick<ClusterSpec, "pools" | "windows">): readonly RuntimeClassFacts[] {
  return spec.windows.flatMap((os) => {
    const hyperV = spec.pools.some((pool) => pool.os === "windows" && pool.release.name === os.name && pool.hyperV);
    const classes = [runtimeClass(os, "process"), hyperV ? runtimeClass(os, "hyperv") : undefined];
    return classes.filter((facts) => facts !== undefined);
  });
}

/**
 * What the machine around a Hyper-V isolated pod takes beyond its containers: the difference that Microsoft gives for
 * Server Core between both kinds of isolation (learn.microsoft.com: "Windows container requirements", memory).
 */
const hyperVOverhead = { podFixed: { memory: "320Mi" } };

/** A pod that names one gets its node selector and toleration from the API server. */
export const runtimeClasses: AddOnEntry = {
  name: "runtime-classes",
  after: [],
  manifests: (spec) =>
    runtimeClassFacts(spec).map(({ name, handler, nodeSelector, tolerations }) => ({
      apiVersion: "node.k8s.io/v1",
      kind: "RuntimeClass",
      metadata: { name },
      handler,
      ...(handler === "runhcs-wcow-hypervisor" ? { overhead: hyperVOverhead } : {}),
      scheduling: {
        nodeSelector: { ...nodeSelector },
        tolerations: tolerations.map(({ key, operator, value, effect }) => ({ key, operator, value, effect })),
      },
    })),
};
