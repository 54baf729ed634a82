import { z } from "zod";
import { described, lowerCaseName, matching, nameForm, section } from "./forms.ts";

const name = () => lowerCaseName().max(63);

const serviceAccountSchema = z.strictObject({
  namespace: described(name(), "Namespace of the service account. You make it, or your chart does; it may come later.", {
    ...nameForm,
    examples: ["shop"],
  }),
  name: described(name(), "Name of the service account. Pods that run as it get the rights, and no others.", {
    ...nameForm,
    examples: ["orders"],
  }),
  policies: described(
    z
      .array(
        matching(/^arn:aws[a-z-]*:iam::(aws|\d{12}):policy\/[\w+=,.@/-]+$/, "is not the ARN of a policy").meta({
          patternErrorMessage: "the ARN of an IAM policy",
          examples: ["arn:aws:iam::aws:policy/AmazonSQSReadOnlyAccess"],
        }),
      )
      .max(10)
      .default([]),
    "AWS: ARNs of managed policies, AWS's or your own.",
  ),
  statements: described(
    z
      .array(
        z.strictObject({
          actions: described(z.array(z.string().min(1)).min(1), "Actions that are allowed: s3:GetObject."),
          resources: described(z.array(z.string().min(1)).min(1), "ARNs that they are allowed on."),
        }),
      )
      .default([]),
    "AWS: further rights, without conditions; those belong in a policy of your own.",
  ),
  roles: described(
    z
      .array(
        z.strictObject({
          role: described(z.guid("is not the id of a role"), "Id of a role definition, built-in or your own.", {
            patternErrorMessage: "a UUID",
            examples: ["2a2b9908-6ea1-4ae2-8e65-a410df84e7d1"],
          }),
          scope: described(
            matching(/^\/subscriptions\/[0-9a-f-]{36}\/.+[^/]$/, "is not the id of a resource"),
            "What the role is for: a resource or a resource group. A whole subscription is refused.",
            {
              patternErrorMessage: "the id of a resource or a resource group",
              examples: ["/subscriptions/00000000-0000-4000-8000-000000000000/resourceGroups/shop"],
            },
          ),
        }),
      )
      .max(20)
      .default([]),
    "Azure: roles on resources.",
  ),
});

/** Rights in the cloud for pods, by their service accounts. */
export const workloadIdentitySchema = section("Rights in the cloud for pods, by their service accounts.", {
  issuer: described(
    z
      .url({ protocol: /^https$/ })
      .regex(/^https:\/\/[^?#]+[^/?#]$/, "has a query, a fragment or a slash at its end")
      .max(255)
      .optional(),
    "Where you publish the two documents of the issuer yourself, as the output workloadIdentity has them. The cloud must reach it. Default: a bucket or a blob container of the cluster's own, in which everybody may read these two documents.",
    { patternErrorMessage: "an https URL without query, fragment and slash at its end", examples: ["https://oidc.example.com/prod"] },
  ),
  serviceAccounts: described(
    z.array(serviceAccountSchema).max(100).default([]),
    "Service accounts and their rights in the cloud; each has its own role or identity.",
  ),
});

/** A service account with rights in the cloud, after defaults. */
export type IdentityConfig = z.output<typeof serviceAccountSchema>;
