/** What to do instead of a setting that an earlier release had, by its path without positions in lists. */
export const removedSettings: Readonly<Record<string, string>> = {
  "secretsEncryption.kms":
    "move the Secrets to a key of the secret store with the release that you run, then remove it: docs/limits.md says why it went",
  "secretsEncryption.plugin": "remove it: Fenestra starts no plug-in of a key service any more",
};
