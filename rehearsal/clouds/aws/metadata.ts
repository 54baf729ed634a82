import { randomBytes } from "node:crypto";
import type { SimulatedMachine } from "../../../plan/fakes/machines.ts";
import type { EndpointAnswer, EndpointHandler, EndpointRequest } from "../server.ts";
import type { AwsCredentials } from "./sigv4.ts";

/** A machine, and what the cloud knows of it. */
export interface AwsMachine extends SimulatedMachine {
  readonly credentials: AwsCredentials;
  readonly windows: boolean;
  readonly launched: Date;
  /** State in the Auto Scaling group: `InService`, `Terminated`; none outside of one. */
  lifecycleState: string | undefined;
  /** Version of its launch template. Default 1. */
  readonly template?: number;
  /** Whether it is gone. Default false. */
  readonly terminated?: boolean;
}

/** Random credentials as an instance role has them. */
export function newCredentials(): AwsCredentials {
  const text = (bytes: number) => randomBytes(bytes).toString("base64url").replaceAll(/[-_]/g, "A");
  return {
    accessKeyId: `ASIA${text(12).toUpperCase().slice(0, 16)}`,
    secretAccessKey: text(30),
    sessionToken: text(240),
  };
}

/** The instance metadata service, version 2 only: 401 without a session token. */
export function awsMetadata(machineAt: (address: string) => AwsMachine | undefined): EndpointHandler {
  const tokens: Tokens = new Map();
  return (request) => {
    const machine = machineAt(request.caller);
    if (machine === undefined) return { status: 404 };
    if (request.method === "PUT" && request.url === "/latest/api/token") return newToken(request, tokens);
    const token = tokens.get(request.headers["x-aws-ec2-metadata-token"] ?? "");
    if (token?.address !== machine.privateIp || token.end <= Date.now()) return { status: 401 };
    const body = paths(machine)[request.url.replace(/^\/latest\/meta-data\/|\/$/g, "")];
    return body === undefined ? { status: 404 } : { status: 200, body };
  };
}

/** A session token's machine, and its end in milliseconds since the epoch. */
type Tokens = Map<string, { readonly address: string; readonly end: number }>;

function newToken(request: EndpointRequest, tokens: Tokens): EndpointAnswer {
  const seconds = Number(request.headers["x-aws-ec2-metadata-token-ttl-seconds"]);
  if (!(seconds >= 1 && seconds <= 21600)) return { status: 400 };
  const token = randomBytes(40).toString("base64");
  tokens.set(token, { address: request.caller, end: Date.now() + seconds * 1000 });
  return { status: 200, body: token, headers: { "x-aws-ec2-metadata-token-ttl-seconds": String(seconds) } };
}

/** What machines ask for, below /latest/meta-data. */
function paths({ credentials, ...machine }: AwsMachine): Readonly<Record<string, string | undefined>> {
  const keys = {
    Code: "Success",
    Type: "AWS-HMAC",
    AccessKeyId: credentials.accessKeyId,
    SecretAccessKey: credentials.secretAccessKey,
    Token: credentials.sessionToken,
    Expiration: new Date(Date.now() + 6 * 3_600_000).toISOString(),
  };
  return {
    "instance-id": machine.id,
    "local-ipv4": machine.privateIp,
    "placement/availability-zone": machine.zone,
    "iam/security-credentials": machine.role,
    [`iam/security-credentials/${machine.role}`]: JSON.stringify(keys, undefined, 2),
    "autoscaling/target-lifecycle-state": machine.lifecycleState,
  };
}

/** Private DNS name of an instance named by its resource (AWS, VPC user guide: DNS attributes for your VPC). */
export function privateDnsName({ id, region }: { readonly id: string; readonly region: string }): string {
  return `${id}.${region === "us-east-1" ? "ec2" : `${region}.compute`}.internal`;
}
