/** A pool's operating systems, as a stack file names them; Windows Server oldest first. */
export const operatingSystemNames = ["linux", "windows-2019", "windows-2022", "windows-2025"] as const;

export type OperatingSystemName = (typeof operatingSystemNames)[number];

interface CommonFacts {
  readonly name: OperatingSystemName;
  readonly title: string;
  readonly imageParameter: string;
  readonly marketplaceImage: { readonly publisher: string; readonly offer: string; readonly sku: string };
}

export interface LinuxFacts extends CommonFacts {
  readonly family: "linux";
}

export interface WindowsFacts extends CommonFacts {
  readonly family: "windows";
  readonly name: Exclude<OperatingSystemName, "linux">;
  /** Build as the kubelet labels it: `node.kubernetes.io/windows-build`. */
  readonly build: string;
  /** Tag of Microsoft's container images: `ltsc2022`. */
  readonly imageTag: `ltsc${number}`;
  /** Older releases whose images a host runs in process isolation. Newer ones never run. */
  readonly runsImagesOf: readonly Exclude<OperatingSystemName, "linux">[];
  /**
   * Whether upstream Kubernetes still supports it: 2019 was dropped from the 1.36 documentation
   * (kubernetes/website#55103).
   */
  readonly upstreamSupported: boolean;
  /**
   * Whether HNS has the HostRoute policy (build >= 18321), by which a node reaches its own pods; without it HTTP probes
   * fail.
   */
  readonly hostReachesOwnPods: boolean;
}

export type OperatingSystem = LinuxFacts | WindowsFacts;

export const operatingSystems = {
  linux: {
    name: "linux",
    family: "linux",
    title: "Ubuntu 24.04",
    imageParameter: "/aws/service/canonical/ubuntu/server/24.04/stable/current/amd64/hvm/ebs-gp3/ami-id",
    marketplaceImage: { publisher: "Canonical", offer: "ubuntu-24_04-lts", sku: "server" },
  },
  "windows-2019": {
    name: "windows-2019",
    family: "windows",
    title: "Windows Server 2019",
    build: "10.0.17763",
    imageTag: "ltsc2019",
    runsImagesOf: [],
    // With the agent of the images of 2022 and 2025, so that all three run user data alike.
    imageParameter: "/aws/service/ami-windows-latest/EC2LaunchV2-Windows_Server-2019-English-Core-Base",
    marketplaceImage: { publisher: "MicrosoftWindowsServer", offer: "WindowsServer", sku: "2019-datacenter-core-g2" },
    upstreamSupported: false,
    hostReachesOwnPods: false,
  },
  "windows-2022": {
    name: "windows-2022",
    family: "windows",
    title: "Windows Server 2022",
    build: "10.0.20348",
    imageTag: "ltsc2022",
    runsImagesOf: [],
    imageParameter: "/aws/service/ami-windows-latest/Windows_Server-2022-English-Core-Base",
    marketplaceImage: { publisher: "MicrosoftWindowsServer", offer: "WindowsServer", sku: "2022-datacenter-core-g2" },
    upstreamSupported: true,
    hostReachesOwnPods: true,
  },
  "windows-2025": {
    name: "windows-2025",
    family: "windows",
    title: "Windows Server 2025",
    build: "10.0.26100",
    imageTag: "ltsc2025",
    runsImagesOf: ["windows-2022"],
    imageParameter: "/aws/service/ami-windows-latest/Windows_Server-2025-English-Core-Base",
    marketplaceImage: { publisher: "MicrosoftWindowsServer", offer: "WindowsServer", sku: "2025-datacenter-core-g2" },
    upstreamSupported: true,
    hostReachesOwnPods: true,
  },
} as const satisfies Record<OperatingSystemName, OperatingSystem>;

/** Every Windows release, oldest first, whether or not a cluster has it. */
export const windowsReleases: readonly WindowsFacts[] = Object.values(operatingSystems).filter(
  (os) => os.family === "windows",
);

export function operatingSystem(name: OperatingSystemName): OperatingSystem {
  return operatingSystems[name];
}
