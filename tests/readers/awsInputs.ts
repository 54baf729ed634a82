import { providerTags } from "../../components/gates/account/aws/needs.ts";
import { mapOf, type PropertyValue, reveal } from "../../components/gates/resources.ts";
import { awsCalls } from "../../plan/calls/aws.ts";
import { placeOf } from "../../plan/fakes/cloud.ts";
import type { RecordedProgram } from "../../plan/program/recorded.ts";
import { type Shape, shapeProblems, shapesOf } from "./botocore.ts";

/**
 * Where an input goes whose name no call of its type has: `*` is each of a list, `-` the provider's own. Any other
 * unknown name is a problem, so that none is left unread.
 */
const renamed: Readonly<Record<string, string>> = Object.fromEntries(
  `
autoscaling/group:Group initialLifecycleHooks=LifecycleHookSpecificationList
  instanceRefresh.strategy=autoscaling:StartInstanceRefresh.Strategy
  instanceRefresh.preferences=autoscaling:StartInstanceRefresh.Preferences
  protectFromScaleIn=NewInstancesProtectedFromScaleIn
  suspendedProcesses=autoscaling:SuspendProcesses.ScalingProcesses
  vpcZoneIdentifiers=- waitForCapacityTimeout=-
ebs/volume:Volume type=VolumeType
ec2/defaultSecurityGroup:DefaultSecurityGroup egress=- ingress=- vpcId=-
ec2/instance:Instance primaryNetworkInterface=NetworkInterfaces.*
ec2/launchTemplate:LaunchTemplate updateDefaultVersion=-
ec2/networkInterface:NetworkInterface privateIps=- securityGroups=Groups
ec2/tag:Tag key=Tags.*.Key value=Tags.*.Value resourceId=-
ec2/vpcDhcpOptions:VpcDhcpOptions domainName=- domainNameServers=DhcpConfigurations.*.Values
ec2/volumeAttachment:VolumeAttachment deviceName=Device stopInstanceBeforeDetaching=-
iam/instanceProfile:InstanceProfile role=iam:AddRoleToInstanceProfile.RoleName
iam/policy:Policy policy=PolicyDocument
iam/role:Role assumeRolePolicy=AssumeRolePolicyDocument forceDetachPolicies=-
iam/rolePolicyAttachment:RolePolicyAttachment role=RoleName
kms/key:Key deletionWindowInDays=kms:ScheduleKeyDeletion.PendingWindowInDays enableKeyRotation=-
lb/listener:Listener tcpIdleTimeoutSeconds=-
lb/loadBalancer:LoadBalancer enableCrossZoneLoadBalancing=- internal=- loadBalancerType=Type
lb/targetGroup:TargetGroup deregistrationDelay=- preserveClientIp=-
  healthCheck.healthyThreshold=HealthyThresholdCount
  healthCheck.interval=HealthCheckIntervalSeconds healthCheck.matcher=Matcher.HttpCode
  healthCheck.path=HealthCheckPath
  healthCheck.port=HealthCheckPort healthCheck.protocol=HealthCheckProtocol
  healthCheck.timeout=HealthCheckTimeoutSeconds
  healthCheck.unhealthyThreshold=UnhealthyThresholdCount
lb/targetGroupAttachment:TargetGroupAttachment port=Targets.*.Port targetId=Targets.*.Id
s3/bucket:Bucket forceDestroy=-
s3/bucketLifecycleConfiguration:BucketLifecycleConfiguration bucket=s3:PutBucketLifecycleConfiguration.Bucket
  rules=s3:PutBucketLifecycleConfiguration.LifecycleConfiguration.Rules
s3/bucketObjectv2:BucketObjectv2 content=- overrideProvider=-
s3/bucketPublicAccessBlock:BucketPublicAccessBlock bucket=- blockPublicAcls=- blockPublicPolicy=-
  ignorePublicAcls=- restrictPublicBuckets=-
s3/bucketServerSideEncryptionConfiguration:BucketServerSideEncryptionConfiguration
  bucket=s3:PutBucketEncryption.Bucket
  rules=s3:PutBucketEncryption.ServerSideEncryptionConfiguration.Rules
vpc/securityGroupEgressRule:SecurityGroupEgressRule cidrIpv4=IpPermissions.*.IpRanges.*.CidrIp
  description=IpPermissions.*.IpRanges.*.Description
  referencedSecurityGroupId=IpPermissions.*.UserIdGroupPairs.*.GroupId securityGroupId=GroupId
vpc/securityGroupIngressRule:SecurityGroupIngressRule cidrIpv4=IpPermissions.*.IpRanges.*.CidrIp
  description=IpPermissions.*.IpRanges.*.Description
  referencedSecurityGroupId=IpPermissions.*.UserIdGroupPairs.*.GroupId securityGroupId=GroupId
`
    .trim()
    .split(/\n(?! )/)
    .flatMap((line) => {
      const [kind, ...pairs] = line.split(/\s+/);
      return pairs.map((pair) => [`${kind} ${pair.split("=")[0]}`, pair.split("=")[1] ?? ""]);
    }),
);

/** Inputs whose parts stand for themselves. */
const spread = ["healthCheck", "instanceRefresh"];

type Shapes = Readonly<Record<string, Shape>>;
type Members = Readonly<Record<string, { readonly shape: string }>>;

/** Name of the shape at a path of members. */
const stepped = (shapes: Shapes, top: string, path: readonly string[]): string =>
  path.reduce((name, step) => (step === "*" ? shapes[name]?.member : shapes[name]?.members?.[step])?.shape ?? "", top);

/** The member for an input: of its name, or with more or less in front of it (`LaunchTemplateId` for `id`). */
function memberOf(members: Members, key: string): string | undefined {
  const [names, own] = [Object.keys(members), key.toLowerCase()];
  const find = (fits: (name: string) => boolean) => names.find((name) => fits(name.toLowerCase()));
  return (
    find((name) => name === own) ??
    find((name) => /^(id|name|version|securitygroups)$/.test(own) && (name.endsWith(own) || own.endsWith(name)))
  );
}

/** The shape for an input, of a call or of a structure in it. */
function shapeOf(shapes: Shapes, top: string, key: string, isDeep = true): string | undefined {
  const members = shapes[top]?.members ?? {};
  const own = memberOf(members, key);
  if (own !== undefined || !isDeep) return members[own ?? ""]?.shape;
  return Object.values(members)
    .map(({ shape }) => shapeOf(shapes, shape, key, false))
    .find((each) => each !== undefined);
}

/** A value in the form of AWS's call. What has no member keeps its name, and so is a problem. */
function inForm(shapes: Shapes, name: string, value: unknown): unknown {
  const { type, members = {}, member } = shapes[name] ?? {};
  if (type === "structure" && (typeof value !== "object" || value === null))
    return { Value: inForm(shapes, members.Value?.shape ?? "", value) };
  if (type === "list" && !Array.isArray(value)) {
    // Tags, which are a map in the SDK.
    const [key = "", text = ""] = Object.keys(shapes[member?.shape ?? ""]?.members ?? {});
    return Object.entries(Object(value)).map(([Key, Value]) => ({ [key]: Key, [text]: Value }));
  }
  if (Array.isArray(value)) return value.map((each) => inForm(shapes, member?.shape ?? "", each));
  if (type === "structure")
    return Object.fromEntries(
      Object.entries(Object(value)).map(([key, each]) => {
        const own = memberOf(members, key);
        return [own ?? key, inForm(shapes, members[own ?? ""]?.shape ?? "", each)];
      }),
    );
  if (type === "boolean" && /^(true|false)$/.test(String(value))) return String(value) === "true";
  if (/^(integer|long)$/.test(type ?? "") && typeof value === "string" && value !== "") return Number(value);
  return type === "string" && typeof value === "number" ? String(value) : value;
}

/** What AWS's models have against the inputs and the names of a program's resources. */
export function awsInputProblems(
  packages: string,
  program: RecordedProgram,
  config: Readonly<Record<string, string>>,
): readonly string[] {
  const defaults = providerTags(program);
  const own = program.resources.filter(({ type, read }) => type.startsWith("aws:") && read === undefined);
  return own.flatMap((each) => {
    const kind = each.type.slice(4);
    const rights = [...new Set(awsCalls(program, placeOf(config), each, "create").map(({ action }) => action))];
    const given: Readonly<Record<string, PropertyValue | undefined>> = {
      ...each.inputs,
      ...(each.inputs.tags === undefined || kind === "autoscaling/group:Group"
        ? {}
        : { tags: { ...defaults, ...mapOf(each.inputs.tags) } }),
      ...Object.fromEntries(
        spread.flatMap((key) =>
          Object.entries(mapOf(each.inputs[key])).map(([inner, value]) => [`${key}.${inner}`, value]),
        ),
      ),
      ...Object.fromEntries(spread.map((key) => [key, undefined])),
      ...(each.outputs.name === undefined || kind === "kms/key:Key" ? {} : { name: each.outputs.name }),
    };
    return Object.entries(given).flatMap(([key, value]) => {
      const at = `${each.name} ${key}`;
      const to = renamed[`${kind} ${key}`];
      if (to === "-" || value === undefined) return [];
      const [, right, path = ""] = /^(?:(\w+:\w+)\.?)?(.*)$/.exec(to ?? "") ?? [];
      for (const one of right === undefined ? rights : [right]) {
        const { shapes, input } = shapesOf(packages, one);
        if (input === undefined) continue;
        const steps = path.split(".").filter((step) => step !== "");
        const shape = to === undefined ? shapeOf(shapes, input, key) : stepped(shapes, input, steps);
        if (shape === undefined || shape === "") continue;
        return shapeProblems(shapes, shape, inForm(shapes, shape, reveal(value)), at);
      }
      return [`${at}: nobody reads ${kind} ${key} (${rights.join(" ")})`];
    });
  });
}
