import { z } from "zod";
import { iamLimits } from "../model/cloudFacts/ids.ts";
import { firstServiceAccountKey } from "../model/keyLists.ts";
import {
  certificate,
  cidr,
  described,
  exampleCertificate,
  lowerCaseName,
  matching,
  nameForm,
  ofOrganisation,
  section,
} from "./forms.ts";

const name = () => lowerCaseName().max(63);

const serviceAccountSchema = z.strictObject({
  namespace: described(
    name(),
    "Namespace of the service account. You make it, or your chart does; it may come later.",
    { ...nameForm, examples: ["shop"] },
  ),
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
    "ARNs of managed policies, AWS's or your own.",
  ),
  statements: described(
    z
      .array(
        z.strictObject({
          actions: described(
            z
              .array(
                matching(iamLimits.action, "is not an action of IAM").meta({
                  patternErrorMessage: "service:Action",
                  examples: ["s3:GetObject"],
                }),
              )
              .min(1),
            "Actions that are allowed: s3:GetObject.",
          ),
          resources: described(
            z
              .array(
                matching(iamLimits.resource, "is not an ARN").meta({
                  patternErrorMessage: "an ARN, or *",
                  examples: ["arn:aws:s3:::shop/*"],
                }),
              )
              .min(1),
            "ARNs that they are allowed on, or *.",
          ),
        }),
      )
      .default([]),
    "Further rights, without conditions; those belong in a policy of your own.",
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
    "Roles on resources.",
  ),
});

const workloadIdentitySchema = section("Rights in the cloud for pods, by their service accounts.", {
  issuer: described(
    z
      .url({ protocol: /^https$/ })
      .regex(/^https:\/\/[^?#@\s]+[^/?#@\s]$/, "has a query, a fragment, a login or a slash at its end")
      .max(255)
      .optional(),
    "Where you publish the two documents of the issuer yourself, as the output workloadIdentity has them. The cloud must reach it. Default: a bucket or a blob container of the cluster's own, in which everybody may read these two documents.",
    {
      patternErrorMessage: "an https URL without query, fragment and slash at its end",
      examples: ["https://oidc.example.com/prod"],
    },
  ),
  serviceAccounts: described(
    z.array(serviceAccountSchema).max(100).default([]),
    "Service accounts and their rights in the cloud; each has its own role or identity.",
  ),
});

/** A service account with rights in the cloud, after defaults. */
export type IdentityConfig = z.output<typeof serviceAccountSchema>;

export const issuerSchema = z.strictObject({
  name: described(
    lowerCaseName().max(20),
    "Short name, unique. Names and groups of its people begin with it and a colon in Kubernetes, so that no issuer can speak for another one or for the system.",
    { ...nameForm, examples: ["entra"] },
  ),
  issuer: described(
    // kubernetes/kubernetes, apiserver/pkg/apis/apiserver/validation: validateURL.
    z
      .url({ protocol: /^https$/, abort: true })
      .regex(/^https:\/\/[^/?#@]+(\/[^?#]*)?$/, "has a query, a fragment or a login"),
    "URL of the issuer, exactly as its tokens have it in iss. The control plane fetches /.well-known/openid-configuration below it.",
    {
      patternErrorMessage: "an https URL",
      examples: ["https://login.microsoftonline.com/00000000-0000-0000-0000-000000000000/v2.0"],
    },
  ),
  clientId: described(
    z.string().min(1),
    "The application that people sign in to. Tokens must be for it: it is the audience.",
  ),
  usernameClaim: described(
    z.string().min(1).default("sub"),
    "Claim with the person's name. sub never changes hands; with email the issuer must also say that the address is verified.",
  ),
  groupsClaim: described(
    z.string().min(1).optional(),
    "Claim with the person's groups: groups, or cognito:groups. Without it people have none.",
  ),
  requiredClaims: described(
    z.record(z.string().min(1), z.string()).default({}),
    "Claims that a token must have, with their values: hd to a domain of your company.",
  ),
  certificateAuthority: described(
    certificate().optional(),
    "Authority that issued the issuer's own certificate. Default those of the API server's image.",
    { patternErrorMessage: "certificates in PEM", examples: [exampleCertificate] },
  ),
  roles: described(
    z.record(z.string().min(1), z.array(z.string().min(1)).min(1)).default({}),
    "ClusterRole (view, edit, admin, cluster-admin or one of yours) to the groups that have it in every namespace, named as the issuer names them. Rights in single namespaces are RoleBindings of your own.",
  ),
});

export const accessSchema = section("Who reaches the Kubernetes API from outside, and what pods may do in the cloud.", {
  public: section(
    "A second, public load balancer for the API. Without it the API is reachable from the private network only.",
    { allow: described(z.array(cidr).min(1), "Networks that may connect. There is no default on purpose.") },
  ).optional(),
  private: section(
    "Who reaches the API from inside. Without it on AWS the cluster's network alone; on Azure every connected network as long as there is no access.public, else the cluster's alone.",
    {
      allow: described(
        z.array(cidr).min(1).max(20),
        "Networks that may connect besides the cluster's own: peered ones, or those behind a VPN.",
      ),
    },
  ).optional(),
  names: ofOrganisation(
    described(
      z.array(z.string().min(1)).min(1).max(20).optional(),
      "More host names and IPv4 addresses in the certificate of the API: of a proxy, a bastion or a name server of your own.",
    ),
  ),
  dns: ofOrganisation(
    section("A name of your own for the API. Nodes and the deployer go on using the load balancers' names.", {
      name: described(
        z.string().min(1),
        "Host name of the API, such as api.shop.example.com. It is in the certificate, and in the kubeconfigs for people.",
      ),
      zone: described(
        matching(
          /^Z[A-Z0-9]{4,31}$|^\/subscriptions\/[0-9a-f-]{36}\/resourceGroups\/[^/]+\/providers\/Microsoft\.Network\/(?:dnszones|dnsZones|privateDnsZones)\/[^/]+$/,
          "is not the id of a DNS zone",
        ).optional(),
        "Your zone, in which a record of that name leads to the public load balancer, or to the internal one without access.public. Without it the record is yours to make.",
        {
          patternErrorMessage:
            "the id of a zone of Route 53, or the resource id of a public or private DNS zone of Azure",
          examples: ["Z0123456789ABCDEFGHIJ"],
        },
      ),
    }).optional(),
  ),
  signIn: described(
    z.array(issuerSchema).max(64).default([]),
    "OpenID Connect issuers whose people sign in to the API with their own names. The administrator's certificate works beside them.",
  ),
  kubeconfigGeneration: ofOrganisation(
    described(
      z.int().min(1).max(9999).default(1),
      "Generation of the output kubeconfig. The next number makes a new one and takes all rights from those before it.",
    ),
  ),
  serviceAccountKeys: ofOrganisation(
    described(
      z.array(lowerCaseName().max(20).meta(nameForm)).min(1).max(3).default([firstServiceAccountKey]),
      `Keys of the tokens of service accounts by name: the first one signs, all are accepted. ${firstServiceAccountKey} is the P-256 key that every cluster without this setting has; any other name is a separate RSA-2048 key. A new cluster may begin with one RSA key; a cluster that runs changes its key in three updates, see docs/operations/keys.md.`,
    ),
  ),
  workloadIdentity: ofOrganisation(workloadIdentitySchema.optional()),
});
