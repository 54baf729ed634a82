import { stringify } from "yaml";
import { etcdSeconds } from "../../model/timings.ts";
import type { PayloadFile } from "../payload.ts";

/** Folder of what kubeadm merges into its manifests. */
export const patchesFolder = "/etc/fenestra/patches";

/**
 * kubeadm's startup probes, before which no pod of the control plane is ready, ask after 10 to 20 s and then every 10 s
 * (kubernetes: cmd/kubeadm/app/util/staticpod/utils.go, StartupProbe; pkg/kubelet/prober/worker.go waits for a random
 * part of the period after the kubelet's start). These ask at once and every 2 s, for the same 10 minutes; up to 25
 * where each look takes its whole time.
 */
const startupProbe = { initialDelaySeconds: 0, periodSeconds: 2, timeoutSeconds: 5, failureThreshold: 300 } as const;

/**
 * etcd answers nothing while it is defragmented: kubeadm's probe would end it after 120 s (kubernetes/kubeadm#2759),
 * and with it the API server, whose /livez looks at etcd (kubernetes/apiserver: pkg/server/options/etcd.go).
 */
const livenessProbes: Readonly<Record<string, object>> = {
  etcd: { periodSeconds: etcdSeconds.liveness.period, failureThreshold: etcdSeconds.liveness.failures },
  "kube-apiserver": { httpGet: { path: "/livez?exclude=etcd" } },
};

/** Of all that a machine on AWS fetches (scripts/stages/scripts.sh). */
export const fetchedMode = "0755";

/** kubeadm's patches, one per static pod, named as it wants (kubernetes: cmd/kubeadm/app/util/patches, 1.36). */
export const staticPodPatches: readonly PayloadFile[] = [
  "etcd",
  "kube-apiserver",
  "kube-controller-manager",
  "kube-scheduler",
].map((name) => ({
  path: `${patchesFolder}/${name}+strategic.yaml`,
  mode: fetchedMode,
  content: stringify({ spec: { containers: [{ name, startupProbe, livenessProbe: livenessProbes[name] }] } }),
}));

/**
 * Both pods of kubeadm's CoreDNS would start on the first node that is ready, and stay: the second waits for another
 * one. Replicas are not named: kubeadm keeps those that it finds (kubernetes: cmd/kubeadm/app/phases/addons/dns).
 */
export const nameServerPatch: PayloadFile = {
  mode: fetchedMode,
  path: `${patchesFolder}/corednsdeployment+strategic.yaml`,
  content: stringify({
    spec: {
      template: {
        spec: {
          topologySpreadConstraints: [
            { maxSkew: 1, topologyKey: "kubernetes.io/hostname", whenUnsatisfiable: "DoNotSchedule" },
            { maxSkew: 1, topologyKey: "topology.kubernetes.io/zone", whenUnsatisfiable: "ScheduleAnyway" },
            // A node with a taint would count as one that has room (kubernetes/kubernetes#106127).
          ].map((constraint) => ({
            ...constraint,
            nodeTaintsPolicy: "Honor",
            labelSelector: { matchLabels: { "k8s-app": "kube-dns" } },
          })),
        },
      },
    },
  }),
};
