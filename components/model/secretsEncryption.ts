/** Key of every cluster without `secretsEncryption`. etcd has its name in each value, so it never changes. */
export const firstEncryptionKey = "key1";

export interface SecretsEncryption {
  /** The first one encrypts, all decrypt. */
  readonly keys: readonly string[];
}

/** Whether machines have the one key of clusters without `secretsEncryption`, in its original files. */
export function isFirstKeyAlone({ keys }: SecretsEncryption): boolean {
  return keys.join() === firstEncryptionKey;
}

/**
 * Name of a key's entry in the secret store.
 *
 * @param first name of the first key's entry
 */
export function encryptionSecret(first: string, key: string): string {
  return key === firstEncryptionKey ? first : `${first}-${key}`;
}

/**
 * Initial value of secrets that machines write: the join secret and the `initialised` marker. Machines read it as "not
 * written yet". The program creates the entry, so that destroying the stack removes it, and then ignores its value.
 */
export const secretPlaceholder = "unwritten";
