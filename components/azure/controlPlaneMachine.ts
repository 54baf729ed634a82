import { Disk } from "@pulumi/azure-native/compute/disk.js";
import { VirtualMachine } from "@pulumi/azure-native/compute/virtualMachine.js";
import { NetworkInterface } from "@pulumi/azure-native/network/networkInterface.js";
import * as pulumi from "@pulumi/pulumi";
import type { MemberNode } from "../gates/apiProbe.ts";
import type { MachineArgs } from "../gates/controlPlane.ts";
import { sentInputs } from "../gates/sent.ts";
import type { MachineToStart } from "../gates/startGate.ts";
import { untilKnown } from "../gates/waitFor.ts";
import type { ApiEndpoint } from "../machine/cloudAccess.ts";
import { packLinux } from "../machine/linux/cloudConfig.ts";
import { controlPlanePayload, machineFingerprint } from "../machine/linux/controlPlane.ts";
import type { MachinePayload } from "../machine/payload.ts";
import { type ControlPlaneMember, zoneAt } from "../model/addressPlan.ts";
import { controlPlanePodAddresses } from "../model/cidr.ts";
import { at } from "../model/json.ts";
import { operatingSystem } from "../model/operatingSystems.ts";
import {
  acceleratedNetworking,
  bootDiagnostics,
  hostEncryption,
  imageReference,
  linuxLogin,
  osDisk,
  podAddressNames,
} from "./machineTemplate.ts";
import { inResourceGroup, notYet, type ResourceGroupContext } from "./roles.ts";
import { controlPlaneSecrets, joinSecret, vaultUri, workerSecrets } from "./secrets.ts";
import type { GroupIds } from "./security.ts";

interface MachineAccess {
  readonly clientId: pulumi.Input<string>;
  readonly caVault: pulumi.Input<string>;
  readonly joinVaultName: pulumi.Input<string>;
  /** Resource id of the secret with logins, if any. */
  readonly credentialsId: pulumi.Input<string> | undefined;
  readonly snapshots: pulumi.Input<string>;
}

export interface ControlPlaneMachineArgs extends MachineArgs {
  readonly resourceGroup: ResourceGroupContext;
  /** Names of the API for the certificates. */
  readonly endpoint: pulumi.Input<ApiEndpoint>;
  readonly group: GroupIds;
  /** Backend pools of the API's load balancers. */
  readonly poolIds: readonly pulumi.Input<string>[];
  readonly identityId: pulumi.Input<string>;
  readonly access: MachineAccess;
  /** Public half of the key that Azure requires on every Linux machine. */
  readonly sshKey: pulumi.Input<string>;
}

const etcdLun = 0;

/**
 * Paths of the data disk: by azure-vm-utils' rule on any disk bus, by the Azure agent's on SCSI (Azure/azure-vm-utils:
 * 80-azure-disk.rules; Azure/WALinuxAgent: 66-azure-storage.rules).
 */
export const etcdDevice = `/dev/disk/azure/data/by-lun/${etcdLun} /dev/disk/azure/scsi1/lun${etcdLun}`;

/**
 * Name of a control-plane VM, computer and node, equal as the cloud controller expects outside scale sets. Below 6
 * characters that controller fails (kubernetes-sigs/cloud-provider-azure: pkg/provider/azure_vmssflex_cache.go).
 */
function controlPlaneName(cluster: string, member: ControlPlaneMember): string {
  return `${cluster}-cp-${member.index}`;
}

/**
 * What Azure refuses to change on a VM ("PropertyChangeNotAllowed"; hashicorp/terraform-provider-azurerm:
 * internal/services/compute/linux_virtual_machine_resource.go). azure-native's preview would show an update
 * (pulumi/pulumi-azure-native#577).
 */
const machineReplaceOnChanges: readonly string[] = [
  "osProfile.adminUsername",
  "osProfile.computerName",
  "osProfile.customData",
  "osProfile.linuxConfiguration",
  // Only while the machine is deallocated (the same file).
  "securityProfile",
  "storageProfile.imageReference",
  "storageProfile.osDisk",
  "zones",
];

/** What Azure refuses to change on a machine's network interface (Azure documentation, accelerated networking). */
const cardReplaceOnChanges: readonly string[] = ["enableAcceleratedNetworking", "location"];

/**
 * What Azure refuses to change on a disk (hashicorp/terraform-provider-azurerm:
 * internal/services/compute/managed_disk_resource.go); it also refuses a smaller size.
 */
const diskReplaceOnChanges: readonly string[] = ["creationData", "location", "zones"];

/**
 * A control-plane machine. Its address and etcd disk outlive it as separate resources; neither can be attached to two
 * machines, so a replaced machine is deleted first.
 */
export class ControlPlaneMachine extends pulumi.ComponentResource {
  /** Azure's unique id: unlike resource id and name, it changes when the machine is replaced. */
  readonly instanceId: pulumi.Output<string>;
  /** Its name survives a replacement. */
  readonly node: pulumi.Output<MemberNode>;
  readonly ready: readonly pulumi.Resource[];

  readonly #name: string;
  readonly #nodeName: string;
  readonly #args: ControlPlaneMachineArgs;

  constructor(name: string, args: ControlPlaneMachineArgs, opts?: pulumi.ComponentResourceOptions) {
    super("fenestra:azure:ControlPlaneMachine", name, {}, opts);
    this.#name = name;
    this.#args = args;
    this.#nodeName = controlPlaneName(args.spec.name, args.member);
    const payload = this.#payload();
    const { spec, member, sshKey, after } = args;
    const fingerprint = payload.apply((known) => machineFingerprint(spec, member, known));
    // Disk and network interface depend on the gate too: when one is replaced, the machine is deleted first.
    // What transforms make of the machine is known when it is there, and the gate comes before it.
    const shape = Promise.withResolvers<object>();
    const start = { name: this.#nodeName, parts: this.#parts(shape.promise) };
    const before = args.gate({ fingerprint, start, parts: [sshKey], after });
    const machine = this.#makeMachine(this.#makeDisk(before), this.#makeCard(before), payload, fingerprint, before);
    shape.resolve(this.#sentShape(machine));
    this.instanceId = machine.vmId;
    this.node = machine.timeCreated.apply((since) => ({ node: this.#nodeName, since }));
    this.ready = [machine];
    this.registerOutputs({ instanceId: this.instanceId });
  }

  #makeDisk(before: pulumi.Resource): Disk {
    const { spec, resourceGroup, member } = this.#args;
    const { encryptionKey } = spec.controlPlane.etcdDisk ?? {};
    return new Disk(
      `${this.#name}-etcd`,
      {
        ...inResourceGroup(resourceGroup),
        diskName: `${this.#nodeName}-etcd`,
        zones: [member.zone],
        creationData: { createOption: "Empty" },
        diskSizeGB: spec.controlPlane.etcdDiskGb,
        sku: { name: "Premium_LRS" },
        // Its type is the set's: Azure refuses another (hashicorp/terraform-provider-azurerm#10588).
        ...(encryptionKey !== undefined && { encryption: { diskEncryptionSetId: encryptionKey } }),
        // Nobody may export its content by a link.
        networkAccessPolicy: "DenyAll",
        publicNetworkAccess: "Disabled",
      },
      {
        parent: this,
        dependsOn: [before],
        protect: spec.environment === "production",
        replaceOnChanges: [...diskReplaceOnChanges],
        // The name is fixed: two cannot exist at once.
        deleteBeforeReplace: true,
      },
    );
  }

  #payload(): pulumi.Output<MachinePayload> {
    const { spec, member, endpoint, access, resourceGroup, tokens } = this.#args;
    return pulumi
      .all([endpoint, resourceGroup.subscriptionId, resourceGroup.name, pulumi.output(access), tokens])
      .apply(([known, subscriptionId, resourceGroup, { clientId, caVault, joinVaultName, ...stored }, knownTokens]) =>
        controlPlanePayload({
          spec,
          member,
          endpoint: known,
          tokens: knownTokens,
          access: {
            cloud: {
              kind: "azure",
              region: spec.region,
              subscriptionId,
              resourceGroup,
              clientId,
              joinVault: vaultUri(joinVaultName),
              ...workerSecrets(joinSecret, stored.credentialsId),
            },
            secrets: controlPlaneSecrets,
            caVault,
            etcdDevice,
            snapshots: { target: stored.snapshots },
          },
        }),
      );
  }

  #makeCard(before: pulumi.Resource): NetworkInterface {
    const { spec, resourceGroup, member, subnetId, group, poolIds } = this.#args;
    const address = (name: string, primary: boolean, privateIPAddress: string) => ({
      name,
      primary,
      subnet: { id: subnetId },
      privateIPAllocationMethod: "Static",
      privateIPAddress,
      privateIPAddressVersion: "IPv4",
      applicationSecurityGroups: [{ id: group.applicationGroupId }],
    });
    return new NetworkInterface(
      `${this.#name}-address`,
      {
        ...inResourceGroup(resourceGroup),
        networkInterfaceName: this.#nodeName,
        enableAcceleratedNetworking: acceleratedNetworking(spec.controlPlane.size),
        networkSecurityGroup: { id: group.securityGroupId },
        ipConfigurations: [
          {
            ...address("address", true, member.address),
            loadBalancerBackendAddressPools: poolIds.map((id) => ({ id })),
          },
          ...this.#podAddresses().map((own, index) => address(podAddressNames(index + 1)[index] ?? "", false, own)),
        ],
      },
      {
        parent: this,
        dependsOn: [before],
        replaceOnChanges: [...cardReplaceOnChanges],
        hooks: { onError: [untilKnown(`${this.#name}-address`, notYet.interface)] },
        // The name is fixed, as the disk's is: two cannot exist at once.
        deleteBeforeReplace: true,
      },
    );
  }

  /** Fixed, as the machine's own address is: a dynamic one might be that of a machine to come. */
  #podAddresses(): readonly string[] {
    const { spec, member } = this.#args;
    const rangeOf = ({ zoneIndex }: ControlPlaneMember) => zoneAt(spec.network.zones, zoneIndex).controlPlane;
    const range = rangeOf(member);
    // Zones of an existing network may share a range.
    const before = spec.controlPlane.members.slice(0, member.index).filter((other) => rangeOf(other) === range);
    return controlPlanePodAddresses(spec.kubernetes.podNetwork.addressing, range, before.length);
  }

  /** What decides whether Azure starts the machine. */
  #shape() {
    const { spec, resourceGroup, member } = this.#args;
    const { size, image, osDiskGb, osDisk: system } = spec.controlPlane;
    return {
      ...inResourceGroup(resourceGroup),
      vmName: this.#nodeName,
      zones: [member.zone],
      hardwareProfile: { vmSize: size.name },
      storageProfile: {
        imageReference: imageReference(operatingSystem("linux"), image),
        osDisk: { ...osDisk(osDiskGb, system), deleteOption: "Delete" as const },
      },
      ...hostEncryption(spec),
    };
  }

  /** Without what itself waits for the gate. */
  #sentShape(machine: VirtualMachine): object {
    const own = this.#shape();
    const sent = sentInputs(machine, own);
    const given = Object.fromEntries(Object.keys(own).map((key) => [key, at(sent, key)]));
    const [imageReference, osDisk] = ["imageReference", "osDisk"].map((key) => at(given.storageProfile, key));
    return { ...given, storageProfile: { imageReference, osDisk } };
  }

  #parts(shape: Promise<object>): MachineToStart["parts"] {
    const { name, subscriptionId } = this.#args.resourceGroup;
    const id = pulumi.interpolate`/subscriptions/${subscriptionId}/resourceGroups/${name}`;
    return pulumi.output([
      { type: "azure-native:resources:ResourceGroup", id, inputs: {} },
      { type: "azure-native:compute:VirtualMachine", inputs: shape },
    ]);
  }

  #makeMachine(
    disk: Disk,
    card: NetworkInterface,
    payload: pulumi.Output<MachinePayload>,
    fingerprint: pulumi.Output<string>,
    before: pulumi.Resource,
  ): VirtualMachine {
    const { identityId, sshKey } = this.#args;
    const { storageProfile, ...shape } = this.#shape();
    return new VirtualMachine(
      `${this.#name}-instance`,
      {
        ...shape,
        identity: { type: "UserAssigned", userAssignedIdentities: [identityId] },
        osProfile: { computerName: this.#nodeName, customData: payload.apply(packLinux), ...linuxLogin(sshKey) },
        storageProfile: {
          ...storageProfile,
          dataDisks: [
            {
              lun: etcdLun,
              createOption: "Attach",
              managedDisk: { id: disk.id },
              deleteOption: "Detach",
              // etcd waits for its writes: a cache would not help.
              caching: "None",
            },
          ],
        },
        networkProfile: { networkInterfaces: [{ id: card.id, primary: true, deleteOption: "Detach" }] },
        diagnosticsProfile: bootDiagnostics,
      },
      {
        parent: this,
        dependsOn: [before],
        deleteBeforeReplace: true,
        hideDiffs: ["osProfile.customData"],
        replaceOnChanges: [...machineReplaceOnChanges],
        // Azure deletes no disk or interface in use; and a new one of the same name has the same id, so no input would
        // change.
        replaceWith: [disk, card],
        replacementTrigger: fingerprint,
      },
    );
  }
}
