import { stringify } from "yaml";
import type { IssuerConfig } from "../../config/schema.ts";
import { signInPrefix } from "../../model/signIn.ts";
import { placeholders } from "../placeholders.ts";

const yaml = (data: object): string => stringify(data, { lineWidth: 0 });

const reading = ["get", "list", "watch"];

/**
 * What the API server writes to its audit log: who did what, without bodies, since those of Secrets and tokens must not be on a disk. What
 * components read all the time is left out.
 */
export function auditPolicy(): string {
  return yaml({
    apiVersion: "audit.k8s.io/v1",
    kind: "Policy",
    omitStages: ["RequestReceived"],
    rules: [
      // The first rule that fits decides: reading Secrets and making tokens is recorded whoever does it, kubelets and controllers included.
      { level: "Metadata", resources: [{ group: "", resources: ["secrets", "serviceaccounts/token"] }] },
      { level: "None", nonResourceURLs: ["/healthz*", "/livez*", "/readyz*", "/version", "/openapi*"] },
      { level: "None", resources: [{ group: "", resources: ["events"] }, { group: "events.k8s.io" }] },
      { level: "None", resources: [{ group: "coordination.k8s.io", resources: ["leases"] }] },
      // A rule with both users and groups would need both to match.
      { level: "None", userGroups: ["system:nodes"], verbs: reading },
      {
        level: "None",
        users: ["system:kube-scheduler", "system:kube-controller-manager", "system:kube-proxy", "system:apiserver"],
        verbs: reading,
      },
      { level: "Metadata" },
    ],
  });
}

/**
 * How the API server authenticates. Who has no credentials may ask for its health and nothing else: the kubelet's probes and the load
 * balancers have none. By default a person who reaches the port also reads the version and `cluster-info` (kubernetes/kubernetes,
 * bootstrappolicy: system:public-info-viewer; kubeadm: phases/bootstraptoken/clusterinfo).
 */
export function authenticationConfiguration(signIn: readonly IssuerConfig[]): string {
  return yaml({
    apiVersion: "apiserver.config.k8s.io/v1",
    kind: "AuthenticationConfiguration",
    ...(signIn.length === 0 ? {} : { jwt: signIn.map(jwtAuthenticator) }),
    anonymous: { enabled: true, conditions: healthPaths.map((path) => ({ path })) },
  });
}

/**
 * One issuer. The prefix cannot be `system:` (a rule refuses that name), so no token becomes a node or a member of system:masters. A claim
 * `email` counts only with `email_verified` (kubernetes/kubernetes, staging/src/k8s.io/apiserver/plugin/pkg/authenticator/token/oidc).
 */
function jwtAuthenticator(issuer: IssuerConfig): object {
  const { clientId, usernameClaim, groupsClaim, requiredClaims, certificateAuthority } = issuer;
  const prefix = signInPrefix(issuer);
  const rules = Object.entries(requiredClaims).map(([claim, requiredValue]) => ({ claim, requiredValue }));
  return {
    issuer: {
      url: issuer.issuer,
      audiences: [clientId],
      ...(certificateAuthority === undefined ? {} : { certificateAuthority }),
    },
    ...(rules.length === 0 ? {} : { claimValidationRules: rules }),
    claimMappings: {
      username: { claim: usernameClaim, prefix },
      ...(groupsClaim === undefined ? {} : { groups: { claim: groupsClaim, prefix } }),
    },
  };
}

const healthPaths = ["/healthz", "/livez", "/readyz"] as const;

/** Encryption of Secrets at rest; the key is a placeholder that the machine fills at boot. */
export function encryptionConfiguration(): string {
  return yaml({
    apiVersion: "apiserver.config.k8s.io/v1",
    kind: "EncryptionConfiguration",
    resources: [
      {
        resources: ["secrets"],
        providers: [
          { secretbox: { keys: [{ name: "key1", secret: placeholders.encryptionKey }] } },
          // Reads what was written before there was a key; nothing is written by it.
          { identity: {} },
        ],
      },
    ],
  });
}

/**
 * Makes members of the group in admin.conf administrators, under kubeadm's own name, so that a later kubeadm finds it; and lets the tokens
 * of the join secret ask for certificates. They are not in kubeadm's group, whose requests the controller-manager approves whatever name
 * they are for (kubernetes/kubernetes, cmd/kubeadm/app/phases/bootstraptoken/node: AutoApproveNodeBootstrapTokens).
 */
export function bindings(): string {
  const binding = (name: string, role: string, group: string): string =>
    yaml({
      apiVersion: "rbac.authorization.k8s.io/v1",
      kind: "ClusterRoleBinding",
      metadata: { name },
      roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: role },
      subjects: [{ apiGroup: "rbac.authorization.k8s.io", kind: "Group", name: group }],
    });
  return [
    binding("kubeadm:cluster-admins", "cluster-admin", "kubeadm:cluster-admins"),
    binding("fenestra:workers-ask", "system:node-bootstrapper", "system:bootstrappers:fenestra:workers"),
  ].join("---\n");
}
