import type { ClusterSpec } from "../../model/clusterSpec.ts";
import type { AddOnEntry } from "../addOnEntry.ts";
import { image } from "../images.ts";
import type { Manifest } from "../manifest.ts";
import { type Account, clusterRights, namespaceRights, onControlPlane, replicated, rule, serviceAccount, small } from "../workload.ts";

const account: Account = { name: "kubelet-csr-approver", namespace: "kube-system" };

/** What a kubelet's request for a serving certificate must look like to be approved. A request that does not is denied for good. */
export interface ApproverRules {
  /** Anchored expression that every DNS name in a request fulfils: the node's name, and what the cloud controller adds to it. */
  readonly nodeName: string;
  /** Networks of the nodes; each address in a request must be in one of them. */
  readonly networks: readonly string[];
  /** Most DNS names in one request. Each must begin with the node's name. */
  readonly maxDnsNames: number;
}

/**
 * Rules made from the cluster's names and subnets. AWS nodes are named by their instance id. Their cloud controller writes the instance's private
 * DNS name into the node's addresses, as host name too (kubernetes/cloud-provider-aws: pkg/providers/v1/aws.go, `extractIPv4NodeAddresses`), and
 * the kubelet then asks for a certificate of that name (kubernetes: pkg/kubelet/certificate/kubelet.go). For machines named by their resource it is
 * the instance id with the region's domain (AWS, VPC user guide: DNS attributes for your VPC).
 *
 * On Azure a control-plane machine bears its resource's name, and a machine of a scale set its computer-name prefix and six characters of base 36.
 */
export function approverRules(spec: Pick<ClusterSpec, "cloud" | "name" | "network" | "pools" | "region">): ApproverRules {
  // Zones of an existing network may share subnets.
  const networks = [...new Set(spec.network.zones.flatMap((zone) => [zone.private, zone.controlPlane]))];
  if (spec.cloud === "aws") {
    const domain = spec.region === "us-east-1" ? "ec2.internal" : `${spec.region}.compute.internal`;
    return { nodeName: `^i-[0-9a-f]{8,17}(\\.${domain.replaceAll(".", "\\.")})?$`, networks, maxDnsNames: 2 };
  }
  const pools = [...new Set(spec.pools.map(({ name }) => name))];
  const controlPlane = `${spec.name}-cp-[0-2]`;
  return {
    nodeName: `^(${[controlPlane, ...pools.map((pool) => `${pool}[0-9a-z]{6}`)].join("|")})$`,
    networks,
    maxDnsNames: 1,
  };
}

/** The approver of serving certificates. */
export const csrApprover: AddOnEntry = {
  name: "csr-approver",
  after: [],
  settings: ["csrApprover"],
  manifests: csrApproverManifests,
};

/** Approves the serving certificates that kubelets ask for (postfinance/kubelet-csr-approver): without it no logs, exec or metrics. */
function csrApproverManifests(
  spec: Pick<ClusterSpec, "artifacts" | "cloud" | "controlPlane" | "name" | "network" | "pools" | "region">,
): readonly Manifest[] {
  const { nodeName, networks, maxDnsNames } = approverRules(spec);
  return [
    serviceAccount(account),
    ...clusterRights(account, "fenestra:kubelet-csr-approver", [
      rule("certificates.k8s.io", ["certificatesigningrequests"], ["get", "list", "watch"]),
      rule("certificates.k8s.io", ["certificatesigningrequests/approval"], ["update"]),
      rule("certificates.k8s.io", ["signers"], ["approve"], ["kubernetes.io/kubelet-serving"]),
    ]),
    ...namespaceRights(account, "kubelet-csr-approver", [
      rule("coordination.k8s.io", ["leases"], ["create", "get", "update"]),
      rule("", ["events"], ["create", "patch"]),
    ]),
    ...replicated(account, spec.controlPlane.members.length > 1 ? 2 : 1, {
      ...onControlPlane,
      priorityClassName: "system-cluster-critical",
      serviceAccountName: account.name,
      containers: [
        {
          name: account.name,
          image: image(spec, "ghcr.io/postfinance/kubelet-csr-approver"),
          args: ["-metrics-bind-address", ":8080", "-health-probe-bind-address", ":8081", "-leader-election"],
          env: [
            { name: "PROVIDER_REGEX", value: nodeName },
            { name: "PROVIDER_IP_PREFIXES", value: networks.join(",") },
            { name: "ALLOWED_DNS_NAMES", value: String(maxDnsNames) },
            // Names of Azure's machines resolve only inside the network; names and networks are bound by the two rules above.
            { name: "BYPASS_DNS_RESOLUTION", value: "true" },
            { name: "MAX_EXPIRATION_SEC", value: "31622400" },
          ],
          livenessProbe: { httpGet: { path: "/healthz", port: 8081 } },
          securityContext: {
            allowPrivilegeEscalation: false,
            readOnlyRootFilesystem: true,
            runAsNonRoot: true,
            runAsUser: 65532,
            capabilities: { drop: ["ALL"] },
            seccompProfile: { type: "RuntimeDefault" },
          },
          resources: small("10m", "64Mi", "128Mi"),
        },
      ],
    }),
  ];
}
