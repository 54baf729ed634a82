import type * as inputs from "@pulumi/azure-native/types/input.js";
import type * as pulumi from "@pulumi/pulumi";
import type { MachineSize } from "../model/cloudFacts/machineSizes.ts";
import type { NodeSettings } from "../model/nodeSettings.ts";
import type { OperatingSystem } from "../model/operatingSystems.ts";
import type { PoolSpec } from "../model/pools.ts";

/** Azure requires an administrator on every machine; no port is open to log in. */
const adminName = "fenestra";

/**
 * A gallery's image by its id, else the marketplace's. `latest` and an id without a version are resolved at every
 * launch, so a newer image changes nothing in the program.
 */
export function imageReference(os: OperatingSystem, image: string) {
  return image.startsWith("/") ? { id: image } : { ...os.marketplaceImage, version: image };
}

/** For debugging: serial console and boot log, kept by Azure. */
export const bootDiagnostics = { bootDiagnostics: { enabled: true } } as const;

/** Encrypts caches and temporary disks on the host; a subscription without that feature refuses the machine. */
export function hostEncryption({ encryptionAtHost }: Pick<NodeSettings, "encryptionAtHost">) {
  return encryptionAtHost ? { securityProfile: { encryptionAtHost: true } } : {};
}

/**
 * Whether a machine's network interface bypasses the host, which saves processor time; the default is no. Azure refuses
 * it for sizes without the feature, so only series whose sizes of so many processors are all known to have the feature
 * get it (Azure documentation, feature support of the series; accelerated networking overview): version 3 and Fsv2 are
 * not certain with two processors, and most of B cannot.
 */
export function acceleratedNetworking({ name, vcpus }: MachineSize): boolean {
  const [, family, version] = /^Standard_([DEF])\d.*_v(\d+)$/.exec(name) ?? [];
  const least = { D: 3, E: 3, F: 2 }[family ?? ""];
  if (least === undefined) return false;
  return Number(version) > least ? vcpus >= 2 : Number(version) === least && vcpus >= 4;
}

/** The system disk. A scale set deletes it with the machine by default, a single machine only by an option. */
export function osDisk(diskGb: number, { type = "Premium_LRS", encryptionKey }: NonNullable<PoolSpec["disk"]> = {}) {
  return {
    createOption: "FromImage",
    caching: "ReadWrite",
    diskSizeGB: diskGb,
    managedDisk: {
      storageAccountType: type,
      ...(encryptionKey !== undefined && { diskEncryptionSet: { id: encryptionKey } }),
    },
  } as const;
}

/** Azure requires a key or a password. The private key is only in the state. */
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
 * Updates are off: a cumulative update on a running node breaks its network (microsoft/Windows-Containers#516), so
 * machines are replaced. `Manual` goes only with automatic updates off (Azure documentation, automatic VM guest
 * patching).
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

/** Names of a machine's addresses for pods, which follow its own on the interface. */
export function podAddressNames(count = 0): readonly string[] {
  return Array.from({ length: count }, (_, index) => `pod-${index + 1}`);
}
