import { awsPluginInput, azurePluginInput, ccgPlugins } from "../../model/cloudFacts/identities.ts";
import type { ClusterSpec } from "../../model/clusterSpec.ts";
import type { AddOns } from "../../model/nodeSettings.ts";
import type { AddOnEntry, ServerCertificate } from "../addOnEntry.ts";
import { fill, sharedCel } from "../guardRails/ownNode.ts";
import { image } from "../images.ts";
import { type Account, clusterRights, type Manifest, mapText, rule, serviceAccount, type Text } from "../manifest.ts";
import { customResource, httpsService, onControlPlane, replicated, small, unprivileged } from "../workload.ts";
import { cloudController } from "./cloudController.ts";
import { networking } from "./networking.ts";

const account: Account = { name: "gmsa-webhook", namespace: "kube-system" };
const certificateSecret = "gmsa-webhook-certificate";

/** Host name of the webhook's Service, which its certificate must name. */
export const gmsaWebhookHost = `${account.name}.${account.namespace}.svc`;

type CredentialSpec = NonNullable<AddOns["gmsa"]>["credentialSpecs"][number];

/** ClusterRole that lets a service account use a credential specification: bind it in the pods' namespace. */
export function credentialSpecRole(name: string): string {
  return `fenestra:gmsa-${name}`;
}

export const gmsa: AddOnEntry = {
  name: "gmsa",
  after: [networking, cloudController],
  settings: ["gmsa"],
  manifests: (spec, { gmsaCertificate, gmsaObjectId }) => {
    if (gmsaCertificate === undefined) throw new RangeError("the gMSA webhook needs a certificate");
    return gmsaManifests(spec, gmsaCertificate, gmsaObjectId);
  },
};

/**
 * The credential specifications and the webhook that writes them into pods (kubernetes-sigs/windows-gmsa: charts/gmsa).
 */
function gmsaManifests(
  spec: ClusterSpec,
  certificate: ServerCertificate,
  objectId: Text | undefined,
): readonly Manifest[] {
  const specs = spec.addons.gmsa?.credentialSpecs ?? [];
  return [
    definition,
    ...specs.flatMap((each) => credentialSpecManifests(each, pluginHost(spec.cloud, each, objectId))),
    serviceAccount(account),
    ...clusterRights(account, "fenestra:gmsa-webhook", [
      rule("windows.k8s.io", ["gmsacredentialspecs"], ["get"]),
      rule("authorization.k8s.io", ["localsubjectaccessreviews"], ["create"]),
    ]),
    {
      apiVersion: "v1",
      kind: "Secret",
      metadata: { name: certificateSecret, namespace: account.namespace },
      type: "kubernetes.io/tls",
      stringData: { "tls.crt": certificate.certificate, "tls.key": certificate.key },
    },
    ...webhook(spec),
    httpsService(account),
    ...webhookConfigurations(certificate.caBundle),
  ];
}

const definition = customResource(
  {
    group: "windows.k8s.io",
    kind: "GMSACredentialSpec",
    plural: "gmsacredentialspecs",
    scope: "Cluster",
    approval: "https://github.com/kubernetes/enhancements/tree/master/keps/sig-windows/689-windows-gmsa",
  },
  {
    required: ["credspec"],
    properties: {
      credspec: {
        type: "object",
        description: "Content of a credential specification file.",
        // The SDK's spelling; the provider sends it with hyphens.
        x_kubernetes_preserve_unknown_fields: true,
      },
    },
  },
);

/** How a node that has not joined the domain fetches an account. */
interface PluginHost {
  readonly classId: string;
  /** Location of the secret, never the secret. */
  readonly input: Text;
}

/**
 * The plug-in's part of an account; `undefined` without a secret: only nodes of the domain can use such an account.
 *
 * @param objectId Azure only: object id of the identity that may read the secrets
 * @throws RangeError on Azure without it
 */
export function pluginHost(
  cloud: ClusterSpec["cloud"],
  { name, secret }: CredentialSpec,
  objectId: Text | undefined,
): PluginHost | undefined {
  if (secret === undefined) return undefined;
  const { classId } = ccgPlugins[cloud];
  if (cloud === "aws") return { classId, input: awsPluginInput(secret) };
  if (objectId === undefined) throw new RangeError(`the secret of the account ${name} needs an identity that reads it`);
  return { classId, input: mapText(objectId, (known) => azurePluginInput(secret, known)) };
}

/** Content of a credential specification file, without a secret (MicrosoftDocs: CredentialSpec PowerShell module). */
export function credentialSpecContent({ account: name, domain }: CredentialSpec, host: PluginHost | undefined) {
  return {
    CmsPlugins: ["ActiveDirectory"],
    DomainJoinConfig: {
      Sid: domain.sid,
      MachineAccountName: name,
      Guid: domain.guid,
      DnsTreeName: domain.forest ?? domain.dnsName,
      DnsName: domain.dnsName,
      NetBiosName: domain.netBiosName,
    },
    ActiveDirectoryConfig: {
      GroupManagedServiceAccounts: [
        { Name: name, Scope: domain.dnsName },
        { Name: name, Scope: domain.netBiosName },
      ],
      ...(host !== undefined && {
        HostAccountConfig: { PortableCcgVersion: "1", PluginGUID: `{${host.classId}}`, PluginInput: host.input },
      }),
    },
  };
}

function credentialSpecManifests(credentialSpec: CredentialSpec, host: PluginHost | undefined): readonly Manifest[] {
  const { name } = credentialSpec;
  return [
    {
      apiVersion: "windows.k8s.io/v1",
      kind: "GMSACredentialSpec",
      metadata: { name },
      credspec: credentialSpecContent(credentialSpec, host),
    },
    {
      apiVersion: "rbac.authorization.k8s.io/v1",
      kind: "ClusterRole",
      metadata: { name: credentialSpecRole(name) },
      rules: [rule("windows.k8s.io", ["gmsacredentialspecs"], ["use"], [name])],
    },
  ];
}

function webhook(spec: ClusterSpec): readonly Manifest[] {
  return replicated(account, 2, {
    ...onControlPlane,
    container: {
      image: image(spec, "registry.k8s.io/gmsa-webhook/k8s-gmsa-webhook"),
      args: ["--cert-reload=true"],
      env: [
        { name: "TLS_KEY", value: "/tls/tls.key" },
        { name: "TLS_CRT", value: "/tls/tls.crt" },
        { name: "HTTPS_PORT", value: "8443" },
        // With its client's limits, 5 and 10, pods that start together would wait (charts/gmsa).
        { name: "QPS", value: "30" },
        { name: "BURST", value: "50" },
      ],
      ports: [{ name: "https", containerPort: 8443 }],
      readinessProbe: { httpGet: { path: "/health", port: "https", scheme: "HTTPS" } },
      securityContext: unprivileged(65532),
      volumeMounts: [{ name: "tls", mountPath: "/tls", readOnly: true }],
      resources: small("10m", "32Mi", "128Mi"),
    },
    volumes: [{ name: "tls", secret: { secretName: certificateSecret } }],
  });
}

function webhookConfigurations(caBundle: Text): readonly Manifest[] {
  const hook = (path: string, operations: string[]) => ({
    name: `${path.slice(1)}.gmsa-webhook.windows.k8s.io`,
    clientConfig: { service: { name: account.name, namespace: account.namespace, path }, caBundle },
    rules: [{ apiGroups: [""], apiVersions: ["v1"], operations, resources: ["pods"] }],
    failurePolicy: "Fail",
    sideEffects: "None",
    admissionReviewVersions: ["v1"],
    matchConditions: [
      { name: "uses-account", expression: fill(sharedCel.anyAccount ?? "", { cel: sharedCel, values: {} }) },
    ],
    namespaceSelector: {
      matchExpressions: [
        { key: "windows.k8s.io/disabled", operator: "NotIn", values: ["true"] },
        { key: "kubernetes.io/metadata.name", operator: "NotIn", values: [account.namespace] },
      ],
    },
  });
  return [
    {
      apiVersion: "admissionregistration.k8s.io/v1",
      kind: "MutatingWebhookConfiguration",
      metadata: { name: account.name },
      webhooks: [hook("/mutate", ["CREATE"])],
    },
    {
      apiVersion: "admissionregistration.k8s.io/v1",
      kind: "ValidatingWebhookConfiguration",
      metadata: { name: account.name },
      webhooks: [hook("/validate", ["CREATE", "UPDATE"])],
    },
  ];
}
