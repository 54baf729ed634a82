import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { type AwsCloud, awsApi } from "../../rehearsal/clouds/aws/api.ts";
import { LifecycleActions } from "../../rehearsal/clouds/aws/lifecycle.ts";
import { type AwsMachine, awsMetadata, newCredentials } from "../../rehearsal/clouds/aws/metadata.ts";
import { sign } from "../../rehearsal/clouds/aws/sigv4.ts";
import type { EndpointAnswer, EndpointRequest } from "../../rehearsal/clouds/server.ts";

export const region = "eu-central-1";
const parameterArn = `arn:aws:ssm:${region}:123456789012:parameter/fenestra/dev/join`;
export const keyArn = `arn:aws:kms:${region}:123456789012:key/1`;
const groupArn = `arn:aws:autoscaling:${region}:123456789012:autoScalingGroup:1:autoScalingGroupName/dev-linux`;

function machine(id: string, address: string, role: string): AwsMachine {
  const credentials = newCredentials();
  const zone = `${region}a`;
  const tags = { "kubernetes.io/cluster/dev": "owned", "aws:autoscaling:groupName": `dev-${role}` };
  const launched = new Date(0);
  const is = {
    id,
    zone,
    region,
    address,
    instanceType: "m7i.large",
    role,
    credentials,
    tags,
    launched,
    group: `dev-${role}`,
    windows: false,
  };
  return { ...is, lifecycleState: "InService" };
}

/** What each role may do: action and resource. */
const rights: Readonly<Record<string, readonly (readonly [action: string, resource: string])[]>> = {
  "control-plane": [
    ["ssm:GetParameter", parameterArn],
    ["ssm:PutParameter", parameterArn],
    ["kms:Decrypt", keyArn],
    ["kms:Encrypt", keyArn],
    ["s3:PutObject", "arn:aws:s3:::snapshots/a/1"],
    ["s3:GetObject", "arn:aws:s3:::snapshots/a/1"],
    ["s3:DeleteObject", "arn:aws:s3:::snapshots/a/1"],
    ["s3:ListBucket", "arn:aws:s3:::snapshots"],
    ["ec2:DescribeInstances", "*"],
    ["autoscaling:TerminateInstanceInAutoScalingGroup", groupArn],
  ],
  worker: [
    ["ssm:GetParameter", parameterArn],
    ["kms:Decrypt", keyArn],
    ["autoscaling:CompleteLifecycleAction", groupArn],
    ["autoscaling:RecordLifecycleActionHeartbeat", groupArn],
  ],
  "no-key": [["ssm:GetParameter", parameterArn]],
};

/** AWS with three machines: one of the control plane, a worker, and one that may not use the key. */
export function start() {
  const machines = [
    machine("i-cp", "10.0.0.4", "control-plane"),
    machine("i-worker", "10.0.0.5", "worker"),
    machine("i-nokey", "10.0.0.6", "no-key"),
  ];
  const at = (address: string) => machines.find((item) => item.address === address);
  const contexts: Readonly<Record<string, string>>[] = [];
  const cloud: AwsCloud = {
    region,
    machineAt: at,
    machines: () => machines,
    authorize: (role, action, resource, context) => {
      if (action.startsWith("kms:")) contexts.push(context);
      return (rights[role] ?? []).some(([act, on]) => act === action && on === resource);
    },
    parameters: new Map([["/fenestra/dev/join", { arn: parameterArn, keyArn, value: "first", version: 1 }]]),
    objects: new Map(),
    lifecycle: new LifecycleActions(),
    calls: [],
    ended: [],
    end: (ended) => {
      ended.lifecycleState = "Terminated";
    },
    groups: () => [],
    groupArn: (name) => (name === "dev-linux" ? groupArn : ""),
  };
  const handle = awsApi(cloud);
  const byId = (id: string) => machines.find((item) => item.id === id) ?? assert.fail(`no machine ${id}`);
  /** Sends a request as curl signs it; `by` is whose keys, `from` whose address. */
  const send = async (by: string, request: Call, from = by): Promise<EndpointAnswer> =>
    await handle(signedRequest(byId(by), byId(from), request));
  return { cloud, contexts, handle, send, metadata: awsMetadata(at), byId };
}

/** A call of a machine. */
export interface Call {
  readonly service: string;
  readonly host?: string;
  readonly method?: string;
  readonly url?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  /** Milliseconds by which the machine's clock is wrong. */
  readonly skew?: number;
}

/** A call as `by` signs it and `from` sends it. */
export function signedRequest(by: AwsMachine, from: AwsMachine, call: Call): EndpointRequest {
  const time = new Date(Date.now() + (call.skew ?? 0)).toISOString().replaceAll(/[-:]|\.\d{3}/g, "");
  const date = time.slice(0, 8);
  const host = call.host ?? `${call.service}.${region}.amazonaws.com`;
  const headers: Record<string, string> = {
    host,
    "x-amz-date": time,
    "x-amz-security-token": by.credentials.sessionToken,
    ...(call.service === "s3"
      ? {
          "x-amz-content-sha256": createHash("sha256")
            .update(call.body ?? "")
            .digest("hex"),
        }
      : {}),
    ...call.headers,
  };
  const names = Object.keys(headers).sort();
  const request = { method: call.method ?? "POST", url: call.url ?? "/", headers, body: Buffer.from(call.body ?? "") };
  const secret = by.credentials.secretAccessKey;
  const signature = sign(request, { names, time, date, region, service: call.service, secret });
  headers.authorization = `AWS4-HMAC-SHA256 Credential=${by.credentials.accessKeyId}/${date}/${region}/${call.service}/aws4_request, SignedHeaders=${names.join(";")}, Signature=${signature}`;
  return { ...request, caller: from.address, host };
}

/** A call of Parameter Store, of one parameter if not another is named. */
export function parameterCall(operation: string, input: object): Call {
  const headers = { "content-type": "application/x-amz-json-1.1", "x-amz-target": `AmazonSSM.${operation}` };
  return { service: "ssm", headers, body: JSON.stringify({ Name: "/fenestra/dev/join", ...input }) };
}

export const read = parameterCall("GetParameter", { WithDecryption: true });
