import { Group } from "@pulumi/aws/autoscaling/group.js";
import { LifecycleHook } from "@pulumi/aws/autoscaling/lifecycleHook.js";
import { LaunchTemplate } from "@pulumi/aws/ec2/launchTemplate.js";
import * as pulumi from "@pulumi/pulumi";
import {
  type PoolRoll,
  refuseUpdate,
  releaseGuard,
  type SentGroup,
  type PoolArgs as SharedPoolArgs,
} from "../gates/poolGate.ts";
import { sentDigest, sentNumber } from "../gates/sent.ts";
import type { ScriptsReference } from "../machine/bundle.ts";
import type { PoolAccess } from "../machine/cloudAccess.ts";
import { packLinuxFetching } from "../machine/linux/cloudConfig.ts";
import { linuxWorkerPayload } from "../machine/linux/worker.ts";
import type { WorkerPayload } from "../machine/payload.ts";
import { packWindowsAws } from "../machine/windows/userData.ts";
import { windowsWorkerPayload } from "../machine/windows/worker.ts";
import { tagRefusal } from "../model/cloudFacts/aws.ts";
import type { NodeSettings } from "../model/nodeSettings.ts";
import { groupName, groupSize, type PoolSpec } from "../model/pools.ts";
import { machineTemplate, templateReplaceOnChanges } from "./machineTemplate.ts";
import { theirs } from "./owners.ts";
import { listPolicies, scriptsArn, workerPolicy } from "./policies.ts";
import {
  groupHooks,
  groupTags,
  isProtected,
  launches,
  lifecycleHooks,
  poolRoll,
  purchase,
  rollingRange,
} from "./poolGroup.ts";
import type { MachineScripts } from "./scripts.ts";
import { joinParameter, workerParameters, writtenParameter } from "./secrets.ts";
import { Identity } from "./workloadIdentity.ts";

/** What every pool takes from its cluster. */
export interface PoolSurroundings {
  /** The cluster's account, which the machines' rights name. */
  readonly accountId: pulumi.Input<string>;
  /** Key of the pools' join secrets. */
  readonly joinKeyArn: pulumi.Input<string>;
  /** Private subnets by zone. */
  readonly subnetIds: Readonly<Record<string, pulumi.Input<string>>>;
  readonly workersGroupId: pulumi.Input<string>;
  /** API host for nodes. Machines read it from the join secret; a changed one still replaces them. */
  readonly apiHost: pulumi.Input<string>;
}

export interface PoolArgs extends SharedPoolArgs, PoolSurroundings {
  /** What the machines receive: `poolPayload`. */
  readonly payload: WorkerPayload;
  /** The payload's scripts in S3. */
  readonly scripts: MachineScripts;
}

export const apiHostTag = "fenestra:api";

/** Marks machines that join by their pool's secret alone. */
const joinTag = { "fenestra:join": "pool" } as const;

/** What a pool's machines receive. It holds no secret. */
export function poolPayload(spec: NodeSettings, pool: PoolSpec): WorkerPayload {
  const access: PoolAccess = {
    cloud: { kind: "aws", region: spec.region, ...workerParameters(spec, pool.name) },
    lifecycle: {
      group: groupName(spec.name, pool.name),
      launchHook: lifecycleHooks.launch,
      terminateHook: lifecycleHooks.terminate,
    },
  };
  return pool.os === "linux"
    ? linuxWorkerPayload({ spec, pool, access })
    : windowsWorkerPayload({ spec, pool, access });
}

/** User data of a pool's machine, base64. */
function userData(payload: WorkerPayload, object: ScriptsReference, bucket: string): string {
  return payload.kind === "windows"
    ? Buffer.from(packWindowsAws(payload, object, bucket)).toString("base64")
    : packLinuxFetching(payload, object, bucket);
}

/**
 * A group of equal worker machines: launch template, Auto Scaling group and their own identity. A changed template
 * replaces the machines one at a time, a new one first; each joins and drains by itself.
 */
export class Pool extends pulumi.ComponentResource {
  readonly groupName: pulumi.Output<string>;
  readonly group: Group;
  readonly spec: PoolSpec;
  readonly fingerprint: string;
  readonly roll: PoolRoll;
  readonly sent: SentGroup;
  /** ARN of its machines' role; `undefined` where a user's instance profile brings one. */
  readonly identityId: pulumi.Output<string> | undefined;

  readonly #name: string;
  readonly #args: PoolArgs;

  constructor(name: string, args: PoolArgs, opts?: pulumi.ComponentResourceOptions) {
    super("fenestra:aws:Pool", name, {}, opts);
    this.#name = name;
    this.#args = args;
    this.spec = args.pool;
    this.fingerprint = args.payload.fingerprint;
    this.roll = poolRoll(args.spec, args.pool);
    const identity = args.pool.instanceProfile === undefined ? this.#makeIdentity() : undefined;
    this.identityId = identity?.roleArn;
    const template = this.#makeTemplate(identity);
    this.group = this.#makeGroup(template, identity);
    const own = groupSize(args.pool);
    const least = sentNumber(this.group, { path: "minSize", own: own.minSize, kept: this.group.minSize });
    const desired = { path: "desiredCapacity", own: own.desiredCapacity, kept: this.group.desiredCapacity };
    this.sent = {
      // The autoscaler sets the other number.
      count:
        args.pool.autoscale === undefined
          ? pulumi.all([least, sentNumber(this.group, desired)]).apply((numbers) => Math.max(...numbers))
          : least,
      machines: sentDigest([
        [template, /^(?!tags\b|description$|name(Prefix)?$)/],
        [this.group, /^(launchTemplate|mixedInstancesPolicy)\b/],
      ]),
      id: this.group.name,
    };
    this.#makeHooks();
    this.groupName = this.group.name;
    this.registerOutputs({ groupName: this.groupName });
  }

  #makeIdentity(): Identity {
    const { spec, pool, accountId, joinKeyArn, scripts } = this.#args;
    const { name: cluster, region } = spec;
    const accounts = pool.os === "windows" && pool.ccgPlugin ? spec.addons.gmsa : undefined;
    const worker = pulumi.all([accountId, joinKeyArn, scripts.bucketArn]).apply(([account, keyArn, bucket]) =>
      workerPolicy(
        { cluster, region, accountId: account, keyArn },
        // The last for this release alone: a machine of the previous template may start during the update.
        [...Object.values(workerParameters(spec, pool.name)), joinParameter(cluster)],
        groupName(spec.name, pool.name),
        scriptsArn(bucket, pool.os),
      ),
    );
    const policies = { worker, ...listPolicies(accounts, spec.registryAccess?.resources) };
    return new Identity(`${this.#name}-identity`, { policies, iam: spec.iam }, { parent: this });
  }

  #makeTemplate(identity: Identity | undefined): LaunchTemplate {
    const { spec, pool, api, payload, workersGroupId, apiHost, scripts, after } = this.#args;
    const { version: release } = spec.kubernetes;
    const machine = machineTemplate({
      name: groupName(spec.name, pool.name),
      os: pool.release,
      image: pool.image,
      size: pool.size.name,
      diskGb: pool.diskGb,
      disk: pool.disk,
      profileArn: profileArn(pool, identity),
      userData: pulumi.output(scripts.bucketName).apply((bucket) => userData(payload, scripts.object, bucket)),
      tags: spec.tags,
      makesInterface: true,
    });
    return new LaunchTemplate(
      `${this.#name}-template`,
      {
        ...machine,
        tagSpecifications: [
          ...machine.tagSpecifications,
          // An organisation's policy judges the launch request, before the group's tags
          // (terraform-aws-modules/terraform-aws-eks#753). A replaced load balancer has another name, without which
          // nodes cannot reach the API: the changed tag rolls them.
          { resourceType: "instance", tags: { ...spec.tags, [apiHostTag]: apiHost, ...joinTag } },
          // EC2 launches no machine on demand with tags of such a request (aws/karpenter-provider-aws#5850).
          ...(pool.spot && pool.onDemand === undefined
            ? [{ resourceType: "spot-instances-request", tags: { ...spec.tags } }]
            : []),
        ],
        networkInterfaces: [
          {
            deviceIndex: 0,
            associatePublicIpAddress: "false",
            deleteOnTermination: "true",
            securityGroups: [workersGroupId],
          },
        ],
        ...(pool.os === "windows" && pool.hyperV && { cpuOptions: { nestedVirtualization: "enabled" } }),
        ...purchase(pool),
      },
      // As late as the group: a version made by one update and taken back by the next is a new number, which rolls the
      // pool for nothing.
      {
        parent: this,
        hideDiffs: ["userData"],
        dependsOn: [...after],
        replaceOnChanges: [...templateReplaceOnChanges],
        hooks: { beforeUpdate: [releaseGuard(`${this.#name}-release`, { pool: pool.name, release, api })] },
      },
    );
  }

  #makeGroup(template: LaunchTemplate, identity: Identity | undefined): Group {
    const { spec, pool, after, joinKeyArn } = this.#args;
    const healthy = rollingRange(pool);
    const joinName = joinParameter(spec.name, pool.name);
    const join = writtenParameter(`${this.#name}-join`, joinName, joinKeyArn, { parent: this });
    return new Group(
      `${this.#name}-group`,
      {
        name: groupName(spec.name, pool.name),
        ...groupSize(pool),
        vpcZoneIdentifiers: this.#subnetIds(),
        ...launches(pool, template),
        healthCheckType: "EC2",
        // Nodes become Ready only with the pod network, created later in the same update: waiting would never end.
        waitForCapacityTimeout: "0",
        // A hook created after the group would miss its first machines.
        initialLifecycleHooks: [...groupHooks(pool)],
        instanceMaintenancePolicy: healthy,
        instanceRefresh: {
          strategy: "Rolling",
          // By default a refresh waits an hour for protected machines, such as an autoscaled pool's, and fails.
          preferences: { ...healthy, instanceWarmup: "0", scaleInProtectedInstances: "Refresh" },
        },
        protectFromScaleIn: isProtected(pool),
        // Rebalancing terminates healthy machines before a pod with a zonal disk is drained.
        suspendedProcesses: ["AZRebalance"],
        ...(pool.maxAge !== undefined && { maxInstanceLifetime: pool.maxAge * 86_400 }),
        capacityRebalance: pool.spot,
        terminationPolicies: ["OldestLaunchTemplate", "Default"],
        tags: [...groupTags(spec, pool)],
      },
      {
        parent: this,
        dependsOn: [...after, join, ...(identity?.ready ?? [])],
        ignoreChanges: theirs("aws:autoscaling/group:Group").filter(
          (input) => pool.autoscale !== undefined || input !== "desiredCapacity",
        ),
        hooks: { beforeUpdate: [refuseUpdate(`${this.#name}-group-refused`, "tags", tagRefusal)] },
        // Every machine may take its whole drain time.
        customTimeouts: { delete: "60m" },
      },
    );
  }

  /**
   * The hooks again, for later changes: they overwrite those of the same name (hashicorp/terraform-provider-aws,
   * internal/service/autoscaling/lifecycle_hook.go). They go with the group and not before it, or its last machines
   * would not drain.
   */
  #makeHooks(): void {
    for (const hook of groupHooks(this.#args.pool)) {
      new LifecycleHook(
        `${this.#name}-${hook.name}`,
        { autoscalingGroupName: this.group.name, ...hook },
        { parent: this, deletedWith: this.group },
      );
    }
  }

  #subnetIds(): pulumi.Input<string>[] {
    return this.#args.pool.zones.map((zone) => {
      const subnetId = this.#args.subnetIds[zone];
      if (subnetId === undefined) throw new RangeError(`there is no private subnet in ${zone}`);
      return subnetId;
    });
  }
}

function profileArn({ name, instanceProfile }: PoolSpec, identity: Identity | undefined): pulumi.Input<string> {
  const arn = instanceProfile ?? identity?.profileArn;
  if (arn === undefined) throw new RangeError(`pool ${name} has neither a profile nor an identity`);
  return arn;
}
