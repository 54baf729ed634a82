import { firstServiceAccountKey } from "../../model/serviceAccountKeys.ts";
import type { Problem } from "../problem.ts";
import { type Rule, rule } from "./rule.ts";

const key = (path: string): string => `config.fenestra:access.${path}`;

const serviceAccountKeys = rule(["access.serviceAccountKeys"], ({ "access.serviceAccountKeys": names }) =>
  names.flatMap((name, index): Problem[] =>
    names.indexOf(name) === index
      ? []
      : [
          {
            path: key(`serviceAccountKeys[${index}]`),
            value: name,
            message: "is listed twice",
            allowed: "each key once",
          },
        ],
  ),
);

/** Rights that a cloud knows, and the other cloud's. */
const rights = { aws: ["policies", "statements"], azure: ["roles"] } as const;

const serviceAccounts = rule(
  ["cloud", "access.workloadIdentity"],
  ({ cloud, "access.workloadIdentity": workloadIdentity }) => {
    const all = workloadIdentity?.serviceAccounts ?? [];
    return all.flatMap((account, index): Problem[] => {
      const { namespace, name } = account;
      const path = key(`workloadIdentity.serviceAccounts[${index}]`);
      const foreign = rights[cloud === "aws" ? "azure" : "aws"].filter((field) => account[field].length > 0);
      return [
        ...foreign.map((field) => ({
          path: `${path}.${field}`,
          value: account[field],
          message: `is a setting of ${cloud === "aws" ? "Azure" : "AWS"}`,
          allowed: rights[cloud].join(", "),
        })),
        ...(rights[cloud].every((field) => account[field].length === 0)
          ? [{ path, value: `${namespace}/${name}`, message: "has no rights", allowed: rights[cloud].join(" or ") }]
          : []),
        // Pods there run the cluster itself, and a policy on them could keep it from starting.
        ...(/^(kube|fenestra)-/.test(namespace)
          ? [
              {
                path: `${path}.namespace`,
                value: namespace,
                message: "is a namespace of the system",
                allowed: "a namespace whose name begins with neither kube- nor fenestra-",
              },
            ]
          : []),
        ...(all.findIndex((other) => other.namespace === namespace && other.name === name) === index
          ? []
          : [
              { path, value: `${namespace}/${name}`, message: "is listed twice", allowed: "each service account once" },
            ]),
      ];
    });
  },
);

const signingKey = rule(
  ["cloud", "access.workloadIdentity", "access.serviceAccountKeys"],
  ({ cloud, "access.workloadIdentity": workloadIdentity, "access.serviceAccountKeys": keys }) =>
    cloud === "azure" && workloadIdentity !== undefined && keys[0] === firstServiceAccountKey
      ? [
          {
            path: key("serviceAccountKeys[0]"),
            value: keys[0],
            message: "signs with P-256, which Entra ID refuses (AADSTS5002738)",
            allowed: "an RSA key in first place while access.workloadIdentity is there",
            remedy:
              "begin a new cluster with [rsa-1]; replace the key of one that runs first, as docs/operations.md says, and then set access.workloadIdentity",
          },
        ]
      : [],
);

/** The API server refuses to start with an issuer for people that it issues tokens for itself. */
const ownIssuer = rule(
  ["access.workloadIdentity", "access.signIn"],
  ({ "access.workloadIdentity": workloadIdentity, "access.signIn": signIn }) =>
    workloadIdentity?.issuer !== undefined && signIn.some(({ issuer }) => issuer === workloadIdentity.issuer)
      ? [
          {
            path: key("workloadIdentity.issuer"),
            value: workloadIdentity.issuer,
            message: "is an issuer of access.signIn too",
            allowed: "another URL",
          },
        ]
      : [],
);

/** The rules on keys and identities of service accounts. */
export const identityRules: readonly Rule[] = [serviceAccountKeys, serviceAccounts, signingKey, ownIssuer];
