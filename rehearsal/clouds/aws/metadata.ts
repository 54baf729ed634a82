import { randomBytes } from "node:crypto";
import type { EndpointAnswer, EndpointHandler, EndpointRequest } from "../server.ts";
import type { AwsCredentials } from "./sigv4.ts";

/** What a machine learns about itself from the metadata service. */
export interface AwsMachine {
  readonly id: string;
  readonly zone: string;
  readonly region: string;
  readonly address: string;
  readonly instanceType: string;
  /** Role in its instance profile. */
  readonly role: string;
  readonly credentials: AwsCredentials;
  readonly tags: Readonly<Record<string, string>>;
  /** Name of its Auto Scaling group. */
  readonly group: string | undefined;
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
  const text = (bytes: number): string => randomBytes(bytes).toString("base64url").replaceAll(/[-_]/g, "A");
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
    if (token?.address !== machine.address || token.end <= Date.now()) return { status: 401 };
    const body = paths(machine)[request.url.replace(/\/$/, "")];
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

function paths(machine: AwsMachine): Readonly<Record<string, string>> {
  const meta = "/latest/meta-data";
  return {
    [`${meta}/instance-id`]: machine.id,
    [`${meta}/instance-type`]: machine.instanceType,
    [`${meta}/local-ipv4`]: machine.address,
    [`${meta}/local-hostname`]: privateDnsName(machine),
    [`${meta}/placement/availability-zone`]: machine.zone,
    [`${meta}/placement/region`]: machine.region,
    [`${meta}/services/domain`]: "amazonaws.com",
    [`${meta}/iam/security-credentials`]: machine.role,
    [`${meta}/iam/security-credentials/${machine.role}`]: JSON.stringify(
      {
        Code: "Success",
        Type: "AWS-HMAC",
        AccessKeyId: machine.credentials.accessKeyId,
        SecretAccessKey: machine.credentials.secretAccessKey,
        Token: machine.credentials.sessionToken,
        Expiration: new Date(Date.now() + 6 * 3_600_000).toISOString(),
      },
      undefined,
      2,
    ),
    ...(machine.lifecycleState === undefined
      ? {}
      : { [`${meta}/autoscaling/target-lifecycle-state`]: machine.lifecycleState }),
    "/latest/dynamic/instance-identity/document": JSON.stringify(
      {
        accountId: "123456789012",
        availabilityZone: machine.zone,
        instanceId: machine.id,
        instanceType: machine.instanceType,
        privateIp: machine.address,
        region: machine.region,
      },
      undefined,
      2,
    ),
  };
}

/** Private DNS name of an instance named by its resource (AWS, VPC user guide: DNS attributes for your VPC). */
export function privateDnsName({ id, region }: { readonly id: string; readonly region: string }): string {
  return `${id}.${region === "us-east-1" ? "ec2" : `${region}.compute`}.internal`;
}
