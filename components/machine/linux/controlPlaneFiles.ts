import { readdirSync } from "node:fs";
import { stringify } from "yaml";
import type { AuditPolicy } from "../../config/flagSchema.ts";
import type { Cloud, IssuerConfig } from "../../config/schema.ts";
import { systemNamespaces } from "../../model/addOns.ts";
import { cloudFacts } from "../../model/cloudFacts/cloudFacts.ts";
import type { ControlPlaneSettings } from "../../model/clusterSpec.ts";
import type { Stage } from "../../model/machineParts.ts";
import { encryptionSecret, isFirstKeyAlone, type SecretsEncryption } from "../../model/secretsEncryption.ts";
import { signInPrefix } from "../../model/signIn.ts";
import type { PayloadFile } from "../payload.ts";
import { readScript } from "../script.ts";
import { rootFile, script } from "./files.ts";
import type { MachineEnv } from "./machineEnv.ts";
import { tsvFile } from "./shell.ts";
import { encryptedStage, encryptionStage, stageScript } from "./stages.ts";

const yaml = (data: object): string => stringify(data, { lineWidth: 0 });

/**
 * How the API server authenticates. Anonymous requests are allowed for health endpoints only, for the kubelet's probes
 * and the load balancers. By default anyone who reaches the port can also read the version and `cluster-info`
 * (kubernetes/kubernetes, bootstrappolicy: system:public-info-viewer; kubeadm: phases/bootstraptoken/clusterinfo).
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

export function auditPolicyFile(policy: AuditPolicy): string {
  return yaml({ apiVersion: "audit.k8s.io/v1", kind: "Policy", ...policy });
}

/** Configuration of admission plug-ins. Each plug-in's part is decoded by the plug-in itself. */
export function admissionConfiguration(spec: Pick<ControlPlaneSettings, "controlPlane" | "kubernetes">): string {
  const own = spec.controlPlane.admission ?? [];
  const plugins = own.some(({ name }) => name === "PodSecurity") ? own : [...own, podSecurity(systemNamespaces(spec))];
  return yaml({ apiVersion: "apiserver.config.k8s.io/v1", kind: "AdmissionConfiguration", plugins });
}

/**
 * In a namespace without a label of its own nothing is admitted that takes the node: no host's folders, namespaces,
 * ports or rights.
 */
const podSecurity = (namespaces: readonly string[]) => ({
  name: "PodSecurity",
  configuration: {
    apiVersion: "pod-security.admission.config.k8s.io/v1",
    kind: "PodSecurityConfiguration",
    defaults: { enforce: "baseline", "enforce-version": "latest", warn: "baseline", "warn-version": "latest" },
    exemptions: { namespaces },
  },
});

/**
 * Unit of the program that gives machines their certificates and looks after nodes, on every control-plane machine; a
 * file of `rootfs`.
 */
export const nodeControllerUnit = "fenestra-node-controller.service";

const programFolder = new URL("../../nodeController/program/", import.meta.url);

/** Its modules but those of other clouds, and what issues its certificate. All of it is fetched on AWS, as scripts are. */
export function nodeControllerScripts(cloud: Cloud): readonly PayloadFile[] {
  const foreign = Object.keys(cloudFacts).filter((other) => other !== cloud);
  const modules = readdirSync(programFolder).filter((name) => {
    const [, module] = /^(\w+)\.py$/.exec(name) ?? [];
    return module !== undefined && !foreign.includes(module);
  });
  return [
    script("node-controller-identity.sh"),
    ...modules
      .sort()
      .map((name) => ({
        path: `/opt/fenestra/node-controller/${name}`,
        content: readScript(new URL(name, programFolder)),
        mode: "0755",
      })),
  ];
}

/*
 * Keys of the encryption of Secrets other than the first one alone. A cluster without `secretsEncryption` has the files that it always had: any
 * other byte would replace its control-plane machines.
 */

const encryptionFile = "/etc/fenestra/encryption.yaml";
const encryptionTable = "/etc/fenestra/encryption-keys.tsv";

/** What `@NAME@` of a key in the configuration is called; the stage `encryption` fills it in. */
const keyPlaceholder = (index: number): string => `ENCRYPTION_KEY_${index}`;

/** The keys for the API server (EncryptionConfiguration, apiserver.config.k8s.io/v1). */
function encryptionConfiguration({ keys }: SecretsEncryption): string {
  return yaml({
    apiVersion: "apiserver.config.k8s.io/v1",
    kind: "EncryptionConfiguration",
    resources: [
      {
        resources: ["secrets"],
        // The last one reads what was written before there was a key; nothing is written by it.
        providers: [
          { secretbox: { keys: keys.map((name, index) => ({ name, secret: `@${keyPlaceholder(index)}@` })) } },
          { identity: {} },
        ],
      },
    ],
  });
}

/**
 * The configuration, and the secrets that it needs.
 *
 * @param secret how the machine asks the store for a name
 * @param first name of the first key's entry in the store
 */
export function encryptionFiles(
  { secretsEncryption }: ControlPlaneSettings,
  secret: (name: string) => string,
  first: string,
): readonly PayloadFile[] {
  if (isFirstKeyAlone(secretsEncryption)) return [rootFile(encryptionFile)];
  const rows = secretsEncryption.keys.map((key, index) => [
    keyPlaceholder(index),
    secret(encryptionSecret(first, key)),
  ]);
  return [
    { path: encryptionFile, content: encryptionConfiguration(secretsEncryption) },
    { path: encryptionTable, content: tsvFile(rows) },
  ];
}

/** Variables of the stages. */
export function encryptionEnv(
  { secretsEncryption }: ControlPlaneSettings,
  secret: (name: string) => string,
  first: string,
): MachineEnv {
  return isFirstKeyAlone(secretsEncryption)
    ? { SECRET_ENCRYPTION_KEY: secret(first) }
    : { ENCRYPTION_PREFIXES: prefixes(secretsEncryption).join("|") };
}

/** What values of these keys begin with in etcd (k8s.io/apiserver, pkg/server/options/encryptionconfig). */
function prefixes({ keys }: SecretsEncryption): readonly string[] {
  return keys.map((name) => `k8s:enc:secretbox:v1:${name}:`);
}

/**
 * Stages with those of the keys. What etcd holds is compared before the API server starts where another member can be
 * asked, and else as soon as the own etcd runs: an API server that cannot decrypt a Secret is never ready.
 */
export function withEncryption(
  { secretsEncryption, controlPlane }: Pick<ControlPlaneSettings, "secretsEncryption" | "controlPlane">,
  stages: readonly Stage[],
): readonly Stage[] {
  if (isFirstKeyAlone(secretsEncryption)) return stages;
  const alone = controlPlane.members.length === 1;
  return stages.flatMap((stage) => {
    switch (stage.name) {
      case "secrets":
        return [
          { ...stage, reads: [] },
          { ...encryptionStage, reads: [encryptionFile, encryptionTable] },
        ];
      case "manifests":
        return alone ? [stage] : [encryptedStage, stage];
      case "ready":
        return alone ? [encryptedStage, stage] : [stage];
      default:
        return [stage];
    }
  });
}

/** The scripts without what the stage `secrets` does for the first key alone. */
export function withoutFirstKey(
  { secretsEncryption }: Pick<ControlPlaneSettings, "secretsEncryption">,
  files: readonly PayloadFile[],
): readonly PayloadFile[] {
  if (isFirstKeyAlone(secretsEncryption)) return files;
  return files.map((file) =>
    file.path === stageScript("secrets")
      ? { ...file, content: file.content.replaceAll(/^.*ENCRYPTION_KEY.*\n/gm, "") }
      : file,
  );
}
