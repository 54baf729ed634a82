import type { Row } from "./row.ts";

const limit = { name: "PodSecurity", configuration: { defaults: { enforce: "baseline" } } };

/** Mistakes in flags and files of Kubernetes' own programs. */
export const flagRows: readonly Row[] = [
  [
    "flags of Fenestra, of no minor, with values of another kind, and of weak TLS",
    "aws",
    {
      "controlPlane.extraArgs": {
        apiServer: {
          "authorization-mode": "AlwaysAllow",
          "max-requests-inflght": "800",
          "max-requests-inflight": "many",
          "tracing-config-file": "/etc/x",
          "tls-min-version": "VersionTLS10",
          "disable-admission-plugins": "NodeRestriction",
          "runtime-config": "resource.k8s.io/v1beta1",
        },
        etcd: { "force-new-cluster": "true" },
      },
    },
  ],
  [
    "a feature gate that the minor has locked, for the scheduler and for kubelets",
    "azure",
    {
      "controlPlane.extraArgs": { scheduler: { "feature-gates": "NodeLogQuery=true" } },
      "pools.0.kubelet": { featureGates: { NodeLogQuery: true } },
    },
  ],
  [
    "a plug-in that is off, and pod security that stops the system's own pods",
    "aws",
    { "controlPlane.admission": [{ name: "EventRateLimit", configuration: {} }, limit] },
  ],
  [
    "settings of Linux on a Windows pool, and a threshold without its period",
    "aws",
    { "pools.1.kubelet": { podPidsLimit: 1000, evictionSoft: { "memory.available": "1Gi", "pid.available": "5%" } } },
  ],
];

const zone = "/subscriptions/00000000-0000-4000-8000-000000000000/resourceGroups/dns/providers/Microsoft.Network/dnszones/example.com";

/** Mistakes in names of the API. */
export const nameRows: readonly Row[] = [
  [
    "names that no certificate has, and a zone of the other cloud",
    "aws",
    { "access.names": ["*.example.com", "api.example.com", "api.example.com"], "access.dns": { name: "api.example.com", zone } },
  ],
  [
    "a name outside its zone, which is in another subscription",
    "azure",
    { accountId: "11111111-1111-4111-8111-111111111111", "access.dns": { name: "api.example.org", zone } },
  ],
];
