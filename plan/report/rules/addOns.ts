import type { AuditPolicy } from "../../../components/config/machineSchema.ts";
import { key, type Rules } from "./rule.ts";

export const addOnRules = {
  "secrets-in-sent-logs": {
    level: "warning",
    about: "bodies of Secrets leave the cluster with the audit log",
    find: ({ spec: { addons, controlPlane } }) =>
      addons.logs !== undefined &&
      logsBodiesOfSecrets(controlPlane.auditPolicy) && {
        path: key("controlPlane.auditPolicy"),
        message: "The audit policy logs bodies of Secrets, and addons.logs sends the audit log out of the cluster.",
        remedy: "Put a rule of level Metadata for Secrets before the others.",
      },
  },
  "logs-behind-a-login": {
    level: "warning",
    about: "the proxy wants a login that the collectors do not have",
    find: ({ spec: { addons, credentials } }) =>
      addons.logs !== undefined &&
      credentials.proxy && {
        path: key("addons.logs"),
        message: "The collectors do not know the login of the proxy, so it lets none of their requests through.",
        remedy: "Let the nodes reach that endpoint without a login, or name its host in noProxy.",
      },
  },
} as const satisfies Rules;

/** The first rule that fits decides; a rule for some requests may not fit. */
function logsBodiesOfSecrets(policy: AuditPolicy | undefined): boolean {
  for (const { level, resources, ...conditions } of policy?.rules ?? []) {
    const secrets =
      resources === undefined ||
      resources.some(
        ({ group = "", resources: names = [] }) =>
          group === "" && (names.length === 0 || names.some((name) => ["*", "secrets"].includes(name))),
      );
    if (!secrets) continue;
    if (level === "Request" || level === "RequestResponse") return true;
    if (resources?.every(({ resourceNames = [] }) => resourceNames.length === 0) !== false && isForAll(conditions))
      return false;
  }
  return false;
}

/** Whether a rule is without conditions on who, what and where. */
function isForAll(conditions: object): boolean {
  return ["users", "userGroups", "verbs", "namespaces", "nonResourceURLs"].every((name) => !(name in conditions));
}
