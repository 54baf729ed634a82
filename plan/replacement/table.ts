import { awsOwners } from "../../components/aws/owners.ts";
import { azureOwners } from "../../components/azure/owners.ts";
import type { Owners } from "../../components/model/cloudFacts/facts.ts";
import { awsRows } from "./aws.ts";
import { azureRows } from "./azure.ts";
import { type ReplacementRow, row } from "./row.ts";

/** What a change of a type does; `undefined` for an unknown type, of which anything may be true. */
export function replacementRow(type: string): ReplacementRow | undefined {
  return rows[type] ?? kubernetesRow(type);
}

/**
 * Whether a changed path is at, below or above a declared one: `zones[0]` for `zones`, `launchTemplate` for
 * `launchTemplate.id`.
 */
export function concerns(changed: string, declared: string): boolean {
  const under = (inner: string, outer: string): boolean =>
    inner === outer || inner.startsWith(`${outer}.`) || inner.startsWith(`${outer}[`);
  return declared === "*" || under(changed, declared) || under(declared, changed);
}

/** Who owns the lists and mappings among the inputs of a type. */
export function ownersOf(type: string): Owners {
  const table = /^(pulumi:providers:)?azure-native(:|$)/.test(type) ? azureOwners : awsOwners;
  const [every, own] = [table["*"], table[type]];
  return { ...every, ...own, contested: { ...every?.contested, ...own?.contested } };
}

/** What of others stops a deletion, by type, on a cloud by the beginning of its types. */
export function heldTypes(cloud: string) {
  return Object.entries({ ...awsOwners, ...azureOwners }).flatMap(([type, { heldBy }]) =>
    heldBy !== undefined && type.startsWith(cloud) ? [[type, heldBy] as const] : [],
  );
}

const drawn = [
  ...["length", "lower", "upper", "number", "numeric", "special", "minLower", "minUpper", "minNumeric", "minSpecial"],
  ...["overrideSpecial", "keepers"],
];
const subject = ["privateKeyPem", "subject", "dnsNames", "ipAddresses", "uris"];

/**
 * hashicorp/terraform-provider-tls and hashicorp/terraform-provider-random, internal/provider, which @pulumi/tls and
 * @pulumi/random bridge. No comparison of inputs shows that a certificate is also replaced at its time to renew.
 */
const otherRows: Readonly<Record<string, ReplacementRow>> = {
  "random:index/randomBytes:RandomBytes": row(["length", "keepers"], { data: "what is encrypted with these bytes" }),
  "random:index/randomPassword:RandomPassword": row(drawn),
  "random:index/randomString:RandomString": row(drawn),
  "random:index/randomUuid:RandomUuid": row(["keepers"]),
  "tls:index/privateKey:PrivateKey": row(["algorithm", "ecdsaCurve", "rsaBits"]),
  "tls:index/certRequest:CertRequest": row(subject),
  "tls:index/selfSignedCert:SelfSignedCert": row([
    ...subject,
    ...["allowedUses", "validityPeriodHours", "isCaCertificate", "setSubjectKeyId", "setAuthorityKeyId"],
  ]),
  "tls:index/locallySignedCert:LocallySignedCert": row([
    ...["certRequestPem", "caCertPem", "caPrivateKeyPem", "allowedUses", "validityPeriodHours", "isCaCertificate"],
    "setSubjectKeyId",
  ]),
};

const named = ["metadata.name", "metadata.namespace"];

/** By kind, what replaces it besides another name or namespace. */
const kinds: Readonly<Record<string, readonly string[]>> = {
  "apps/v1:DaemonSet": ["spec.selector"],
  "apps/v1:Deployment": ["spec.selector"],
  "batch/v1:Job": ["spec.completions", "spec.parallelism", "spec.selector", "spec.template"],
  "core/v1:PersistentVolumeClaim": ["spec.accessModes", "spec.selector", "spec.storageClassName", "spec.volumeName"],
  // Its data too, as a ConfigMap's, unless the provider's enableSecretMutable is on, which InCluster sets.
  "core/v1:Secret": ["type"],
  "core/v1:Service": ["spec.clusterIP"],
  "rbac.authorization.k8s.io/v1:ClusterRoleBinding": ["roleRef"],
  "rbac.authorization.k8s.io/v1:RoleBinding": ["roleRef"],
  "storage.k8s.io/v1:StorageClass": ["parameters", "provisioner"],
};

const data: Readonly<Record<string, string>> = {
  "core/v1:Namespace": "everything in the namespace",
  "core/v1:PersistentVolumeClaim": "what lies on its volume",
  "apiextensions.k8s.io/v1:CustomResourceDefinition": "all objects of this kind",
};

/** What no longer works without an object that holds no data. */
const ends: Readonly<Record<string, string>> = {
  "storage.k8s.io/v1:CSIDriver": "volumes of this driver are no longer mounted",
  "node.k8s.io/v1:RuntimeClass": "pods that name it are refused from then on",
};

/**
 * Objects of Kubernetes: `forceNew` of pulumi/pulumi-kubernetes, provider/pkg/provider/diff.go. What the API server
 * refuses beyond, components/kubernetes/addOn.ts declares.
 */
function kubernetesRow(type: string): ReplacementRow | undefined {
  const [provider, ...rest] = type.split(":");
  const kind = rest.join(":");
  if (provider !== "kubernetes" || rest.length !== 2) return undefined;
  return row([...named, ...(kinds[kind] ?? [])], { data: data[kind], ends: ends[kind] });
}

const rows: Readonly<Record<string, ReplacementRow>> = {
  ...awsRows,
  ...azureRows,
  ...otherRows,
  // Another cluster has other objects.
  "pulumi:providers:kubernetes": row(["clusterIdentifier"]),
  // Kept by the engine itself (pulumi/pulumi: pkg/resource/deploy/builtins.go).
  "pulumi:index:Stash": row([]),
};
