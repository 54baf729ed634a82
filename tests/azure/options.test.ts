import assert from "node:assert/strict";
import type { RecordedOptions } from "../../plan/program/recorded.ts";
import { azureType, runAzure } from "./run.ts";

type Options = Partial<Pick<RecordedOptions, "replaceOnChanges" | "ignoreChanges" | "deleteBeforeReplace">>;

/**
 * By kind, the options we give the engine because azure-native does not know what Azure refuses to change, or mistakes for a change what
 * Azure filled in itself. Kinds that are not here have none of it: Azure then refuses, and nothing has been deleted. AZR stands for
 * hashicorp/terraform-provider-azurerm, internal/services.
 */
const wanted: Readonly<Record<string, readonly Options[]>> = {
  // "RoleAssignmentUpdateNotPermitted"; AZR authorization/role_assignment_resource.go. The name is random: the new one comes first.
  "authorization:RoleAssignment": [{ replaceOnChanges: ["roleDefinitionId", "principalType"] }],
  // AZR compute/managed_disk_resource.go.
  "compute:Disk": [{ replaceOnChanges: ["creationData", "location", "zones"], deleteBeforeReplace: true }],
  // "PropertyChangeNotAllowed", pulumi/pulumi-azure-native#577; AZR compute/linux_virtual_machine_resource.go.
  "compute:VirtualMachine": [
    {
      replaceOnChanges: [
        "osProfile.adminUsername",
        "osProfile.computerName",
        "osProfile.customData",
        "osProfile.linuxConfiguration",
        "securityProfile",
        "storageProfile.imageReference",
        "storageProfile.osDisk",
        "zones",
      ],
      deleteBeforeReplace: true,
    },
  ],
  // AZR compute/windows_virtual_machine_scale_set_resource.go; the number is the autoscaler's where there is one.
  "compute:VirtualMachineScaleSet": [[], ["sku.capacity"]].map((ignoreChanges) => ({
    replaceOnChanges: [
      "hostGroup",
      "location",
      "orchestrationMode",
      "platformFaultDomainCount",
      "singlePlacementGroup",
      "virtualMachineProfile.capacityReservation",
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
    ],
    ...(ignoreChanges.length === 0 ? {} : { ignoreChanges }),
    deleteBeforeReplace: true,
  })),
  // What machines write; and the retention, which is fixed when the vault is made.
  "keyvault:Secret": [{}, { ignoreChanges: ["properties", "tags"] }],
  "keyvault:Vault": [{ ignoreChanges: ["properties.softDeleteRetentionInDays"] }],
  // Filled in by Azure after the provider's first look: by the interfaces, and by the NAT gateway.
  "network:LoadBalancer": [{ ignoreChanges: ["backendAddressPools[*].loadBalancerBackendAddresses"] }],
  "network:PublicIPAddress": [{ ignoreChanges: ["natGateway"] }],
  // Azure documentation, accelerated networking: while the machine is deallocated only.
  "network:NetworkInterface": [
    { replaceOnChanges: ["enableAcceleratedNetworking", "location"], deleteBeforeReplace: true },
  ],
};

describe("the options of the resources on Azure", () => {
  it("are these, by kind", async () => {
    const { program } = await runAzure("azure-prod");
    const found = new Map<string, Map<string, Options>>();
    for (const { type, options } of program.resources.filter((each) => each.type.startsWith("azure-native:"))) {
      const own: Options = {
        ...(options.replaceOnChanges.length === 0 ? {} : { replaceOnChanges: options.replaceOnChanges }),
        ...(options.ignoreChanges.length === 0 ? {} : { ignoreChanges: options.ignoreChanges }),
        ...(options.deleteBeforeReplace === undefined ? {} : { deleteBeforeReplace: options.deleteBeforeReplace }),
      };
      const variants = found.get(type) ?? new Map<string, Options>();
      found.set(type, variants.set(JSON.stringify(own), own));
    }
    const told = [...found].filter(([, variants]) => [...variants.keys()].join() !== "{}");
    const sorted = (variants: Iterable<Options>) =>
      [...variants].toSorted((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1));
    assert.deepEqual(
      Object.fromEntries(told.map(([type, variants]) => [type, sorted(variants.values())])),
      Object.fromEntries(Object.entries(wanted).map(([type, variants]) => [azureType(type), sorted(variants)])),
    );
  });
});
