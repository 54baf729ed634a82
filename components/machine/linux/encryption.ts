import { stringify } from "yaml";
import type { ControlPlaneSettings } from "../../model/clusterSpec.ts";
import { encryptionSecret, isFirstKeyAlone, type SecretsEncryption } from "../../model/keyLists.ts";
import type { Stage } from "../../model/podNetwork.ts";
import type { PayloadFile } from "../payload.ts";
import type { MachineEnv } from "./machineEnv.ts";
import { rootFile, tsvFile } from "./rootfs.ts";
import { encryptedStage, encryptionStage, stageScript } from "./stages.ts";

/*
 * Keys of the encryption of Secrets. A cluster without `secretsEncryption` keeps the files of the first key alone: any
 * other byte would replace its control-plane machines.
 */

const encryptionFile = "/etc/fenestra/encryption.yaml";
const encryptionTable = "/etc/fenestra/encryption-keys.tsv";

/** What `@NAME@` of a key in the configuration is called; the stage `encryption` fills it in. */
const keyPlaceholder = (index: number): string => `ENCRYPTION_KEY_${index}`;

/** The keys for the API server (EncryptionConfiguration, apiserver.config.k8s.io/v1). */
function encryptionConfiguration({ keys }: SecretsEncryption): string {
  const configuration = {
    apiVersion: "apiserver.config.k8s.io/v1",
    kind: "EncryptionConfiguration",
    resources: [
      {
        resources: ["secrets"],
        // The last one only reads what was written before there was a key.
        providers: [
          { secretbox: { keys: keys.map((name, index) => ({ name, secret: `@${keyPlaceholder(index)}@` })) } },
          { identity: {} },
        ],
      },
    ],
  };
  return stringify(configuration, { lineWidth: 0 });
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
 * Stages with those of the keys. What etcd holds is compared before the API server starts, with one member as soon as
 * its etcd runs: an API server that cannot decrypt a Secret is never ready.
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
