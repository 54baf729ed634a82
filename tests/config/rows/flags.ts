import type { Row } from "./row.ts";

const keep = "other flags of the program";
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
    [
      [
        "controlPlane.extraArgs.apiServer.authorization-mode",
        "AlwaysAllow",
        "is a flag that Fenestra keeps to itself: kubelets are confined by Node, everybody else by RBAC",
        keep,
      ],
      [
        "controlPlane.extraArgs.apiServer.disable-admission-plugins",
        "NodeRestriction",
        "switches off NodeRestriction: it confines kubelets to their own nodes",
        "plug-ins other than NodeRestriction, RuntimeClass, MutatingAdmissionPolicy, ValidatingAdmissionPolicy, ServiceAccount, NamespaceLifecycle, TaintNodesByCondition, CertificateApproval, CertificateSigning, CertificateSubjectRestriction",
      ],
      [
        "controlPlane.extraArgs.apiServer.max-requests-inflght",
        "800",
        "is not a flag that kube-apiserver 1.36 lists",
        "what kube-apiserver --help of 1.36.3 shows, without the dashes",
      ],
      ["controlPlane.extraArgs.apiServer.max-requests-inflight", "many", "has a value that the flag does not take", "a whole number"],
      [
        "controlPlane.extraArgs.apiServer.runtime-config",
        "resource.k8s.io/v1beta1",
        'has "resource.k8s.io/v1beta1", which switches nothing on',
        "group/version=true",
      ],
      [
        "controlPlane.extraArgs.apiServer.tls-min-version",
        "VersionTLS10",
        "is older than TLS 1.2",
        "VersionTLS12 or VersionTLS13, for etcd TLS1.2 or TLS1.3",
      ],
      [
        "controlPlane.extraArgs.apiServer.tracing-config-file",
        "/etc/x",
        "is a flag that Fenestra keeps to itself: it names a file; a machine has only those that Fenestra writes",
        keep,
      ],
      [
        "controlPlane.extraArgs.etcd.force-new-cluster",
        "true",
        "is a flag that Fenestra keeps to itself: it drops the other members",
        keep,
      ],
    ],
  ],
  [
    "a feature gate that the minor has locked, for the scheduler and for kubelets",
    "azure",
    {
      "controlPlane.extraArgs": { scheduler: { "feature-gates": "NodeLogQuery=true" } },
      "pools.0.kubelet": { featureGates: { NodeLogQuery: true } },
    },
    [
      [
        "controlPlane.extraArgs.scheduler.feature-gates",
        "NodeLogQuery=true",
        "names NodeLogQuery, which is no feature gate that kube-scheduler 1.36 lets one set: it never was one, is locked, or is gone",
        "alpha and beta gates of that minor, as its --help lists them",
      ],
      [
        "pools[0].kubelet.featureGates.NodeLogQuery",
        true,
        "names NodeLogQuery, which is no feature gate that kubelet 1.36 lets one set: it never was one, is locked, or is gone",
        "alpha and beta gates of that minor, as its --help lists them",
      ],
    ],
  ],
  [
    "a plug-in that is off, and pod security that stops the system's own pods",
    "aws",
    { "controlPlane.admission": [{ name: "EventRateLimit", configuration: {} }, limit] },
    [
      [
        "controlPlane.admission[0].name",
        "EventRateLimit",
        "is off by default, so its configuration would do nothing",
        "a plug-in that is on",
      ],
      [
        "controlPlane.admission[1].configuration",
        limit.configuration,
        "would keep the pods of the control plane and of the node's network from being made",
        "defaults.enforce: privileged, or kube-system in exemptions.namespaces",
      ],
    ],
  ],
  [
    "settings of Linux on a Windows pool, and a threshold without its period",
    "aws",
    { "pools.1.kubelet": { podPidsLimit: 1000, evictionSoft: { "memory.available": "1Gi", "pid.available": "5%" } } },
    [
      [
        'pools[1].kubelet.evictionSoft["memory.available"]',
        "1Gi",
        "has no grace period, without which the kubelet does not start",
        "a threshold that evictionSoftGracePeriod names too",
      ],
      ['pools[1].kubelet.evictionSoft["pid.available"]', "set", "is a setting that kubelets on Windows do not have", "nothing on Windows"],
      [
        'pools[1].kubelet.evictionSoft["pid.available"]',
        "5%",
        "has no grace period, without which the kubelet does not start",
        "a threshold that evictionSoftGracePeriod names too",
      ],
      ["pools[1].kubelet.podPidsLimit", "set", "is a setting that kubelets on Windows do not have", "nothing on Windows"],
    ],
  ],
];

const zone = "/subscriptions/00000000-0000-4000-8000-000000000000/resourceGroups/dns/providers/Microsoft.Network/dnszones/example.com";

/** Mistakes in names of the API. */
export const nameRows: readonly Row[] = [
  [
    "names that no certificate has, and a zone of the other cloud",
    "aws",
    {
      "access.names": ["*.example.com", "api.example.com", "api.example.com"],
      "access.dns": { name: "api.example.com", zone },
    },
    [
      ["access.dns.zone", zone, "is a zone of the other cloud", "the id of a hosted zone of Route 53"],
      ["access.names[0]", "*.example.com", "is no host name", "lower-case names with a dot, or IPv4 addresses; no *"],
      ["access.names[2]", "api.example.com", "is listed twice", "each name once"],
    ],
  ],
  [
    "a name outside its zone, which is in another subscription",
    "azure",
    { accountId: "11111111-1111-4111-8111-111111111111", "access.dns": { name: "api.example.org", zone } },
    [
      ["access.dns.name", "api.example.org", "is not in the zone example.com", "a name that ends with .example.com"],
      ["access.dns.zone", zone, "is in another subscription, which the program does not touch", "a zone of the stack's subscription"],
    ],
  ],
];
