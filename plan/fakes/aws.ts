import { listOf, mapOf, type PropertyMap, Secret, textOf } from "../../components/gates/resources.ts";
import { partition } from "../../components/model/cloudFacts/ids.ts";
import type { SimulatedResource } from "../program/engine.ts";
import type { ResourceRequest } from "../program/recorded.ts";
import { addressIn, requireInside } from "./addresses.ts";
import { requireAwsLimits } from "./awsLimits.ts";
import { autoName, characters, digest, hex, uuid } from "./identifiers.ts";
import type { SimulatedContext, SimulatedProvider } from "./provider.ts";

/**
 * Kinds whose id is a prefix and 17 hexadecimal digits (Amazon EC2 User Guide, resource IDs), and their name in an ARN.
 */
const kinds: Readonly<Record<string, readonly [prefix: string, inArn?: string]>> = {
  "ec2/vpc:Vpc": ["vpc", "vpc"],
  "ec2/subnet:Subnet": ["subnet", "subnet"],
  "ec2/internetGateway:InternetGateway": ["igw", "internet-gateway"],
  "ec2/natGateway:NatGateway": ["nat", "natgateway"],
  "ec2/eip:Eip": ["eipalloc", "elastic-ip"],
  "ec2/routeTable:RouteTable": ["rtb", "route-table"],
  "ec2/routeTableAssociation:RouteTableAssociation": ["rtbassoc"],
  "ec2/securityGroup:SecurityGroup": ["sg", "security-group"],
  "ec2/vpcEndpoint:VpcEndpoint": ["vpce", "vpc-endpoint"],
  "ec2/networkInterface:NetworkInterface": ["eni", "network-interface"],
  "ec2/launchTemplate:LaunchTemplate": ["lt", "launch-template"],
  "ec2/instance:Instance": ["i", "instance"],
  "ec2/defaultSecurityGroup:DefaultSecurityGroup": ["sg"],
  "ec2/vpcDhcpOptions:VpcDhcpOptions": ["dopt"],
  "ebs/volume:Volume": ["vol", "volume"],
  "vpc/securityGroupIngressRule:SecurityGroupIngressRule": ["sgr", "security-group-rule"],
  "vpc/securityGroupEgressRule:SecurityGroupEgressRule": ["sgr", "security-group-rule"],
};

type Maker = (
  request: ResourceRequest,
  context: SimulatedContext,
  id: string,
  name: string,
) => Partial<SimulatedResource>;

/** Resources whose id or outputs are more than the table above says. */
const makers: Readonly<Record<string, Maker>> = {
  "ec2/vpc:Vpc": (request, { place }) => ({
    outputs: {
      ownerId: place.accountId,
      defaultSecurityGroupId: `sg-${hex(17, request.urn, "default")}`,
      mainRouteTableId: `rtb-${hex(17, request.urn, "main")}`,
      defaultNetworkAclId: `acl-${hex(17, request.urn, "default")}`,
    },
  }),
  "ec2/eip:Eip": (request, _, id) => ({
    // TEST-NET-3 (RFC 5737): never anyone's address.
    outputs: { allocationId: id, publicIp: `203.0.113.${digest(request.urn).readUInt8(0)}` },
  }),
  "ec2/networkInterface:NetworkInterface": (request, context) => {
    const address = textOf(request.inputs.privateIp) ?? textOf(listOf(request.inputs.privateIps)[0]);
    const range = subnetRange(request.inputs, context);
    const privateIp = address ?? addressIn(range ?? anyRange, request.urn);
    requireSameVpc(request.inputs, context);
    requireInside(privateIp, range);
    const macAddress = `0a:${(hex(10, request.urn, "mac").match(/../g) ?? []).join(":")}`;
    return { outputs: { privateIp, privateIps: [privateIp], macAddress } };
  },
  "ec2/launchTemplate:LaunchTemplate": (_, __, ___, name) => ({
    outputs: { name, latestVersion: 1, defaultVersion: 1 },
  }),
  "ec2/instance:Instance": (request, context, id) => {
    const primary = textOf(mapOf(request.inputs.primaryNetworkInterface).networkInterfaceId);
    const card = primary === undefined ? undefined : context.find(primary);
    const privateIp =
      textOf(request.inputs.privateIp) ??
      textOf(card?.made.outputs.privateIp) ??
      addressIn(subnetRange(request.inputs, context) ?? anyRange, request.urn);
    return {
      outputs: {
        instanceState: "running",
        privateIp,
        privateDns: `${id}.${context.place.region}.compute.internal`,
        primaryNetworkInterfaceId: primary ?? `eni-${hex(17, request.urn, "eni")}`,
      },
    };
  },
  "ec2/volumeAttachment:VolumeAttachment": ({ urn }) => ({ id: `vai-${digest(urn).readUInt32BE(0)}` }),
  "ec2/route:Route": ({ inputs, urn }) => ({
    id: `r-${textOf(inputs.routeTableId) ?? ""}${digest(urn).readUInt32BE(0)}`,
  }),
  "lb/loadBalancer:LoadBalancer": ({ urn, inputs }, { place }, _, name) => {
    const kind = textOf(inputs.loadBalancerType) === "network" ? "net" : "app";
    const unique = hex(16, urn);
    const own = arn("elasticloadbalancing", place, `loadbalancer/${kind}/${name}/${unique}`);
    const host = inputs.internal === true ? `internal-${name}` : name;
    return {
      id: own,
      outputs: {
        arn: own,
        name,
        arnSuffix: `${kind}/${name}/${unique}`,
        dnsName: `${kind === "net" ? name : host}-${unique}.elb.${place.region}.amazonaws.com`,
        zoneId: `Z${characters(20, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789", urn)}`,
      },
    };
  },
  "lb/targetGroup:TargetGroup": ({ urn }, { place }, _, name) => {
    const arnSuffix = `targetgroup/${name}/${hex(16, urn)}`;
    const own = arn("elasticloadbalancing", place, arnSuffix);
    return { id: own, outputs: { arn: own, name, arnSuffix } };
  },
  "lb/listener:Listener": ({ urn, inputs }, { place }) => {
    const balancer = (textOf(inputs.loadBalancerArn) ?? "").split(":loadbalancer/")[1] ?? "";
    const own = arn("elasticloadbalancing", place, `listener/${balancer}/${hex(16, urn)}`);
    return { id: own, outputs: { arn: own } };
  },
  "lb/targetGroupAttachment:TargetGroupAttachment": ({ urn, inputs }) => ({
    id: `${textOf(inputs.targetGroupArn) ?? ""}-${hex(26, urn)}`,
  }),
  "iam/role:Role": iamIdentity("role", "AROA"),
  "iam/instanceProfile:InstanceProfile": iamIdentity("instance-profile", "AIPA"),
  "iam/policy:Policy": ({ urn, inputs }, { place }, _, name) => {
    const own = iamArn(place, `policy${textOf(inputs.path) ?? "/"}${name}`);
    return { id: own, outputs: { arn: own, name, policyId: identity("ANPA", urn) } };
  },
  "iam/rolePolicy:RolePolicy": ({ inputs }, _context, _id, name) => ({
    id: `${textOf(inputs.role) ?? ""}:${name}`,
    outputs: { name },
  }),
  "iam/openIdConnectProvider:OpenIdConnectProvider": ({ inputs }, { place }) => {
    const url = textOf(inputs.url) ?? "";
    // IAM API reference, CreateOpenIDConnectProvider: https, no query, 255 characters, at most 100 client ids.
    if (!/^https:\/\/[^?#]+$/.test(url) || url.length > 255)
      throw new Error(`ValidationError: ${url} as an OIDC provider`);
    const clients = listOf(inputs.clientIdLists).length;
    if (clients < 1 || clients > 100) throw new Error(`an OIDC provider with ${clients} client ids`);
    const own = iamArn(place, `oidc-provider/${url.replace("https://", "")}`);
    return { id: own, outputs: { arn: own } };
  },
  "kms/key:Key": ({ urn }, { place }) => ({
    id: uuid(urn),
    outputs: { arn: arn("kms", place, `key/${uuid(urn)}`), keyId: uuid(urn) },
  }),
  "kms/alias:Alias": ({ inputs }, { place, find }, _, name) => {
    const alias = name.startsWith("alias/") ? name : `alias/${name}`;
    const target = textOf(inputs.targetKeyId) ?? "";
    return {
      id: alias,
      outputs: {
        arn: arn("kms", place, alias),
        name: alias,
        targetKeyArn: textOf(find(target)?.made.outputs.arn) ?? target,
      },
    };
  },
  "ssm/parameter:Parameter": ({ inputs }, { place }, _, name) => {
    const value = inputs.value;
    return {
      outputs: {
        arn: arn("ssm", place, `parameter/${name.replace(/^\//, "")}`),
        name,
        version: 1,
        // The provider marks the value as secret for every type.
        ...(value === undefined ? {} : { value: value instanceof Secret ? value : new Secret(value) }),
      },
    };
  },
  "autoscaling/group:Group": ({ urn }, { place }, _, name) => ({
    outputs: { arn: arn("autoscaling", place, `autoScalingGroup:${uuid(urn)}:autoScalingGroupName/${name}`), name },
  }),
  "s3/bucket:Bucket": ({ inputs }, { place: { region } }, _, fallback) => {
    const name = textOf(inputs.bucket) ?? fallback.toLowerCase();
    const domains = {
      bucketDomainName: `${name}.s3.amazonaws.com`,
      bucketRegionalDomainName: `${name}.s3.${region}.amazonaws.com`,
    };
    return { id: name, outputs: { arn: `arn:${partition(region)}:s3:::${name}`, bucket: name, ...domains, region } };
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
  "cloudwatch/logStream:LogStream": ({ inputs }, { place }, __, name) => {
    const group = textOf(inputs.logGroupName) ?? "";
    return { outputs: { arn: arn("logs", place, `log-group:${group}:log-stream:${name}`), name } };
  },
};

/** Its path is part of its ARN (IAM User Guide, "IAM identifiers"). */
function iamIdentity(kind: string, prefix: string): Maker {
  return ({ urn, inputs }, { place }, _, name) => ({
    outputs: {
      arn: iamArn(place, `${kind}${textOf(inputs.path) ?? "/"}${name}`),
      name,
      uniqueId: identity(prefix, urn),
    },
  });
}

/** Answers of the form and length that AWS gives. */
export const awsResource: SimulatedProvider = (request, context) => {
  const kind = request.type.slice("aws:".length);
  const [prefix, inArn] = kinds[kind] ?? [];
  const { name: given, namePrefix } = request.inputs;
  const generated =
    namePrefix === undefined
      ? autoName(request.name, request.urn)
      : `${textOf(namePrefix)}${characters(26, "0123456789", request.urn)}`;
  const name = textOf(given) ?? generated;
  const id = prefix === undefined ? name : `${prefix}-${hex(17, request.urn)}`;
  const own = inArn === undefined ? {} : { arn: arn("ec2", context.place, `${inArn}/${id}`) };
  requireAwsLimits(
    kind,
    request.inputs,
    kind === "s3/bucket:Bucket" ? (textOf(request.inputs.bucket) ?? name) : name,
    context,
  );
  const made = makers[kind]?.(request, context, id, name);
  if (made !== undefined) return { id: made.id ?? id, outputs: { ...own, ...made.outputs } };
  // Attachments, rules, hooks.
  return { id, outputs: given !== undefined && prefix === undefined ? { name } : own };
};

function arn(service: string, { region, accountId }: SimulatedContext["place"], resource: string): string {
  return `arn:${partition(region)}:${service}:${region}:${accountId}:${resource}`;
}

function iamArn({ region, accountId }: SimulatedContext["place"], resource: string): string {
  return `arn:${partition(region)}:iam::${accountId}:${resource}`;
}

/** Unique ids of IAM: a prefix for the kind and 17 characters (IAM User Guide, IAM identifiers). */
function identity(prefix: string, urn: string): string {
  return prefix + characters(17, "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", urn);
}

const anyRange = "10.0.0.0/16";

function subnetRange(inputs: PropertyMap, context: SimulatedContext): string | undefined {
  const subnet = context.find(textOf(inputs.subnetId) ?? "");
  return textOf(subnet?.request.inputs.cidrBlock ?? subnet?.made.outputs.cidrBlock);
}

/**
 * EC2 refuses an interface whose groups belong to another VPC than its subnet (EC2 API Reference, Error codes,
 * InvalidParameter).
 */
function requireSameVpc({ subnetId, securityGroups }: PropertyMap, { find }: SimulatedContext): void {
  const vpcOf = (id: PropertyMap[string] | undefined): string | undefined => {
    const found = find(textOf(id) ?? "");
    return textOf(found?.request.inputs.vpcId ?? found?.made.outputs.vpcId);
  };
  const own = vpcOf(subnetId);
  const stray = listOf(securityGroups).find((group) => own !== undefined && vpcOf(group) !== own);
  if (stray !== undefined)
    throw new Error(
      `InvalidParameter: Security group ${textOf(stray)} and subnet ${textOf(subnetId)} belong to different networks.`,
    );
}
