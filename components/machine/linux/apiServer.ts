import { stringify } from "yaml";
import type { AuditPolicy } from "../../config/machineSchema.ts";
import type { IssuerConfig } from "../../config/schema.ts";
import type { ControlPlaneSettings } from "../../model/clusterSpec.ts";
import { signInPrefix } from "../../model/keyLists.ts";
import { systemNamespaces } from "../../model/nodeSettings.ts";

const yaml = (data: object): string => stringify(data, { lineWidth: 0 });

/**
 * How the API server authenticates. Anonymous requests are for health endpoints only: the kubelet's probes and the load
 * balancers. The default also shows everyone the version and `cluster-info` (kubernetes/kubernetes, bootstrappolicy:
 * system:public-info-viewer; kubeadm: phases/bootstraptoken/clusterinfo).
 */
export function authenticationConfiguration(signIn: readonly IssuerConfig[]): string {
  return yaml({
    apiVersion: "apiserver.config.k8s.io/v1",
    kind: "AuthenticationConfiguration",
    ...(signIn.length > 0 && { jwt: signIn.map(jwtAuthenticator) }),
    anonymous: { enabled: true, conditions: ["/healthz", "/livez", "/readyz"].map((path) => ({ path })) },
  });
}

/**
 * One issuer. The prefix cannot be `system:` (a rule refuses that name), so no token can act as a node or a member of
 * system:masters. The claim `email` counts only with `email_verified` (kubernetes/kubernetes,
 * staging/src/k8s.io/apiserver/plugin/pkg/authenticator/token/oidc).
 */
function jwtAuthenticator(issuer: IssuerConfig): object {
  const { clientId, usernameClaim, groupsClaim, requiredClaims, certificateAuthority } = issuer;
  const prefix = signInPrefix(issuer);
  const rules = Object.entries(requiredClaims).map(([claim, requiredValue]) => ({ claim, requiredValue }));
  return {
    issuer: {
      url: issuer.issuer,
      audiences: [clientId],
      ...(certificateAuthority !== undefined && { certificateAuthority }),
    },
    ...(rules.length > 0 && { claimValidationRules: rules }),
    claimMappings: {
      username: { claim: usernameClaim, prefix },
      ...(groupsClaim !== undefined && { groups: { claim: groupsClaim, prefix } }),
    },
  };
}

export function auditPolicyFile(policy: AuditPolicy): string {
  return yaml({ apiVersion: "audit.k8s.io/v1", kind: "Policy", ...policy });
}

/** Configuration of admission plug-ins, each of which decodes its own part. */
export function admissionConfiguration(spec: Pick<ControlPlaneSettings, "controlPlane" | "kubernetes">): string {
  const own = spec.controlPlane.admission ?? [];
  const plugins = own.some(({ name }) => name === "PodSecurity") ? own : [...own, podSecurity(systemNamespaces(spec))];
  return yaml({ apiVersion: "apiserver.config.k8s.io/v1", kind: "AdmissionConfiguration", plugins });
}

/** In a namespace without a label nothing takes the node: no host's folders, namespaces, ports or rights. */
const podSecurity = (namespaces: readonly string[]) => ({
  name: "PodSecurity",
  configuration: {
    apiVersion: "pod-security.admission.config.k8s.io/v1",
    kind: "PodSecurityConfiguration",
    defaults: { enforce: "baseline", "enforce-version": "latest", warn: "baseline", "warn-version": "latest" },
    exemptions: { namespaces },
  },
});
