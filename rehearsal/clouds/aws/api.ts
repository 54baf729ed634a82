import { z } from "zod";
import { partition } from "../../../components/model/cloudFacts/ids.ts";
import type { CloudCall } from "../cloud.ts";
import { type EndpointAnswer, type EndpointHandler, type EndpointRequest, pageOf } from "../server.ts";
import {
  type AwsGroup,
  describeGroups,
  describeInstances,
  describeRefreshes,
  type LifecycleActions,
  type Refresh,
  refused,
  seen,
} from "./instances.ts";
import type { AwsMachine } from "./metadata.ts";
import { signatureProblem } from "./sigv4.ts";

/** Whether a role may do something; the context holds condition keys such as `kms:EncryptionContext:PARAMETER_ARN`. */
type Authorize = (
  role: string | undefined,
  action: string,
  resource: string,
  context: Readonly<Record<string, string>>,
) => boolean;

export interface StoredParameter {
  readonly arn: string;
  readonly keyArn: string;
  value: string;
  version: number;
  modified: Date;
}

/** What the simulated AWS endpoints work on. */
interface AwsCloud {
  readonly region: string;
  readonly machineAt: (address: string) => AwsMachine | undefined;
  /** All machines that run now. */
  readonly machines: () => Iterable<AwsMachine>;
  readonly authorize: Authorize;
  /** Parameters by name. */
  readonly parameters: Map<string, StoredParameter>;
  /** Objects of the simulated S3, by `bucket/key`. */
  readonly objects: Map<string, Buffer>;
  readonly lifecycle: LifecycleActions;
  readonly calls: CloudCall[];
  /** Terminated machines; lists have them for an hour. */
  readonly ended: readonly AwsMachine[];
  readonly groups: () => readonly AwsGroup[];
  /** The newest instance refresh of each group that had one. */
  readonly refreshes: Map<string, Refresh>;
}

/** Largest value of a standard parameter, in characters. */
const parameterLimit = 4096;

/**
 * The simulated endpoints of AWS: a request needs a right signature of the machine's own role, whose policies decide.
 */
export function awsApi(cloud: AwsCloud): EndpointHandler {
  return async (request) => {
    const service = serviceOf(request.host, cloud.region);
    const machine = cloud.machineAt(request.caller);
    if (service === undefined || machine === undefined)
      return { status: 404, body: `no endpoint ${request.host} for ${request.caller}` };
    const problem = await signatureProblem(request, machine.credentials, service, cloud.region, Date.now());
    if (problem !== undefined) return { status: 403, body: JSON.stringify({ __type: problem }) };
    if (service === "ssm") return parameterStore(cloud, machine, request);
    if (service === "s3") return objectStore(cloud, machine, request);
    const form = new URLSearchParams(request.body.toString("utf8"));
    if (service === "autoscaling") return autoScaling(cloud, machine, form);
    return compute(cloud, machine, form);
  };
}

function serviceOf(host: string, region: string) {
  const suffix = `.${region}.amazonaws.com`;
  if (host.endsWith(`.s3${suffix}`)) return "s3";
  return (["ssm", "ec2", "autoscaling"] as const).find((service) => host === service + suffix);
}

/** Whether the role may do all of it; recorded either way. */
function allowed(
  cloud: AwsCloud,
  machine: AwsMachine,
  ...wanted: readonly (readonly [action: string, resource: string, context?: Readonly<Record<string, string>>])[]
): boolean {
  return wanted.every(([action, resource, context]) => {
    const yes = cloud.authorize(machine.role, action, resource, context ?? {});
    cloud.calls.push({ machine: machine.id, action, resource, allowed: yes });
    return yes;
  });
}

const denied: EndpointAnswer = { status: 403, body: "<Code>AccessDenied</Code>" };

function failure(type: string, message = type): EndpointAnswer {
  return {
    status: 400,
    body: JSON.stringify({ __type: type, message }),
    headers: { "content-type": "application/x-amz-json-1.1" },
  };
}

const inputSchema = z.looseObject({
  Name: z.string().default(""),
  Value: z.string().default(""),
  Overwrite: z.boolean().default(false),
  WithDecryption: z.boolean().default(false),
  Tier: z.string().optional(),
  KeyId: z.string().default("alias/aws/ssm"),
  Path: z.string().default(""),
  Recursive: z.boolean().default(false),
  NextToken: z.string().nullable().default(null),
});

function parameterStore(cloud: AwsCloud, machine: AwsMachine, request: EndpointRequest): EndpointAnswer {
  const operation = request.headers["x-amz-target"] ?? "";
  const input = inputSchema.parse(JSON.parse(request.body.toString("utf8")));
  if (operation === "AmazonSSM.GetParametersByPath") return listParameters(cloud, machine, input);
  const { Name: name, Value: value } = input;
  const stored = cloud.parameters.get(name);
  if (stored === undefined) return failure("ParameterNotFound");
  const viaService = {
    "kms:ViaService": `ssm.${cloud.region}.amazonaws.com`,
    "kms:EncryptionContext:PARAMETER_ARN": stored.arn,
  };
  if (operation === "AmazonSSM.GetParameter") {
    if (!input.WithDecryption) return failure("ValidationException", "WithDecryption is not set");
    if (!allowed(cloud, machine, ["ssm:GetParameter", stored.arn], ["kms:Decrypt", stored.keyArn, viaService]))
      return failure("AccessDeniedException");
    const { value: Value, version: Version, arn: ARN } = stored;
    return json({ Parameter: { Name: name, Type: "SecureString", Value, Version, ARN } });
  }
  if (operation === "AmazonSSM.PutParameter") {
    if (value.length > parameterLimit) return failure("ParameterMaxLengthExceeded", `${value.length} characters`);
    if (!input.Overwrite) return failure("ParameterAlreadyExists");
    // An account's default tier may be advanced, whose values are encrypted by a data key; the default key is the
    // account's own (SSM API Reference, PutParameter; KMS Developer Guide, "How AWS Systems Manager Parameter Store
    // uses AWS KMS").
    const encrypt = input.Tier === "Standard" ? "kms:Encrypt" : "kms:GenerateDataKey";
    if (!allowed(cloud, machine, ["ssm:PutParameter", stored.arn], [encrypt, input.KeyId, viaService]))
      return failure("AccessDeniedException");
    stored.value = value;
    stored.version += 1;
    stored.modified = new Date();
    return json({ Version: stored.version, Tier: "Standard" });
  }
  return failure("UnknownOperationException", operation);
}

/**
 * GetParametersByPath (AWS Systems Manager API reference): the right to a path goes for all below it; values are
 * encrypted without `WithDecryption`, which is not simulated, nor is a list of one level; a page may have fewer than
 * asked for.
 */
function listParameters(
  cloud: AwsCloud,
  machine: AwsMachine,
  { Path: path, WithDecryption, Recursive, NextToken }: z.output<typeof inputSchema>,
): EndpointAnswer {
  if (!/^(\/[\w.-]+)+$/.test(path) || WithDecryption || !Recursive) return failure("ValidationException");
  const [account = ""] = [...cloud.parameters.values()].map(({ arn }) => arn.replace(/:parameter\/.*/, ""));
  if (!allowed(cloud, machine, ["ssm:GetParametersByPath", `${account}:parameter${path}`]))
    return failure("AccessDeniedException");
  const page = pageOf(cloud.parameters.keys(), `${path}/`, NextToken);
  if (page === undefined) return failure("InvalidNextToken");
  const Parameters = page.names.map((Name) => {
    const { version = 0, modified = new Date(0), arn = "" } = cloud.parameters.get(Name) ?? {};
    const Value = Buffer.from(`encrypted ${version}`).toString("base64");
    const LastModifiedDate = modified.getTime() / 1000;
    return { ARN: arn, LastModifiedDate, Name, Type: "SecureString", Value, Version: version };
  });
  return json({ ...(page.next !== "" && { NextToken: page.next }), Parameters });
}

const json = (body: object): EndpointAnswer => ({ status: 200, body: JSON.stringify(body) });

function autoScaling(cloud: AwsCloud, machine: AwsMachine, form: URLSearchParams): EndpointAnswer {
  const group = form.get("AutoScalingGroupName") ?? "";
  const action = form.get("Action") ?? "";
  if (action === "DescribeAutoScalingGroups" || action === "DescribeInstanceRefreshes") {
    if (!allowed(cloud, machine, [`autoscaling:${action}`, "*"])) return denied;
    return action === "DescribeAutoScalingGroups"
      ? describeGroups(cloud.groups(), [...cloud.machines()], cloud.lifecycle, form)
      : describeRefreshes(cloud.refreshes.get(group));
  }
  if (action !== "CompleteLifecycleAction" && action !== "RecordLifecycleActionHeartbeat")
    return failure("InvalidAction", action);
  if (!mayChange(cloud, machine, action, group)) return denied;
  const problem = cloud.lifecycle.act(form);
  return problem === undefined ? { status: 200, body: `<${action}Response/>` } : invalid(problem);
}

/** Whether the role may change a group; conditions see its tags. */
function mayChange(cloud: AwsCloud, by: AwsMachine, action: string, name: string): boolean {
  const { arn = "", tags = new Map() } = cloud.groups().find((group) => group.name === name) ?? {};
  const context = Object.fromEntries([...tags].map(([key, value]) => [`aws:ResourceTag/${key}`, value]));
  return allowed(cloud, by, [`autoscaling:${action}`, arn, context]);
}

/** A ValidationError (Amazon EC2 Auto Scaling API reference, "Common errors"). */
function invalid(problem: string): EndpointAnswer {
  return {
    status: 400,
    body: `<ErrorResponse><Error><Code>ValidationError</Code><Message>${problem}</Message></Error></ErrorResponse>`,
  };
}

function compute(cloud: AwsCloud, machine: AwsMachine, form: URLSearchParams): EndpointAnswer {
  const action = form.get("Action") ?? "";
  if (action !== "DescribeInstances") return failure("InvalidAction", action);
  if (!allowed(cloud, machine, [`ec2:${action}`, "*"])) return refused("UnauthorizedOperation", undefined, 403);
  return describeInstances([...seen(cloud.machines()), ...cloud.ended], form);
}

function objectStore(cloud: AwsCloud, machine: AwsMachine, request: EndpointRequest): EndpointAnswer {
  const [rawPath = "/", query = ""] = request.url.split("?");
  const bucket = request.host.replace(/\.s3\..*/, "");
  const key = decodeURIComponent(rawPath).slice(1);
  const arn = `arn:${partition(cloud.region)}:s3:::${bucket}${key === "" ? "" : `/${key}`}`;
  const id = `${bucket}/${key}`;
  const action = request.method === "PUT" ? "PutObject" : key === "" ? "ListBucket" : "GetObject";
  if (!allowed(cloud, machine, [`s3:${action}`, arn])) return denied;
  if (action === "ListBucket") return listObjects(cloud, bucket, new URLSearchParams(query));
  if (action === "PutObject") {
    cloud.objects.set(id, request.body);
    return { status: 200 };
  }
  const object = cloud.objects.get(id);
  if (object !== undefined) return { status: 200, body: object };
  // Only who may list is told that an object is not there (Amazon S3 API Reference, GetObject, "Permissions").
  const lists = cloud.authorize(machine.role, "s3:ListBucket", arn.replace(/\/.*/, ""), {});
  return lists ? { status: 404, body: "<Code>NoSuchKey</Code>" } : denied;
}

/** S3's ListObjectsV2 (Amazon S3 API Reference). */
function listObjects(cloud: AwsCloud, bucket: string, query: URLSearchParams): EndpointAnswer {
  if (query.get("list-type") !== "2") return { status: 501, body: "no simulation of the first version of ListObjects" };
  const keys = [...cloud.objects.keys()]
    .filter((name) => name.startsWith(`${bucket}/`))
    .map((name) => name.slice(bucket.length + 1));
  const page = pageOf(keys, query.get("prefix") ?? "", query.get("continuation-token"));
  if (page === undefined) return { status: 400, body: "<Code>InvalidArgument</Code>" };
  const contents = page.names.map((name) => `<Contents><Key>${name}</Key></Contents>`).join("");
  const next = page.next === "" ? "" : `<NextContinuationToken>${page.next}</NextContinuationToken>`;
  return {
    status: 200,
    body: `<ListBucketResult><IsTruncated>${next !== ""}</IsTruncated>${contents}${next}</ListBucketResult>`,
  };
}
