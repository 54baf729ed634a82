import { z } from "zod";
import { firstServiceAccountKey } from "../model/serviceAccountKeys.ts";
import { certificate, cidr, described, exampleCertificate, lowerCaseName, matching, nameForm, section } from "./forms.ts";
import { workloadIdentitySchema } from "./identitySchema.ts";

export const issuerSchema = z.strictObject({
  name: described(
    lowerCaseName().max(20),
    "Short name, unique. Names and groups of its people begin with it and a colon in Kubernetes, so that no issuer can speak for another one or for the system.",
    { ...nameForm, examples: ["entra"] },
  ),
  issuer: described(
    z.url({ protocol: /^https$/ }),
    "URL of the issuer, exactly as its tokens have it in iss. The control plane fetches /.well-known/openid-configuration below it.",
    { patternErrorMessage: "an https URL", examples: ["https://login.microsoftonline.com/00000000-0000-0000-0000-000000000000/v2.0"] },
  ),
  clientId: described(z.string().min(1), "The application that people sign in to. Tokens must be for it: it is the audience."),
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

/** Who can reach the Kubernetes API from outside. */
export const accessSchema = section("Who reaches the Kubernetes API from outside, and what pods may do in the cloud.", {
  public: section("A second, public load balancer for the API. Without it the API is reachable from the private network only.", {
    allow: described(z.array(cidr).min(1), "Networks that may connect. There is no default on purpose."),
  }).optional(),
  private: section(
    "Who reaches the API from inside. Without it on AWS the cluster's network alone; on Azure every connected network as long as there is no access.public, else the cluster's alone.",
    {
      allow: described(
        z.array(cidr).min(1).max(20),
        "Networks that may connect besides the cluster's own: peered ones, or those behind a VPN.",
      ),
    },
  ).optional(),
  names: described(
    z.array(z.string().min(1)).min(1).max(20).optional(),
    "More host names and IPv4 addresses in the certificate of the API: of a proxy, a bastion or a name server of your own.",
  ),
  dns: section("A name of your own for the API. Nodes and the deployer go on using the load balancers' names.", {
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
        patternErrorMessage: "the id of a zone of Route 53, or the resource id of a public or private DNS zone of Azure",
        examples: ["Z0123456789ABCDEFGHIJ"],
      },
    ),
  }).optional(),
  signIn: described(
    z.array(issuerSchema).max(64).default([]),
    "OpenID Connect issuers whose people sign in to the API with their own names. The administrator's certificate works beside them.",
  ),
  kubeconfigGeneration: described(
    z.int().min(1).max(9999).default(1),
    "Generation of the output kubeconfig. The next number makes a new one and takes all rights from those before it.",
  ),
  serviceAccountKeys: described(
    z.array(lowerCaseName().max(20).meta(nameForm)).min(1).max(3).default([firstServiceAccountKey]),
    `Keys of the tokens of service accounts by name: the first one signs, all are accepted. ${firstServiceAccountKey} is the P-256 key that every cluster without this setting has; any other name is a separate RSA-2048 key. A new cluster may begin with one RSA key; a cluster that runs changes its key in three updates, see operations.md.`,
  ),
  workloadIdentity: workloadIdentitySchema.optional(),
});
