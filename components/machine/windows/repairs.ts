import type { RegistryKey } from "../../model/cloudFacts/facts.ts";
import type { WindowsFacts } from "../../model/operatingSystems.ts";

/*
 * Fixes for Windows' container networking that ship disabled in its updates. Microsoft does not publish what the numbers mean; an unknown one
 * has no effect. The lists are those of the two projects that build images of Windows nodes:
 *
 *   AKS            Azure/AgentBaker, vhdbuilder/packer/windows/windows_settings.json (WindowsRegistryKeys) at 06836ee230, 2026-08-21; for 2019 at
 *                  dda5453d22, the last before its removal
 *   image-builder  kubernetes-sigs/image-builder, images/capi/ansible/windows/roles/systemprep/tasks/main.yml at ae63061ef, 2026-07-22
 *
 * Left out of AKS's are SDNRemoteArpMacAddress and SourcePortPreservationForHostPort, which belong to Azure CNI. Where the two disagree,
 * image-builder wins, because its tests run on overlay networks.
 */

/** A fix shipped in an update, enabled here. */
interface Repair {
  readonly in: keyof typeof paths;
  /** The update that shipped it, year and month, or the change of image-builder that enabled it. */
  readonly since: string;
  readonly names: readonly string[];
  /** Default 1. */
  readonly value?: number;
}

const system = "HKLM:\\SYSTEM\\CurrentControlSet";
const paths = {
  hns: `${system}\\Services\\hns\\State`,
  vfp: `${system}\\Services\\VfpExt\\Parameters`,
  wcifs: `${system}\\Services\\wcifs`,
  features: `${system}\\Policies\\Microsoft\\FeatureManagement\\Overrides`,
  containers: `${system}\\Control\\Windows Containers`,
  trust: "HKLM:\\SOFTWARE\\Microsoft\\Cryptography\\Wintrust\\Config",
  trust32: "HKLM:\\SOFTWARE\\Wow6432Node\\Microsoft\\Cryptography\\Wintrust\\Config",
} as const;

/** CVE-2013-3900: signatures of programs are checked to their end. */
const certificatePadding: readonly Repair[] = (["trust", "trust32"] as const).map((key) => ({
  in: key,
  since: "2013-12",
  names: ["EnableCertPaddingCheck"],
}));

/** Fixes by the name of the operating system, oldest first. */
const repairs: Readonly<Record<WindowsFacts["name"], readonly Repair[]>> = {
  "windows-2019": [
    ...certificatePadding,
    // 0x40 and 0x10 of the update of 2022-11, as image-builder sets them; AKS sets 0x10.
    { in: "hns", since: "2022-11", names: ["HNSControlFlag"], value: 80 },
    {
      in: "hns",
      since: "AKS",
      names: ["HnsPolicyUpdateChange", "HnsNatAllowRuleUpdateChange", "CleanupReservedPorts"],
    },
    { in: "wcifs", since: "image-builder", names: ["WcifsSOPCountDisabled"], value: 0 },
    { in: "vfp", since: "AKS", names: ["VfpEvenPodDistributionIsEnabled", "VfpNotReuseTcpOneWayFlowIsEnabled"] },
    {
      in: "features",
      since: "AKS",
      names: [
        ...["3105872524", "3230913164", "652313229", "2059235981", "3767762061"],
        ...["1102009996", "2290715789", "3152880268", "1605443213"],
      ],
    },
  ],
  "windows-2022": [
    ...certificatePadding,
    { in: "features", since: "2022-10", names: ["2629306509"] },
    {
      in: "hns",
      since: "2023-04",
      names: ["HnsPolicyUpdateChange", "HnsNatAllowRuleUpdateChange", "HnsAclUpdateChange"],
    },
    { in: "features", since: "2023-04", names: ["3508525708"] },
    { in: "hns", since: "2023-05", names: ["HnsNpmRefresh"] },
    { in: "vfp", since: "2023-05", names: ["VfpEvenPodDistributionIsEnabled"] },
    { in: "features", since: "2023-05", names: ["1995963020", "189519500"] },
    { in: "features", since: "2023-06", names: ["3398685324"] },
    { in: "hns", since: "2023-07", names: ["HnsNodeToClusterIpv6", "HNSNpmIpsetLimitChange", "HNSLbNatDupRuleChange"] },
    { in: "vfp", since: "2023-07", names: ["VfpIpv6DipsPrintingIsEnabled"] },
    { in: "hns", since: "2023-08", names: ["HNSUpdatePolicyForEndpointChange", "HNSFixExtensionUponRehydration"] },
    { in: "features", since: "2023-08", names: ["87798413"] },
    { in: "hns", since: "2023-09", names: ["RemoveSourcePortPreservationForRest"] },
    { in: "features", since: "2023-09", names: ["4289201804", "1355135117", "2214038156"] },
    { in: "hns", since: "2023-10", names: ["FwPerfImprovementChange"] },
    { in: "vfp", since: "2023-10", names: ["VfpNotReuseTcpOneWayFlowIsEnabled"] },
    { in: "features", since: "2023-10", names: ["1673770637"] },
    { in: "hns", since: "2023-11", names: ["CleanupReservedPorts"] },
    { in: "features", since: "2023-11", names: ["527922829", "2193453709", "3331554445"] },
    // Delta hives instead of rollups; 527922829 reads it.
    { in: "containers", since: "2023-11", names: ["DeltaHivePolicy"], value: 2 },
    { in: "features", since: "2024-02", names: ["1327590028"] },
    { in: "hns", since: "2024-03", names: ["HnsPreallocatePortRange"] },
    { in: "features", since: "2024-03", names: ["4154935436", "124082829"] },
    // Less contention for locks in VFP: on in AKS, with l2bridge; off in image-builder since 2025-04 (#1798).
    { in: "features", since: "2024-03", names: ["1114842764"], value: 0 },
    {
      in: "features",
      since: "2024-04",
      names: [
        ...["3744292492", "3838270605", "851795084", "26691724", "3834988172", "1535854221"],
        ...["3632636556", "1552261773", "4186914956", "3173070476", "3958450316"],
      ],
    },
    { in: "features", since: "2024-06", names: ["2540111500", "50261647", "1475968140"] },
    { in: "features", since: "2024-07", names: ["747051149"] },
    { in: "features", since: "2024-08", names: ["260097166"] },
    { in: "features", since: "2024-09", names: ["4288867982"] },
    { in: "features", since: "2024-11", names: ["1825620622", "684111502", "1455863438"] },
    { in: "features", since: "2025-02", names: ["1971481230"] },
    { in: "features", since: "2025-04", names: ["569665166", "3785507983", "2263771791"] },
    { in: "features", since: "2025-06", names: ["424033934"] },
    { in: "features", since: "2025-07", names: ["1846288527"] },
    { in: "features", since: "2025-08", names: ["222700687"] },
    // Disabled again because of what it broke.
    { in: "features", since: "2025-10", names: ["140377743"], value: 0 },
    { in: "features", since: "2025-11", names: ["2113538702", "2854356110", "300542606"] },
    { in: "features", since: "2026-05", names: ["4173449358", "1491587726", "3658215055"] },
  ],
  // Includes the fixes of 2022.
  "windows-2025": [
    { in: "features", since: "2026-02", names: ["520997518"] },
    { in: "features", since: "2026-05", names: ["1861198479", "1451608719"] },
    { in: "features", since: "2026-07", names: ["908168846"] },
  ],
};

/** Registry keys with the fixes by the operating system's name (`windows-2022`). */
export const networkRepairs: Readonly<Record<string, readonly RegistryKey[]>> = Object.fromEntries(
  Object.entries(repairs).map(([os, wanted]) => [os, registryKeys(wanted)]),
);

function registryKeys(wanted: readonly Repair[]): readonly RegistryKey[] {
  return Object.entries(paths).flatMap(([key, path]) => {
    const values = wanted
      .filter((repair) => repair.in === key)
      .flatMap(({ names, value = 1 }) => names.map((name) => [name, value] as const));
    return values.length === 0 ? [] : [{ path, type: "DWord", values: Object.fromEntries(values), reboot: true }];
  });
}
