import type * as inputs from "@pulumi/azure-native/types/input.js";
import type * as pulumi from "@pulumi/pulumi";
import type { MachineSize } from "../model/cloudFacts/machineSizes.ts";
import type { NodeSettings } from "../model/nodeSettings.ts";
import type { OperatingSystem } from "../model/operatingSystems.ts";
import type { PoolSpec } from "../model/pools.ts";

/** Name of the administrator that Azure requires on every machine; no port is open to log in with it. */
const adminName = "fenestra";

/**
 * Image of a machine: of a gallery by its id, else of the marketplace. `latest` and an id without a version are
 * resolved at every launch, so a newer image changes nothing in the program; publisher, offer and SKU are those of the
 * operating system.
 */
export function imageReference(os: OperatingSystem, image: string) {
  return image.startsWith("/") ? { id: image } : { ...os.marketplaceImage, version: image };
}

/** Access for debugging: the serial console and the boot log, kept by Azure. */
export const bootDiagnostics = { bootDiagnostics: { enabled: true } } as const;

/** Encryption of caches and temporary disks on the host; a subscription without that feature refuses the machine. */
export function hostEncryption({ encryptionAtHost }: Pick<NodeSettings, "encryptionAtHost">) {
  return encryptionAtHost ? { securityProfile: { encryptionAtHost: true } } : {};
}

/**
 * Whether a machine's network interface bypasses the host, which saves processor time; the default is no. A size that
 * cannot is refused, so only series whose every size of so many processors is known to can (Azure documentation,
 * feature support of the series; accelerated networking overview): version 3 and Fsv2 are not certain with two
 * processors, and most of B cannot.
 */
export function acceleratedNetworking({ name, vcpus }: MachineSize): boolean {
  const [, family, version] = /^Standard_([DEF])\d.*_v(\d+)$/.exec(name) ?? [];
  const least = { D: 3, E: 3, F: 2 }[family ?? ""];
  if (least === undefined) return false;
  return Number(version) > least ? vcpus >= 2 : Number(version) === least && vcpus >= 4;
}

/** The system disk. In a scale set it is deleted with the machine by default; of a single machine only by an option. */
export function osDisk(diskGb: number, { type = "Premium_LRS", encryptionKey }: NonNullable<PoolSpec["disk"]> = {}) {
  return {
    createOption: "FromImage",
    caching: "ReadWrite",
    diskSizeGB: diskGb,
    managedDisk: {
      storageAccountType: type,
      ...(encryptionKey === undefined ? {} : { diskEncryptionSet: { id: encryptionKey } }),
    },
  } as const;
}

/** Login of a Linux machine: Azure requires a key or a password. The private key is only in the state. */
export function linuxLogin(publicKey: pulumi.Input<string>) {
  return {
    adminUsername: adminName,
    linuxConfiguration: {
      disablePasswordAuthentication: true,
      provisionVMAgent: true,
      ssh: { publicKeys: [{ path: `/home/${adminName}/.ssh/authorized_keys`, keyData: publicKey }] },
    } satisfies inputs.compute.LinuxConfigurationArgs,
  };
}

/**
 * Login of a Windows machine. Updates are off, since a cumulative update on a running node breaks its network
 * (microsoft/Windows-Containers#516): machines are replaced instead. `Manual` goes only with automatic updates off
 * (Azure documentation, automatic VM guest patching).
 */
export function windowsLogin(password: pulumi.Input<string>) {
  return {
    adminUsername: adminName,
    adminPassword: password,
    windowsConfiguration: {
      provisionVMAgent: true,
      enableAutomaticUpdates: false,
      patchSettings: { patchMode: "Manual" },
      timeZone: "UTC",
    } satisfies inputs.compute.WindowsConfigurationArgs,
  };
}

/** Names of the addresses of a machine's interface that are for its pods, after the machine's own. */
export function podAddressNames(count = 0): readonly string[] {
  return Array.from({ length: count }, (_, index) => `pod-${index + 1}`);
}
