import { z } from "zod";
import { lowerCaseName, nameForm } from "./forms.ts";

const name = () => lowerCaseName().max(63);

const serviceAccountSchema = z.strictObject({
  namespace: name().meta({
    ...nameForm,
    examples: ["shop"],
    description: "Namespace of the service account. You make it, or your chart does; it may come later.",
  }),
  name: name().meta({
    ...nameForm,
    examples: ["orders"],
    description: "Name of the service account. Pods that run as it get the rights, and no others.",
  }),
  policies: z
    .array(
      z
        .string()
        .regex(/^arn:aws[a-z-]*:iam::(aws|\d{12}):policy\/[\w+=,.@/-]+$/, "is not the ARN of a policy")
        .meta({ patternErrorMessage: "the ARN of an IAM policy", examples: ["arn:aws:iam::aws:policy/AmazonSQSReadOnlyAccess"] }),
    )
    .max(10)
    .default([])
    .meta({ description: "AWS: ARNs of managed policies, AWS's or your own." }),
  statements: z
    .array(
      z.strictObject({
        actions: z.array(z.string().min(1)).min(1).meta({ description: "Actions that are allowed: s3:GetObject." }),
        resources: z.array(z.string().min(1)).min(1).meta({ description: "ARNs that they are allowed on." }),
      }),
    )
    .default([])
    .meta({ description: "AWS: further rights, without conditions; those belong in a policy of your own." }),
  roles: z
    .array(
      z.strictObject({
        role: z
          .guid("is not the id of a role")
          .meta({
            patternErrorMessage: "a UUID",
            examples: ["2a2b9908-6ea1-4ae2-8e65-a410df84e7d1"],
            description: "Id of a role definition, built-in or your own.",
          }),
        scope: z
          .string()
          .regex(/^\/subscriptions\/[0-9a-f-]{36}\/.+[^/]$/, "is not the id of a resource")
          .meta({
            patternErrorMessage: "the id of a resource or a resource group",
            examples: ["/subscriptions/00000000-0000-4000-8000-000000000000/resourceGroups/shop"],
            description: "What the role is for: a resource or a resource group. A whole subscription is refused.",
          }),
      }),
    )
    .max(20)
    .default([])
    .meta({ description: "Azure: roles on resources." }),
});

/** Rights in the cloud for pods, by their service accounts. */
export const workloadIdentitySchema = z
  .strictObject({
    issuer: z
      .url({ protocol: /^https$/ })
      .regex(/^https:\/\/[^?#]+[^/?#]$/, "has a query, a fragment or a slash at its end")
      .max(255)
      .optional()
      .meta({
        patternErrorMessage: "an https URL without query, fragment and slash at its end",
        examples: ["https://oidc.example.com/prod"],
        description:
          "Where you publish the two documents of the issuer yourself, as the output workloadIdentity has them. The cloud must reach it. Default: a bucket or a blob container of the cluster's own, in which everybody may read these two documents.",
      }),
    serviceAccounts: z
      .array(serviceAccountSchema)
      .max(100)
      .default([])
      .meta({ description: "Service accounts and their rights in the cloud; each has its own role or identity." }),
  })
  .meta({ description: "Rights in the cloud for pods, by their service accounts." });

/** A service account with rights in the cloud, after defaults. */
export type IdentityConfig = z.output<typeof serviceAccountSchema>;
