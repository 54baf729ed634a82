/** Lower-case name as Kubernetes and both clouds accept it. */
export const dnsName = /^[a-z]([a-z0-9-]*[a-z0-9])?$/;

/** The rule in words: editors and our own messages show `patternErrorMessage` in place of the pattern. */
export const nameForm = {
  patternErrorMessage: "lower-case letters, digits and hyphens, a letter first, no hyphen last",
  examples: ["win2022"],
};
