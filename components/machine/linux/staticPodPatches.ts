import { stringify } from "yaml";
import type { PayloadFile } from "../payload.ts";

/** Folder of what kubeadm merges into the manifests of static pods. */
export const patchesFolder = "/etc/fenestra/patches";

/**
 * kubeadm's startup probes ask for the first time after 10 to 20 s and then every 10 s (kubernetes:
 * cmd/kubeadm/app/util/staticpod/utils.go, StartupProbe; pkg/kubelet/prober/worker.go waits for a random part of the period after the
 * kubelet's start). No pod of the control plane is ready before, and every gate and every step of an update waits for that. These ask at
 * once and every 2 s, for the same 10 minutes; up to 25 where nothing answers until the time is up.
 */
const startupProbe = { initialDelaySeconds: 0, periodSeconds: 2, timeoutSeconds: 5, failureThreshold: 300 } as const;

/** The files of kubeadm's patches, one per static pod, named as it wants (kubernetes: cmd/kubeadm/app/util/patches, 1.36). */
export const staticPodPatches: readonly PayloadFile[] = ["etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler"].map(
  (name) => ({
    path: `${patchesFolder}/${name}+strategic.yaml`,
    content: stringify({ spec: { containers: [{ name, startupProbe }] } }),
  }),
);
