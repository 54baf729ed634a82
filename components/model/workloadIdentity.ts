import { createHash } from "node:crypto";
import type { Cloud } from "../config/schema.ts";
import { tokenFacts } from "./cloudFacts/tokens.ts";

export interface ServiceAccountName {
  readonly namespace: string;
  readonly name: string;
}

export const sampleAccount: ServiceAccountName = { namespace: "fenestra-samples", name: "object-reader" };

export const sampleObjectName = "samples/hello.txt";

export const sampleObjectText = "An object that only one service account may read.\n";

/** Claim `sub` of its tokens (kubernetes/kubernetes: apiserver/pkg/authentication/serviceaccount, MakeUsername). */
export function subjectOf({ namespace, name }: ServiceAccountName): string {
  return `system:serviceaccount:${namespace}:${name}`;
}

/** `namespace/name`. */
export function accountKey({ namespace, name }: ServiceAccountName): string {
  return `${namespace}/${name}`;
}

interface StatementConfig {
  readonly actions: readonly string[];
  readonly resources: readonly string[];
}

/** A role's inline policy on AWS. */
export const statementsDocument = (statements: readonly StatementConfig[]) => ({
  Version: "2012-10-17",
  Statement: statements.map(({ actions, resources }, index) => ({
    Sid: `Statement${index}`,
    Effect: "Allow",
    Action: actions,
    Resource: resources,
  })),
});

/**
 * Name of a service account's role or identity, at most 56 characters: a role's has 64, eight of them Pulumi's suffix.
 * Names in Kubernetes have no underscore, so no two accounts share one.
 */
export function identityName(cluster: string, { namespace, name }: ServiceAccountName): string {
  const whole = `${cluster}-${namespace}_${name}`;
  if (whole.length <= 56) return whole;
  return `${whole.slice(0, 45)}-${createHash("sha256").update(whole).digest("hex").slice(0, 10)}`;
}

/** Variables by which a cloud's SDKs take an identity. */
export function environmentNames(cloud: Cloud): readonly string[] {
  return Object.keys(tokenFacts[cloud].environment("", ""));
}
