import {
  VirtualMachineScaleSet,
  type VirtualMachineScaleSetArgs,
} from "@pulumi/azure-native/compute/virtualMachineScaleSet.js";
import type { Secret } from "@pulumi/azure-native/keyvault/secret.js";
import type * as inputs from "@pulumi/azure-native/types/input.js";
import * as pulumi from "@pulumi/pulumi";
import * as random from "@pulumi/random";
import {
  type PoolRoll,
  refuseUpdate,
  releaseGuard,
  type SentGroup,
  type PoolArgs as SharedPoolArgs,
  sizeGuard,
} from "../gates/poolGate.ts";
import { sentDigest, sentInputs, sentNumber } from "../gates/sent.ts";
import { groupGate, type MayStart } from "../gates/startGate.ts";
import type { AzureAccess } from "../machine/cloudAccess.ts";
import { packLinux } from "../machine/linux/cloudConfig.ts";
import { linuxWorkerPayload } from "../machine/linux/worker.ts";
import type { WorkerPayload } from "../machine/payload.ts";
import { packWindowsAzure } from "../machine/windows/userData.ts";
import { windowsWorkerPayload } from "../machine/windows/worker.ts";
import { zoneAt } from "../model/addressPlan.ts";
import { sizeRefusal } from "../model/cloudFacts/azure.ts";
import { at } from "../model/json.ts";
import type { NodeSettings } from "../model/nodeSettings.ts";
import { groupName, groupSize, type PoolSpec } from "../model/pools.ts";
import {
  acceleratedNetworking,
  bootDiagnostics,
  hostEncryption,
  imageReference,
  linuxLogin,
  osDisk,
  podAddressNames,
  windowsLogin,
} from "./machineTemplate.ts";
import { theirs } from "./owners.ts";
import {
  computerNamePrefix,
  groupTags,
  isCountKept,
  keptCount,
  poolExtensions,
  poolRoll,
  purchase,
  rollingBatch,
  updateMinutes,
} from "./poolGroup.ts";
import { Identity, inResourceGroup, type ResourceGroupContext, rightOnEach } from "./roles.ts";
import { poolJoinSecret, randomSuffix, type VaultSecrets, vaultUri, workerSecrets } from "./secrets.ts";
import type { GroupIds } from "./security.ts";

/** What every pool takes from its cluster. */
export interface PoolSurroundings extends GroupIds {
  readonly subscriptionId: pulumi.Input<string>;
  /** Name of the cluster's resource group, in which its pools lie as well: the controllers' rights end there. */
  readonly resourceGroup: pulumi.Input<string>;
  /** Private subnets by zone. */
  readonly subnetIds: Readonly<Record<string, pulumi.Input<string>>>;
  /** Holds the pools' join secrets. */
  readonly joinVault: VaultSecrets;
  /** Resource id of the secret with logins, if any. */
  readonly credentialsId?: pulumi.Input<string>;
  /** Object id of the control plane's identity, whose controllers change scale sets. */
  readonly controllerId: pulumi.Input<string>;
  /** Public half of the key that Azure requires on every Linux machine. */
  readonly sshKey: pulumi.Input<string>;
  /**
   * Resource id of the identity that reads gMSA accounts' secrets; only pools with the plug-in have it beside their
   * own.
   */
  readonly gmsaIdentityId?: pulumi.Input<string>;
}

export interface PoolArgs extends SharedPoolArgs, PoolSurroundings {
  /** Asks before all machines go for new ones. By default nobody asks. */
  readonly mayStart?: MayStart | undefined;
}

/** What a pool's machines receive. It holds no secret. */
function poolPayload(spec: NodeSettings, pool: PoolSpec, cloud: AzureAccess, tenantId: string): WorkerPayload {
  const access = { cloud, tenantId };
  return pool.os === "linux"
    ? linuxWorkerPayload({ spec, pool, access })
    : windowsWorkerPayload({ spec, pool, access });
}

/**
 * What the program sends and Azure refuses to change on a scale set (hashicorp/terraform-provider-azurerm:
 * internal/services/compute/windows_virtual_machine_scale_set_resource.go). What transforms alone set is not among it:
 * the gate before a replacement does not see it. Zones neither: Azure accepts one more and refuses one less, and a
 * replacement would delete all machines of the pool at once.
 */
const groupReplaceOnChanges: readonly string[] = [
  "location",
  "orchestrationMode",
  "platformFaultDomainCount",
  "singlePlacementGroup",
  "virtualMachineProfile.evictionPolicy",
  "virtualMachineProfile.osProfile.adminUsername",
  "virtualMachineProfile.osProfile.computerNamePrefix",
  "virtualMachineProfile.osProfile.linuxConfiguration.provisionVMAgent",
  "virtualMachineProfile.osProfile.windowsConfiguration.enableAutomaticUpdates",
  "virtualMachineProfile.osProfile.windowsConfiguration.provisionVMAgent",
  "virtualMachineProfile.priority",
  "virtualMachineProfile.storageProfile.imageReference.offer",
  "virtualMachineProfile.storageProfile.imageReference.publisher",
  "virtualMachineProfile.storageProfile.osDisk.managedDisk",
];

/** What starts a set's machines, without their logins. */
function shapeOf(set: object): object {
  const { osProfile: _, ...virtualMachineProfile } = Object(at(set, "virtualMachineProfile"));
  const [sku, zones, upgradePolicy] = ["sku", "zones", "upgradePolicy"].map((key) => at(set, key));
  return { sku, zones, upgradePolicy, virtualMachineProfile };
}

/**
 * A group of equal worker machines: a uniform scale set with its own identity. A changed model replaces the machines
 * one at a time, a new one first; each joins and drains by itself.
 */
export class Pool extends pulumi.ComponentResource {
  readonly groupName: pulumi.Output<string>;
  readonly group: VirtualMachineScaleSet;
  readonly spec: PoolSpec;
  readonly fingerprint: pulumi.Output<string>;
  readonly roll: PoolRoll;
  readonly sent: SentGroup;
  readonly identityId: pulumi.Output<string>;

  readonly #name: string;
  readonly #args: PoolArgs;
  readonly #resourceGroup: ResourceGroupContext;

  constructor(name: string, args: PoolArgs, opts?: pulumi.ComponentResourceOptions) {
    super("fenestra:azure:Pool", name, {}, opts);
    this.#name = name;
    this.#args = args;
    const { region: location, tags } = args.spec;
    this.#resourceGroup = { name: args.resourceGroup, subscriptionId: args.subscriptionId, location, tags };
    this.spec = args.pool;
    this.roll = poolRoll(args.spec, args.pool);
    const join = this.#makeJoinSecret();
    const identity = this.#makeIdentity(join);
    this.identityId = identity.id;
    const payload = this.#payload(identity, join);
    this.fingerprint = payload.apply(({ fingerprint }) => fingerprint);
    const controllers = { principalId: args.controllerId, subscriptionId: args.subscriptionId };
    this.group = this.#makeGroup(identity, payload, identity.letAssign(`${name}-controllers`, controllers, this));
    this.groupName = this.group.name;
    if (isCountKept(this.spec)) {
      const group = { resourceGroup: this.#resourceGroup, cluster: args.spec.name, groupId: this.group.id };
      keptCount(`${name}-count`, { ...group, pool: this.spec }, { parent: this });
    }
    this.sent = {
      count: this.#sentCount(),
      machines: sentDigest([[this.group, /^(virtualMachineProfile|sku\.name)\b/]]),
      id: this.group.id,
    };
    this.registerOutputs({ groupName: this.groupName });
  }

  /** Of a set that others size the least, which its tag tells the autoscaler. */
  #sentCount(): pulumi.Input<number> {
    const { group, spec: pool } = this;
    const own = groupSize(pool).minSize;
    if (pool.autoscale === undefined && !isCountKept(pool))
      return sentNumber(group, { path: "sku.capacity", own, kept: group.sku.apply((sku) => sku?.capacity) });
    return sentNumber(group, { path: "tags.min", own, kept: group.tags.apply((tags) => Number(tags?.min ?? own)) });
  }

  /** It stays in the vault when the pool is removed, see `Secrets`, but nobody may read it. */
  #makeJoinSecret(): Secret {
    const { pool, joinVault } = this.#args;
    const name = `${this.#name}-join`;
    const secretName = randomSuffix(name, this).apply((suffix) => poolJoinSecret(pool.name, suffix));
    return joinVault.makeWritten(name, secretName, { parent: this, retainOnDelete: true });
  }

  #makeIdentity(join: Secret): Identity {
    const { spec, credentialsId } = this.#args;
    const name = `${this.#name}-identity`;
    return new Identity(
      name,
      {
        resourceGroup: this.#resourceGroup,
        grants: {
          "read-join": { role: "keyVaultSecretsUser", scope: join.id },
          ...(credentialsId !== undefined && {
            "read-credentials": { role: "keyVaultSecretsUser", scope: credentialsId },
          }),
          ...rightOnEach(name, "pull", "acrPull", spec.registryAccess?.resources ?? []),
        },
      },
      { parent: this },
    );
  }

  #makeGroup(
    identity: Identity,
    payload: pulumi.Output<WorkerPayload>,
    handedOn: pulumi.Resource,
  ): VirtualMachineScaleSet {
    const { spec, pool, after } = this.#args;
    const gmsa = pool.os === "windows" && pool.ccgPlugin ? this.#args.gmsaIdentityId : undefined;
    const set: VirtualMachineScaleSetArgs = {
      ...inResourceGroup(this.#resourceGroup),
      vmScaleSetName: groupName(spec.name, pool.name),
      tags: groupTags(spec, pool),
      sku: { name: pool.size.name, tier: "Standard", capacity: groupSize(pool).desiredCapacity },
      zones: [...pool.zones],
      // The autoscaler and the cloud controller support flexible sets only as an option that is off.
      orchestrationMode: "Uniform",
      // Spread machines as far as a zone allows.
      platformFaultDomainCount: 1,
      // Up to 1000 machines instead of 100.
      singlePlacementGroup: false,
      // Otherwise surplus machines would join and be deleted.
      overprovision: false,
      identity: { type: "UserAssigned", userAssignedIdentities: [identity.id, ...(gmsa === undefined ? [] : [gmsa])] },
      upgradePolicy: this.#upgradePolicy(),
      // The node controller repairs, with brakes that Azure lacks. Left out, an older program's policy would stay.
      automaticRepairsPolicy: { enabled: false },
      virtualMachineProfile: this.#profile(payload),
    };
    // The controllers' rights too: they write to the set until it is deleted.
    const needed = [...after, handedOn, ...identity.roles];
    // What transforms make of the set is known when it is there, and the gate comes before it.
    const [kept, shape] = [Promise.withResolvers<object>(), Promise.withResolvers<object>()];
    const group = new VirtualMachineScaleSet(`${this.#name}-group`, set, {
      parent: this,
      dependsOn: [...needed, this.#gate(kept.promise, shape.promise, needed)],
      ...this.#guarded(),
      replaceOnChanges: [...groupReplaceOnChanges],
      // The name is fixed: two cannot exist at once.
      deleteBeforeReplace: true,
      hideDiffs: ["virtualMachineProfile.osProfile.customData"],
      customTimeouts: { create: "90m", update: `${updateMinutes(pool)}m`, delete: "90m" },
    });
    const sent = sentInputs(group, set);
    kept.resolve(Object.fromEntries(groupReplaceOnChanges.map((path) => [path, at(sent, path)])));
    shape.resolve(shapeOf(sent));
    return group;
  }

  /** The set goes before its successor comes, since its name is fixed. */
  #gate(kept: Promise<object>, shape: Promise<object>, needed: readonly pulumi.Resource[]): pulumi.Resource {
    const { resourceGroup, subscriptionId, pool, spec, mayStart } = this.#args;
    const id = pulumi.interpolate`/subscriptions/${subscriptionId}/resourceGroups/${resourceGroup}`;
    const parts = pulumi.output([
      { type: "azure-native:resources:ResourceGroup", id, inputs: {} },
      { type: "azure-native:compute:VirtualMachineScaleSet", name: `${this.#name}-group`, inputs: shape },
    ]);
    const start = { what: "pool", name: groupName(spec.name, pool.name), parts };
    return groupGate(`${this.#name}-before`, { kept, start, mayStart }, { parent: this, dependsOn: [...needed] });
  }

  /** The autoscaler, or what replaces evicted machines, decides the number of machines. */
  #guarded(): Pick<pulumi.CustomResourceOptions, "ignoreChanges" | "hooks"> {
    const { pool, api, spec } = this.#args;
    const { version: release } = spec.kubernetes;
    const releases = releaseGuard(`${this.#name}-release`, { pool: pool.name, release, api });
    const before = [refuseUpdate(`${this.#name}-group-refused`, "sku", sizeRefusal), releases];
    if (pool.autoscale === undefined && !isCountKept(pool)) return { hooks: { beforeUpdate: before } };
    const guard = sizeGuard(`${this.#name}-size`, { pool: pool.name, group: groupName(spec.name, pool.name), api });
    return {
      ignoreChanges: theirs("azure-native:compute:VirtualMachineScaleSet"),
      hooks: { beforeUpdate: [...before, guard] },
    };
  }

  /**
   * New machines start before old ones are deleted, and those get a notice, so that they drain. A spot machine gets
   * none (Azure documentation, terminate notification): a changed model reaches only machines started later.
   */
  #upgradePolicy(): inputs.compute.UpgradePolicyArgs {
    const { pool } = this.#args;
    if (pool.spot) return { mode: "Manual" };
    return {
      mode: "Rolling",
      rollingUpgradePolicy: {
        maxSurge: true,
        maxBatchInstancePercent: rollingBatch(pool),
        // An unhealthy pool must receive the model that fixes it; a model that makes machines unhealthy stops at the
        // first batch.
        maxUnhealthyInstancePercent: 100,
        maxUnhealthyUpgradedInstancePercent: 20,
        prioritizeUnhealthyInstances: true,
        pauseTimeBetweenBatches: "PT0S",
      },
    };
  }

  #profile(payload: pulumi.Output<WorkerPayload>): inputs.compute.VirtualMachineScaleSetVMProfileArgs {
    const { spec, pool } = this.#args;
    return {
      osProfile: {
        computerNamePrefix: computerNamePrefix(pool),
        customData: payload.apply((known) => (known.kind === "linux" ? packLinux(known) : packWindowsAzure(known))),
        ...this.#login(),
      },
      storageProfile: {
        imageReference: imageReference(pool.release, pool.image),
        osDisk: osDisk(pool.diskGb, pool.disk),
      },
      networkProfile: { networkInterfaceConfigurations: [this.#card()] },
      extensionProfile: { extensions: [...poolExtensions(pool)] },
      diagnosticsProfile: bootDiagnostics,
      ...hostEncryption(spec),
      ...purchase(pool),
    };
  }

  #payload(identity: Identity, join: Secret): pulumi.Output<WorkerPayload> {
    const { spec, pool, joinVault, credentialsId } = this.#args;
    return pulumi
      .all([
        this.#args.subscriptionId,
        this.#args.resourceGroup,
        identity.clientId,
        joinVault.vault.name,
        credentialsId,
        identity.tenantId,
        join.name,
      ])
      .apply(([subscriptionId, resourceGroup, clientId, vault, logins, tenantId, secret]) =>
        poolPayload(
          spec,
          pool,
          {
            kind: "azure",
            region: spec.region,
            subscriptionId,
            resourceGroup,
            clientId,
            joinVault: vaultUri(vault),
            ...workerSecrets(secret, logins),
          },
          tenantId,
        ),
      );
  }

  #login() {
    const { pool, sshKey } = this.#args;
    if (pool.os === "linux") return linuxLogin(sshKey);
    // Azure requires three of these four kinds of characters.
    const password = new random.RandomPassword(
      `${this.#name}-password`,
      { length: 32, minLower: 1, minUpper: 1, minNumeric: 1, minSpecial: 1 },
      { parent: this },
    );
    return windowsLogin(password.result);
  }

  /** A scale set has one subnet, its first zone's, whose NAT gateway all its machines use. */
  #card(): inputs.compute.VirtualMachineScaleSetNetworkConfigurationArgs {
    const { spec, pool, subnetIds, securityGroupId, applicationGroupId } = this.#args;
    const zone = zoneAt(pool.zones);
    const subnetId = subnetIds[zone];
    if (subnetId === undefined) throw new RangeError(`there is no private subnet for zone ${zone}`);
    return {
      name: "primary",
      primary: true,
      enableAcceleratedNetworking: acceleratedNetworking(pool.size),
      networkSecurityGroup: { id: securityGroupId },
      ipConfigurations: ["address", ...podAddressNames(spec.kubernetes.podsPerNode)].map((name, index) => ({
        name,
        primary: index === 0,
        subnet: { id: subnetId },
        privateIPAddressVersion: "IPv4",
        // All must be in the same groups (AllIpConfigurationsOnANicMustBelongToTheSameApplicationSecurityGroups).
        applicationSecurityGroups: [{ id: applicationGroupId }],
      })),
    };
  }
}
