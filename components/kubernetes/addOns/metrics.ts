import type { AddOnEntry } from "../addOnEntry.ts";
import { type ImageSource, image } from "../images.ts";
import type { Manifest } from "../manifest.ts";
import { type Account, boundClusterRole, clusterRights, readsAuthentication, rule, serviceAccount } from "../rights.ts";
import { deployment, httpsService, onAnyLinux, small, unprivileged } from "../workload.ts";
import { cloudController } from "./cloudController.ts";
import { networking } from "./networking.ts";

const account: Account = { name: "metrics-server", namespace: "kube-system" };

export const metricsServer: AddOnEntry = {
  name: "metrics-server",
  after: [networking, cloudController],
  settings: ["metricsServer"],
  manifests: metricsServerManifests,
};

/**
 * metrics-server, for `kubectl top` and the horizontal autoscaler: Windows kubelets serve /metrics/resource too. It
 * checks kubelets' certificates by the cluster's CA, which the node controller gives them.
 */
function metricsServerManifests(spec: ImageSource): readonly Manifest[] {
  return [
    serviceAccount(account),
    ...clusterRights(account, "fenestra:metrics-server", [
      rule("", ["nodes/metrics"], ["get"]),
      rule("", ["pods", "nodes"], ["get", "list", "watch"]),
    ]),
    {
      apiVersion: "rbac.authorization.k8s.io/v1",
      kind: "ClusterRole",
      metadata: {
        name: "fenestra:aggregated-metrics-reader",
        labels: {
          "rbac.authorization.k8s.io/aggregate-to-admin": "true",
          "rbac.authorization.k8s.io/aggregate-to-edit": "true",
          "rbac.authorization.k8s.io/aggregate-to-view": "true",
        },
      },
      rules: [rule("metrics.k8s.io", ["pods", "nodes"], ["get", "list", "watch"])],
    },
    boundClusterRole(account, "fenestra:metrics-server-auth-delegator", "system:auth-delegator"),
    readsAuthentication(account, "metrics-server-auth-reader"),
    workload(spec),
    httpsService(account, { appProtocol: "https" }),
    {
      apiVersion: "apiregistration.k8s.io/v1",
      kind: "APIService",
      // Its certificate is generated at start, so the API server's traffic to it is encrypted but not authenticated.
      metadata: { name: "v1beta1.metrics.k8s.io", annotations: { "pulumi.com/skipAwait": "true" } },
      spec: {
        group: "metrics.k8s.io",
        version: "v1beta1",
        groupPriorityMinimum: 100,
        versionPriority: 100,
        insecureSkipTLSVerify: true,
        service: { name: account.name, namespace: account.namespace },
      },
    },
  ];
}

function workload(spec: ImageSource): Manifest {
  const pod = {
    ...onAnyLinux,
    priorityClassName: "system-cluster-critical",
    container: {
      image: image(spec, "registry.k8s.io/metrics-server/metrics-server"),
      args: [
        "--secure-port=10250",
        "--cert-dir=/tmp",
        "--kubelet-certificate-authority=/var/run/secrets/kubernetes.io/serviceaccount/ca.crt",
        "--kubelet-preferred-address-types=InternalIP",
        "--kubelet-use-node-status-port",
        "--metric-resolution=15s",
      ],
      ports: [{ name: "https", containerPort: 10250 }],
      livenessProbe: { httpGet: { path: "/livez", port: "https", scheme: "HTTPS" }, periodSeconds: 10 },
      readinessProbe: {
        httpGet: { path: "/readyz", port: "https", scheme: "HTTPS" },
        periodSeconds: 10,
        initialDelaySeconds: 20,
      },
      securityContext: unprivileged(1000),
      volumeMounts: [{ name: "tmp", mountPath: "/tmp" }],
      resources: small("100m", "200Mi", "512Mi"),
    },
    volumes: [{ name: "tmp", emptyDir: {} }],
  };
  // A roll of its only pod would leave autoscaling blind for a minute; it has no host port.
  return deployment(account, 1, pod, { maxSurge: 1, maxUnavailable: 0 });
}
