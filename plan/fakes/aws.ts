import { partition } from "../../components/aws/policyDocument.ts";
import type { SimulatedResource } from "../program/engine.ts";
import type { ResourceRequest } from "../program/request.ts";
import { listOf, mapOf, type PropertyMap, Secret, textOf } from "../program/values.ts";
import { addressIn, requireInside } from "./addresses.ts";
import { autoName, characters, digest, hex, uuid } from "./identifiers.ts";
import type { SimulatedContext, SimulatedProvider } from "./provider.ts";

/** Prefix of the ids of resources whose id is a prefix and 17 hexadecimal digits (Amazon EC2 User Guide, resource IDs). */
const idPrefixes: Readonly<Record<string, string>> = {
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

/** Service name and kind in the ARN of resources whose ARN ends with their id. */
const idArns: Readonly<Record<string, readonly [service: string, kind: string]>> = {
  "ec2/vpc:Vpc": ["ec2", "vpc"],
  "ec2/subnet:Subnet": ["ec2", "subnet"],
  "ec2/internetGateway:InternetGateway": ["ec2", "internet-gateway"],
  "ec2/natGateway:NatGateway": ["ec2", "natgateway"],
  "ec2/eip:Eip": ["ec2", "elastic-ip"],
  "ec2/routeTable:RouteTable": ["ec2", "route-table"],
  "ec2/securityGroup:SecurityGroup": ["ec2", "security-group"],
  "ec2/vpcEndpoint:VpcEndpoint": ["ec2", "vpc-endpoint"],
  "ec2/networkInterface:NetworkInterface": ["ec2", "network-interface"],
  "ec2/launchTemplate:LaunchTemplate": ["ec2", "launch-template"],
  "ec2/instance:Instance": ["ec2", "instance"],
  "ebs/volume:Volume": ["ec2", "volume"],
  "vpc/securityGroupIngressRule:SecurityGroupIngressRule": ["ec2", "security-group-rule"],
  "vpc/securityGroupEgressRule:SecurityGroupEgressRule": ["ec2", "security-group-rule"],
};

type Maker = (request: ResourceRequest, context: SimulatedContext, id: string, name: string) => SimulatedResource;

/** Resources whose id or outputs are more than the tables above say. */
const makers: Readonly<Record<string, Maker>> = {
  "ec2/vpc:Vpc": (request, { place }, id) => ({
    id,
    outputs: {
      arn: arn("ec2", place, `vpc/${id}`),
      ownerId: place.accountId,
      defaultSecurityGroupId: `sg-${hex(17, request.urn, "default")}`,
      mainRouteTableId: `rtb-${hex(17, request.urn, "main")}`,
      defaultNetworkAclId: `acl-${hex(17, request.urn, "default")}`,
    },
  }),
  "ec2/eip:Eip": (request, { place }, id) => ({
    id,
    outputs: {
      arn: arn("ec2", place, `elastic-ip/${id}`),
      allocationId: id,
      // TEST-NET-3 (RFC 5737): never anyone's address.
      publicIp: `203.0.113.${digest(request.urn).readUInt8(0)}`,
    },
  }),
  "ec2/networkInterface:NetworkInterface": (request, context, id) => {
    const address = textOf(request.inputs.privateIp) ?? textOf(listOf(request.inputs.privateIps)[0]);
    const range = subnetRange(request.inputs, context);
    const privateIp = address ?? addressIn(range ?? anyRange, request.urn);
    requireSameVpc(request.inputs, context);
    requireInside(privateIp, range);
    return {
      id,
      outputs: {
        arn: arn("ec2", context.place, `network-interface/${id}`),
        privateIp,
        privateIps: [privateIp],
        macAddress: `0a:${(hex(10, request.urn, "mac").match(/../g) ?? []).join(":")}`,
      },
    };
  },
  "ec2/launchTemplate:LaunchTemplate": (_, { place }, id, name) => ({
    id,
    outputs: { arn: arn("ec2", place, `launch-template/${id}`), name, latestVersion: 1, defaultVersion: 1 },
  }),
  "ec2/instance:Instance": (request, context, id) => {
    const primary = textOf(mapOf(request.inputs.primaryNetworkInterface).networkInterfaceId);
    const card = primary === undefined ? undefined : context.find(primary);
    const privateIp =
      textOf(request.inputs.privateIp) ??
      textOf(card?.made.outputs.privateIp) ??
      addressIn(subnetRange(request.inputs, context) ?? anyRange, request.urn);
    return {
      id,
      outputs: {
        arn: arn("ec2", context.place, `instance/${id}`),
        instanceState: "running",
        privateIp,
        privateDns: `${id}.${context.place.region}.compute.internal`,
        primaryNetworkInterfaceId: primary ?? `eni-${hex(17, request.urn, "eni")}`,
      },
    };
  },
  "ec2/volumeAttachment:VolumeAttachment": ({ urn }) => ({ id: `vai-${digest(urn).readUInt32BE(0)}`, outputs: {} }),
  "ec2/route:Route": ({ inputs, urn }) => ({
    id: `r-${textOf(inputs.routeTableId) ?? ""}${digest(urn).readUInt32BE(0)}`,
    outputs: {},
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
    const own = arn("elasticloadbalancing", place, `targetgroup/${name}/${hex(16, urn)}`);
    return { id: own, outputs: { arn: own, name, arnSuffix: `targetgroup/${name}/${hex(16, urn)}` } };
  },
  "lb/listener:Listener": ({ urn, inputs }, { place }) => {
    const balancer = (textOf(inputs.loadBalancerArn) ?? "").split(":loadbalancer/")[1] ?? "";
    const own = arn("elasticloadbalancing", place, `listener/${balancer}/${hex(16, urn)}`);
    return { id: own, outputs: { arn: own } };
  },
  "lb/targetGroupAttachment:TargetGroupAttachment": ({ urn, inputs }) => ({
    id: `${textOf(inputs.targetGroupArn) ?? ""}-${hex(26, urn)}`,
    outputs: {},
  }),
  "iam/role:Role": ({ urn, inputs }, { place }, _, name) => ({
    id: name,
    outputs: { arn: globalArn("iam", place, `role${pathOf(inputs)}${name}`), name, uniqueId: identity("AROA", urn) },
  }),
  "iam/instanceProfile:InstanceProfile": ({ urn, inputs }, { place }, _, name) => ({
    id: name,
    outputs: {
      arn: globalArn("iam", place, `instance-profile${pathOf(inputs)}${name}`),
      name,
      uniqueId: identity("AIPA", urn),
    },
  }),
  "iam/policy:Policy": ({ urn, inputs }, { place }, _, name) => {
    const own = globalArn("iam", place, `policy${pathOf(inputs)}${name}`);
    return { id: own, outputs: { arn: own, name, policyId: identity("ANPA", urn) } };
  },
  "iam/rolePolicy:RolePolicy": ({ inputs }, _context, _id, name) => ({
    id: `${textOf(inputs.role) ?? ""}:${name}`,
    outputs: { name },
  }),
  "iam/openIdConnectProvider:OpenIdConnectProvider": ({ inputs }, { place }) => {
    const url = textOf(inputs.url) ?? "";
    // IAM API reference, CreateOpenIDConnectProvider: https, no query, 255 characters, at most 100 client ids.
    if (!/^https:\/\/[^?#]+$/.test(url) || url.length > 255) throw new Error(`ValidationError: ${url} as an OIDC provider`);
    const clients = listOf(inputs.clientIdLists).length;
    if (clients < 1 || clients > 100) throw new Error(`an OIDC provider with ${clients} client ids`);
    const own = globalArn("iam", place, `oidc-provider/${url.replace("https://", "")}`);
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
      id: name,
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
    id: name,
    outputs: {
      arn: arn("autoscaling", place, `autoScalingGroup:${uuid(urn)}:autoScalingGroupName/${name}`),
      name,
    },
  }),
  "s3/bucket:Bucket": bucket,
  "s3/bucketObjectv2:BucketObjectv2": bucketObject,
  "route53/record:Record": ({ inputs }, _, __, name) => ({
    id: `${textOf(inputs.zoneId) ?? ""}_${name}_${textOf(inputs.type) ?? ""}`,
    outputs: { name, fqdn: name },
  }),
  "cloudwatch/logGroup:LogGroup": (_, { place }, __, name) => ({
    id: name,
    outputs: { arn: arn("logs", place, `log-group:${name}`), name },
  }),
  "cloudwatch/logStream:LogStream": ({ inputs }, { place }, __, name) => {
    const group = textOf(inputs.logGroupName) ?? "";
    return { id: name, outputs: { arn: arn("logs", place, `log-group:${group}:log-stream:${name}`), name } };
  },
};

function bucket(request: ResourceRequest, context: SimulatedContext, _: string, fallback: string): SimulatedResource {
  const name = textOf(request.inputs.bucket) ?? fallback.toLowerCase();
  return {
    id: name,
    outputs: {
      arn: `arn:${partition(context.place.region)}:s3:::${name}`,
      bucket: name,
      bucketDomainName: `${name}.s3.amazonaws.com`,
      bucketRegionalDomainName: `${name}.s3.${context.place.region}.amazonaws.com`,
      region: context.place.region,
    },
  };
}

function bucketObject({ inputs }: ResourceRequest, { place }: SimulatedContext): SimulatedResource {
  const bucketName = textOf(inputs.bucket) ?? "";
  const key = textOf(inputs.key) ?? "";
  return { id: `${bucketName}/${key}`, outputs: { arn: `arn:${partition(place.region)}:s3:::${bucketName}/${key}` } };
}

/** The provider `aws`: ids, ARNs, names and addresses of the form and length that AWS gives. */
export const awsResource: SimulatedProvider = (request, context) => {
  const kind = request.type.slice("aws:".length);
  const prefix = idPrefixes[kind];
  const name =
    textOf(request.inputs.name) ??
    (textOf(request.inputs.namePrefix) === undefined
      ? autoName(request.name, request.urn)
      : `${textOf(request.inputs.namePrefix)}${characters(26, "0123456789", request.urn)}`);
  const id = prefix === undefined ? name : `${prefix}-${hex(17, request.urn)}`;
  const maker = makers[kind];
  if (maker !== undefined) return maker(request, context, id, name);
  const [service, resource] = idArns[kind] ?? [];
  if (service !== undefined) return { id, outputs: { arn: arn(service, context.place, `${resource}/${id}`) } };
  // Everything without a special form of id or an ARN that is read: attachments, rules, hooks.
  return { id, outputs: request.inputs.name === undefined && prefix === undefined ? {} : named(prefix, name) };
};

function named(prefix: string | undefined, name: string): PropertyMap {
  return prefix === undefined ? { name } : {};
}

function arn(service: string, { region, accountId }: SimulatedContext["place"], resource: string): string {
  return `arn:${partition(region)}:${service}:${region}:${accountId}:${resource}`;
}

function globalArn(service: string, { region, accountId }: SimulatedContext["place"], resource: string): string {
  return `arn:${partition(region)}:${service}::${accountId}:${resource}`;
}

/** Path of an identity in IAM, which is part of its ARN (IAM User Guide, "IAM identifiers"). */
function pathOf(inputs: PropertyMap): string {
  return textOf(inputs.path) ?? "/";
}

/** Unique ids of IAM: a prefix for the kind and 17 characters (IAM User Guide, IAM identifiers). */
function identity(prefix: string, urn: string): string {
  return prefix + characters(17, "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", urn);
}

/** Range of addresses where the subnet is of another program. */
const anyRange = "10.0.0.0/16";

function subnetRange(inputs: PropertyMap, context: SimulatedContext): string | undefined {
  const subnet = context.find(textOf(inputs.subnetId) ?? "");
  return textOf(subnet?.request.inputs.cidrBlock ?? subnet?.made.outputs.cidrBlock);
}

/** EC2 refuses an interface whose groups belong to another VPC than its subnet (EC2 API Reference, Error codes, InvalidParameter). */
function requireSameVpc({ subnetId, securityGroups }: PropertyMap, { find }: SimulatedContext): void {
  const vpcOf = (id: PropertyMap[string] | undefined): string | undefined => {
    const found = find(textOf(id) ?? "");
    return textOf(found?.request.inputs.vpcId ?? found?.made.outputs.vpcId);
  };
  const own = vpcOf(subnetId);
  const stray = listOf(securityGroups).find((group) => own !== undefined && vpcOf(group) !== own);
  if (stray !== undefined)
    throw new Error(`InvalidParameter: Security group ${textOf(stray)} and subnet ${textOf(subnetId)} belong to different networks.`);
}
