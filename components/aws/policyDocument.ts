import { partition } from "../model/cloudFacts/ids.ts";

/** Operator, key, and values of which one must match. */
export type Condition = Readonly<Record<string, Readonly<Record<string, string | readonly string[]>>>>;

export interface Statement {
  /** Purpose, letters and digits. */
  readonly Sid: string;
  readonly Effect: "Allow" | "Deny";
  readonly Principal?: Readonly<Record<string, string>> | "*";
  readonly Action: readonly string[];
  readonly Resource?: readonly string[];
  readonly Condition?: Condition;
}

/** Actions by service, separated by white space: `{ s3: "GetObject PutObject" }`. */
type Actions = Readonly<Record<string, string>>;

export function allow(Sid: string, actions: Actions, Resource: readonly string[], Condition?: Condition): Statement {
  return {
    Sid,
    Effect: "Allow",
    Action: Object.entries(actions).flatMap(([service, names]) =>
      names.split(/\s+/).map((name) => `${service}:${name}`),
    ),
    Resource,
    ...(Condition !== undefined && { Condition }),
  };
}

/** Refuses every call to a bucket without TLS. */
export function httpsOnly(bucketArn: string): Statement {
  return {
    Sid: "HttpsOnly",
    Effect: "Deny",
    Principal: "*",
    Action: ["s3:*"],
    Resource: [bucketArn, `${bucketArn}/*`],
    Condition: { Bool: { "aws:SecureTransport": "false" } },
  };
}

export interface PolicyDocument {
  readonly Version: "2012-10-17";
  readonly Statement: readonly Statement[];
}

export function policy(...statements: readonly Statement[]): PolicyDocument {
  return { Version: "2012-10-17", Statement: statements };
}

export interface PolicyScope {
  readonly cluster: string;
  readonly region: string;
  readonly accountId: string;
  readonly keyArn: string;
}

/** An ARN in the cluster's account and region. */
export function arn(scope: PolicyScope, service: string, resource: string): string {
  return `arn:${partition(scope.region)}:${service}:${scope.region}:${scope.accountId}:${resource}`;
}

/** An Auto Scaling group's ARN; its UUID is not known before it exists. */
export function groupArn(scope: PolicyScope, group: string): string {
  return arn(scope, "autoscaling", `autoScalingGroup:*:autoScalingGroupName/${group}`);
}

/** Tag of a cluster's resources; the cloud controller and the EBS driver set it on what they create. */
export function clusterTag(cluster: string): string {
  return `kubernetes.io/cluster/${cluster}`;
}

export function ownedResource(cluster: string): Condition {
  return { StringEquals: { [`aws:ResourceTag/${clusterTag(cluster)}`]: "owned" } };
}

/** The created resource is tagged as the cluster's. */
export function ownedRequest(cluster: string): Condition {
  return { StringEquals: { [`aws:RequestTag/${clusterTag(cluster)}`]: "owned" } };
}

/** Calls by which Session Manager's agent waits for commands and hands a shell on. */
export const agentChannels: Actions = {
  ec2messages: "AcknowledgeMessage DeleteMessage FailMessage GetEndpoint GetMessages SendReply",
  ssmmessages: "CreateControlChannel CreateDataChannel OpenControlChannel OpenDataChannel",
};
