/** Name of the key that every cluster without `secretsEncryption` has. etcd has it in each value, so it never changes. */
export const firstEncryptionKey = "key1";

/** A key of the cloud's key service. */
export interface KmsKey {
  /** Name among the keys. */
  readonly name: string;
  /** ARN of the key, or resource id of a version of the key. */
  readonly key: string;
}

/** How Secrets are encrypted in etcd. */
export interface SecretsEncryption {
  /** Names of the keys: the first one encrypts, all decrypt. */
  readonly keys: readonly string[];
  /** Those of them that are in the cloud's key service. */
  readonly kms: readonly KmsKey[];
  /** The program that uses keys of the key service for the API server. */
  readonly plugin?: { readonly url: string; readonly sha256: string } | undefined;
}

/** Whether the machines have the one key of clusters without `secretsEncryption`, in the files that they always had. */
export function isFirstKeyAlone({ keys }: Pick<SecretsEncryption, "keys">): boolean {
  return keys.join() === firstEncryptionKey;
}

/** Names of the keys that are in the secret store. */
export function localKeys({ keys, kms }: SecretsEncryption): readonly string[] {
  return keys.filter((name) => !kms.some((key) => key.name === name));
}

/** The keys as a state keeps them: with what a name stands for, since another key under the same name could read nothing. */
export function keyIdentities({ keys, kms }: SecretsEncryption): readonly string[] {
  return keys.map((name) => [name, ...kms.filter((key) => key.name === name).map(({ key }) => key)].join(" "));
}

/**
 * Name of a key's entry in the secret store.
 *
 * @param first the name of the first key's entry
 */
export function encryptionSecret(first: string, key: string): string {
  return key === firstEncryptionKey ? first : `${first}-${key}`;
}
