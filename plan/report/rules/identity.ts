import { key, type Rules } from "./rule.ts";

/** Rights that end in all rights: AWS's policies, Azure's Owner, Contributor and the two that hand out roles. */
const almighty = [
  /:policy\/(AdministratorAccess|PowerUserAccess|IAMFullAccess)$/,
  /^(8e3af657-a8ff-443c-a75c-2fe8c4bcb635|b24988ac-6180-42a0-ab88-20f7382dd24c|18d7d88d-d35e-4fb5-a5c3-7773c20a72d9|f58310d9-a9f6-439a-9e8d-f62e7b41a168)$/i,
];

export const identityRules = {
  "identity-too-wide": {
    level: "warning",
    about: "a service account may do everything",
    find: ({ spec: { workloadIdentity } }) =>
      (workloadIdentity?.serviceAccounts ?? []).flatMap(({ namespace, name, policies, statements, roles }, index) => {
        const wide = [
          ...policies.filter((policy) => almighty.some((pattern) => pattern.test(policy))),
          ...roles.map(({ role }) => role).filter((role) => almighty.some((pattern) => pattern.test(role))),
          ...statements.flatMap(({ actions, resources }) =>
            resources.includes("*") ? actions.filter((action) => action.endsWith("*")) : [],
          ),
        ];
        return wide.map((right) => ({
          path: key(`access.workloadIdentity.serviceAccounts[${index}]`),
          message: `Anyone who may create a pod in ${namespace} as ${name} has ${right} on everything.`,
          remedy: "Name the actions and the resources that the program needs.",
        }));
      }),
  },
} as const satisfies Rules;
