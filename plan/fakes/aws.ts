import {
  listOf,
  mapFromWire,
  mapOf,
  type PropertyMap,
  type PropertyValue,
  Secret,
  textOf,
} from "../../components/gates/values.ts";
import { awsPrefixes } from "../../components/model/cloudFacts/aws.ts";
import { iamLimits, partition, policyLength } from "../../components/model/cloudFacts/ids.ts";
import { fromJson } from "../../components/model/json.ts";
import type { SimulatedResource } from "../program/engine.ts";
import type { ResourceRequest } from "../program/recorded.ts";
import { autoName, characters, digest, hex, uuid } from "./identifiers.ts";
import type { SimulatedContext, SimulatedProvider } from "./provider.ts";

/** Kinds whose id is this prefix and 17 hexadecimal digits (Amazon EC2 User Guide, resource IDs). */
const prefixes: Readonly<Record<string, string>> = {
  "ec2/vpc:Vpc": "vpc",
  "ec2/subnet:Subnet": "subnet",
  "ec2/internetGateway:InternetGateway": "igw",
  "ec2/natGateway:NatGateway": "nat",
  "ec2/eip:Eip": "eipalloc",
  "ec2/routeTable:RouteTable": "rtb",
  "ec2/routeTableAssociation:RouteTableAssociation": "rtbassoc",
  "ec2/securityGroup:SecurityGroup": "sg",
  "ec2/vpcEndpoint:VpcEndpoint": "vpce",
  "ec2/networkInterface:NetworkInterface": "eni",
  "ec2/launchTemplate:LaunchTemplate": "lt",
  "ec2/instance:Instance": "i",
  "ec2/defaultSecurityGroup:DefaultSecurityGroup": "sg",
  "ec2/vpcDhcpOptions:VpcDhcpOptions": "dopt",
  "ebs/volume:Volume": "vol",
  "vpc/securityGroupIngressRule:SecurityGroupIngressRule": "sgr",
  "vpc/securityGroupEgressRule:SecurityGroupEgressRule": "sgr",
};

type Maker = (
  request: ResourceRequest,
  context: SimulatedContext,
  id: string,
  name: string,
) => Partial<SimulatedResource>;

/** Kinds whose id is their ARN. */
const byArn = /^(lb\/(loadBalancer|targetGroup)|iam\/(policy|openIdConnectProvider)):/;

/** Resources whose id or outputs are more than the table above says. */
const makers: Readonly<Record<string, Maker>> = {
  "ec2/vpc:Vpc": (_, { place }) => ({ outputs: { ownerId: place.accountId } }),
  "ec2/eip:Eip": (_, __, id) => ({ outputs: { allocationId: id } }),
  "ec2/networkInterface:NetworkInterface": ({ inputs: { privateIp, privateIps } }) => ({
    outputs: { privateIp: privateIp ?? listOf(privateIps)[0] ?? null },
  }),
  "ec2/launchTemplate:LaunchTemplate": (_, __, ___, name) => ({ outputs: { name, latestVersion: 1 } }),
  "ec2/volumeAttachment:VolumeAttachment": ({ urn }) => ({ id: `vai-${digest(urn).readUInt32BE(0)}` }),
  "ec2/route:Route": ({ inputs, urn }) => ({
    id: `r-${textOf(inputs.routeTableId) ?? ""}${digest(urn).readUInt32BE(0)}`,
  }),
  "lb/loadBalancer:LoadBalancer": ({ urn }, { place }, _, name) => {
    const unique = hex(16, urn);
    const dnsName = `${name}-${unique}.elb.${place.region}.amazonaws.com`;
    const zoneId = `Z${characters(20, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789", urn)}`;
    const own = arn("elasticloadbalancing", place, `loadbalancer/net/${name}/${unique}`);
    return { outputs: { arn: own, name, dnsName, zoneId } };
  },
  "lb/targetGroup:TargetGroup": ({ urn }, { place }, _, name) => ({
    outputs: { arn: arn("elasticloadbalancing", place, `targetgroup/${name}/${hex(16, urn)}`), name },
  }),
  "lb/listener:Listener": ({ urn, inputs }, { place }) => {
    const balancer = (textOf(inputs.loadBalancerArn) ?? "").split(":loadbalancer/")[1] ?? "";
    return { id: arn("elasticloadbalancing", place, `listener/${balancer}/${hex(16, urn)}`) };
  },
  "lb/targetGroupAttachment:TargetGroupAttachment": ({ urn, inputs }) => ({
    id: `${textOf(inputs.targetGroupArn) ?? ""}-${hex(26, urn)}`,
  }),
  "iam/role:Role": iamIdentity("role"),
  "iam/instanceProfile:InstanceProfile": iamIdentity("instance-profile"),
  "iam/policy:Policy": iamIdentity("policy"),
  "iam/rolePolicy:RolePolicy": ({ inputs }, _, __, name) => ({ id: `${textOf(inputs.role) ?? ""}:${name}` }),
  "iam/openIdConnectProvider:OpenIdConnectProvider": ({ inputs }, { place }) => ({
    outputs: { arn: iamArn(place, `oidc-provider/${textOf(inputs.url)?.replace("https://", "")}`) },
  }),
  "kms/key:Key": ({ urn }, { place }) => ({
    id: uuid(urn),
    outputs: { arn: arn("kms", place, `key/${uuid(urn)}`), keyId: uuid(urn) },
  }),
  "kms/alias:Alias": ({ inputs }, { place }) => {
    const alias = textOf(inputs.name) ?? "";
    return { id: alias, outputs: { arn: arn("kms", place, alias) } };
  },
  "ssm/parameter:Parameter": ({ inputs }, { place }, _, name) => {
    const value = inputs.value;
    return {
      outputs: {
        arn: arn("ssm", place, `parameter/${name.replace(/^\//, "")}`),
        name,
        version: 1,
        // The provider marks the value as secret for every type.
        ...(value !== undefined && { value: value instanceof Secret ? value : new Secret(value) }),
      },
    };
  },
  "autoscaling/group:Group": ({ urn }, { place }, _, name) => ({
    outputs: { arn: arn("autoscaling", place, `autoScalingGroup:${uuid(urn)}:autoScalingGroupName/${name}`), name },
  }),
  "s3/bucket:Bucket": ({ inputs }, { place: { region } }, _, fallback) => {
    const name = textOf(inputs.bucket) ?? fallback.toLowerCase();
    const bucketRegionalDomainName = `${name}.s3.${region}.amazonaws.com`;
    return {
      id: name,
      outputs: { arn: `arn:${partition(region)}:s3:::${name}`, bucket: name, bucketRegionalDomainName },
    };
  },
  "s3/bucketPolicy:BucketPolicy": ({ inputs, options, parent }) => {
    // A block that goes still holds for a while (env0/templates#258). A provider knows no hooks of the program.
    const isPublic = /"Allow","Principal":"\*"/.test(textOf(inputs.policy) ?? "");
    if (isPublic && parent !== undefined && options.hooks.onError === undefined)
      throw new Error("AccessDenied: a public policy is not tried again");
    return { outputs: {} };
  },
  "s3/bucketObjectv2:BucketObjectv2": ({ inputs }, { place }) => {
    const id = `${textOf(inputs.bucket) ?? ""}/${textOf(inputs.key) ?? ""}`;
    return { id, outputs: { arn: `arn:${partition(place.region)}:s3:::${id}` } };
  },
  "route53/record:Record": ({ inputs }, _, __, name) => ({
    id: `${textOf(inputs.zoneId) ?? ""}_${name}_${textOf(inputs.type) ?? ""}`,
    outputs: { name, fqdn: name },
  }),
  "cloudwatch/logGroup:LogGroup": (_, { place }, __, name) => ({
    outputs: { arn: arn("logs", place, `log-group:${name}`), name },
  }),
};

/** Its path is part of its ARN (IAM User Guide, "IAM identifiers"). */
function iamIdentity(kind: string): Maker {
  return ({ inputs }, { place }, _, name) => ({
    outputs: { arn: iamArn(place, `${kind}${textOf(inputs.path) ?? "/"}${name}`), name },
  });
}

/** Answers of the form and length that AWS gives. */
export const awsResource: SimulatedProvider = (request, context) => {
  const kind = request.type.slice("aws:".length);
  const prefix = prefixes[kind];
  const { name: given, namePrefix } = request.inputs;
  const generated =
    namePrefix === undefined
      ? autoName(request.name, request.urn)
      : `${textOf(namePrefix)}${characters(26, "0123456789", request.urn)}`;
  const name = textOf(given) ?? generated;
  const id = prefix === undefined ? name : `${prefix}-${hex(17, request.urn)}`;
  requireAwsLimits(
    kind,
    request.inputs,
    kind === "s3/bucket:Bucket" ? (textOf(request.inputs.bucket) ?? name) : name,
    context,
  );
  const made = { id, outputs: {}, ...makers[kind]?.(request, context, id, name) };
  return byArn.test(kind) ? { ...made, id: textOf(made.outputs.arn) ?? id } : made;
};

function arn(service: string, { region, accountId }: SimulatedContext["place"], resource: string): string {
  return `arn:${partition(region)}:${service}:${region}:${accountId}:${resource}`;
}

function iamArn({ region, accountId }: SimulatedContext["place"], resource: string): string {
  return `arn:${partition(region)}:iam::${accountId}:${resource}`;
}

/** Input with a policy document, its most characters, and the error beyond them. */
const documents: Readonly<Record<string, readonly [input: string, most: number]>> = {
  "iam/policy:Policy": ["policy", iamLimits.managed],
  "iam/rolePolicy:RolePolicy": ["policy", iamLimits.inline],
  "iam/role:Role": ["assumeRolePolicy", iamLimits.trust],
};

const texts = (value: PropertyValue | undefined): readonly string[] =>
  [value ?? [], ...listOf(value)].flatMap((each) => textOf(each) ?? []);

/** @throws Error with AWS's code */
function requireAwsLimits(kind: string, inputs: PropertyMap, name: string, context: SimulatedContext): void {
  const [beginning] = (awsPrefixes[kind] ?? []).filter((each) => name.toLowerCase().startsWith(each));
  if (beginning !== undefined) throw new Error(`InvalidParameterValue: ${name} begins with ${beginning}`);
  if (!kind.startsWith("iam/")) return;
  if ((textOf(inputs.path) ?? "").length > iamLimits.path)
    throw new Error(`ValidationError: path has more than ${iamLimits.path} characters`);
  const [provider] = [...context.made()].filter(({ request }) => request.type === "pulumi:providers:aws");
  const common = fromJson(textOf(provider?.request.inputs.defaultTags) ?? "{}");
  const defaults = mapOf(mapFromWire(Object(common)).tags);
  const tags = Object.keys({ ...defaults, ...mapOf(inputs.tags) }).map((each) => each.toLowerCase());
  if (new Set(tags).size < tags.length)
    throw new Error("InvalidInput: Duplicate tag keys found. Please note that Tag keys are case insensitive.");
  const [input, most] = documents[kind] ?? [];
  const text = textOf(inputs[input ?? ""]);
  if (text === undefined || most === undefined) return;
  if (policyLength(text) > most) throw new Error(`LimitExceeded: ${policyLength(text)} of ${most} characters`);
  for (const each of listOf(mapFromWire(Object(fromJson(text))).Statement)) {
    const { Action, Resource } = mapOf(each);
    const wrong = [
      ...texts(Action).filter((one) => !iamLimits.action.test(one)),
      ...texts(Resource).filter((one) => !iamLimits.resource.test(one)),
    ];
    if (wrong.length > 0) throw new Error(`MalformedPolicyDocument: ${wrong.join(", ")}`);
  }
}
