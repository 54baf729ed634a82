import type { AuditPolicy } from "../../../components/config/machineSchema.ts";
import { key, type Rules } from "./rule.ts";

export const addOnRules = {
  "no-cloud-controller": {
    level: "warning",
    about: "nobody takes the taint of new nodes away",
    find: ({ spec: { addons } }) =>
      !addons.cloudController && {
        path: key("addons.cloudController"),
        message: "Without a cloud controller, nodes keep the taint of uninitialized nodes, and no pod runs on them.",
        remedy: "Leave cloudController on, or deploy one of your own right after the first update.",
      },
  },
  "autoscaler-without-pool": {
    level: "warning",
    about: "an autoscaler, and no pool with bounds",
    find: ({ spec: { addons, pools } }) =>
      addons.autoscaler &&
      pools.every(({ autoscale }) => autoscale === undefined) && {
        path: key("addons.autoscaler"),
        message: "The autoscaler has no pool to size: none has bounds.",
        remedy: "Set autoscale on a pool, or leave the autoscaler out.",
      },
  },
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
  "logs-without-a-way": {
    level: "note",
    about: "logs have no way to their endpoint but inside the network",
    find: ({ spec: { addons, network, httpProxy } }) =>
      addons.logs !== undefined &&
      // The program makes the endpoints of CloudWatch in a network of its own.
      (addons.logs.cloudwatch === undefined || network.existing !== undefined) &&
      network.nat === "none" &&
      httpProxy === undefined && {
        path: key("addons.logs"),
        message: "There is no way to the internet: the endpoint must be reachable inside the network.",
        remedy:
          addons.logs.cloudwatch === undefined
            ? "Give its name a private address, by a private endpoint or a route of your own."
            : "Make interface endpoints with private names for logs and sts in the network.",
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
