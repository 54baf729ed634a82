/** Lower-case name as Kubernetes and both clouds accept it. */
export const dnsName = /^[a-z]([a-z0-9-]*[a-z0-9])?$/;

/** How such a name is told: editors show `patternErrorMessage` in place of the pattern, and so do our own messages. */
export const nameForm = {
  patternErrorMessage: "lower-case letters, digits and hyphens, a letter first, no hyphen last",
  examples: ["win2022"],
};
