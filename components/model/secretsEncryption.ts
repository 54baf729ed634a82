/**
 * Name of the key that every cluster without `secretsEncryption` has. etcd has it in each value, so it never changes.
 */
export const firstEncryptionKey = "key1";

export interface SecretsEncryption {
  /** Names of the keys: the first one encrypts, all decrypt. */
  readonly keys: readonly string[];
}

/** Whether the machines have the one key of clusters without `secretsEncryption`, in the files that they always had. */
export function isFirstKeyAlone({ keys }: SecretsEncryption): boolean {
  return keys.join() === firstEncryptionKey;
}

/**
 * Name of a key's entry in the secret store.
 *
 * @param first the name of the first key's entry
 */
export function encryptionSecret(first: string, key: string): string {
  return key === firstEncryptionKey ? first : `${first}-${key}`;
}

/**
 * Initial value of the secrets that machines write: the join secret and the `initialised` marker. Machines read it as
 * "not written yet". The program creates the entry, so that destroying the stack removes it, and ignores its value
 * afterwards.
 */
export const secretPlaceholder = "unwritten";
