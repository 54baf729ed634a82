import type { RegistryKey } from "../machineParts.ts";
import type { OperatingSystem } from "../operatingSystems.ts";
import type { PodNetworkName } from "../podAddressing.ts";
import type { MachineSize } from "./machineSizes.ts";

/** The clouds, by the name that a stack file gives them. */
export const cloudNames = ["aws", "azure"] as const;

/** Disks that can be a system disk (Amazon EBS User Guide, volume types; Azure documentation, managed disk types). */
export const diskTypes = ["gp3", "io2", "Premium_LRS", "Premium_ZRS", "StandardSSD_LRS", "StandardSSD_ZRS"] as const;

interface Form {
  readonly pattern: RegExp;
  readonly words: string;
}

/** What is wrong with a value, and what would not be. */
interface Refusal {
  readonly message: string;
  readonly allowed: string;
  readonly remedy?: string;
}

/** Seconds by operating system. */
type Seconds = Readonly<Record<"linux" | "windows", number>>;

/**
 * Every fact that differs by cloud, by subject. A cloud has one such record; who needs one gets it from the spec or by
 * the cloud's name.
 */
export interface CloudFacts {
  readonly name: (typeof cloudNames)[number];
  /** Settings of the stack file that this cloud alone has, by their paths in docs/configuration.md. */
  readonly settings: readonly string[];
  readonly podNetworks: readonly PodNetworkName[];
  /** Why the cloud refuses names that begin with a cluster's. */
  readonly nameRefusal: (name: string) => Refusal | undefined;
  /** Interfaces of the cloud that the providers still call and that end on a day. */
  readonly apiRetirements: readonly { readonly what: string; readonly day: string; readonly remedy: string }[];
  readonly words: {
    readonly title: string;
    readonly account: string;
    readonly network: string;
    readonly secrets: string;
    readonly secret: string;
    readonly bucket: string;
  };
  /** The only account or subscription, and a value of its form for one that is encrypted. */
  readonly account: Form & { readonly fake: string };
  readonly regions: Form & {
    /**
     * Those known at the end of 2026, to detect typos. Clouds add regions, so one that is not listed is not an error.
     */
    readonly known: readonly string[];
    readonly example: string;
    /** Why machines would not work in a region; `undefined` where they would. */
    readonly refusal: (region: string) => string | undefined;
    readonly withoutZones: ReadonlySet<string>;
    /** Part of the cloud that a region is in, as its ids name it. */
    readonly partition: (region: string) => string | undefined;
  };
  readonly zones: {
    /** Whether names of zones begin with the region's. */
    readonly ofRegion: boolean;
    readonly pattern: (region: string) => RegExp;
    readonly refusal: (region: string) => Refusal;
    readonly label: string;
    readonly first: (region: string) => readonly string[];
    /** Command that lists those of a region that an account can use. */
    readonly query: (region: string) => string;
  };
  readonly sizes: Form & {
    readonly default: string;
    /** Capacity of a size by its name; `undefined` when the name does not say it. */
    readonly read: (name: string) => MachineSize | undefined;
    /** Whether the cloud lists the name, as far as that is known. */
    readonly lists: (name: string) => boolean;
    /** Day on which its list was read, ISO 8601; empty where there is none. */
    readonly listedOn: string;
    readonly arch: (name: string) => MachineSize["arch"];
    readonly known: string;
    readonly nesting: string;
    /** Why machines of a size cannot have the program's disks. */
    readonly diskRefusal: (size: string) => Refusal | undefined;
    /** Why a size cannot be spot. */
    readonly spotRefusal: (size: string) => Refusal | undefined;
    /** Whether the cluster autoscaler starts the first machine of a size, for which it needs a list of its own. */
    readonly startsFirst: (size: string) => boolean;
  };
  /** `ofOther`: what a pinned image is of by its own name, where that is another system than a machine's. */
  readonly images: Form & { readonly ofOther: (image: string, system: OperatingSystem) => string | undefined };
  readonly disks: {
    readonly types: readonly (typeof diskTypes)[number][];
    /** Default of a Windows node in GiB, as in the OpenShift guide for Windows machine sets. */
    readonly windowsGb: number;
    /** Least of a Windows node in GiB: that of the image. */
    readonly windowsLeastGb: number;
    /** Whether operations and throughput are settings of a disk. */
    readonly speeds: boolean;
  };
  readonly tags: {
    readonly fits: (name: string, value: string) => boolean;
    readonly refusal: Refusal;
    /** Whether IAM's comparison of keys without regard to case meets the program's own `Name`. */
    readonly takesName: boolean;
    /** Most of a stack file, where there is a lower bound than that of all resources, and whose it is. */
    readonly most: readonly [count: number, of: string] | undefined;
    /**
     * Tags of an autoscaled group beside those of the stack file and of its labels and taints: owner and name, how
     * its machines join, discovery, resources.
     */
    readonly ofGroup: number;
    /** Whether two names that differ by case are the same. */
    readonly ignoreCase: boolean;
    /** Longest key of a label or taint of such a group. */
    readonly longestHint: number;
    /** Whether its provider ignores tags by how they begin. */
    readonly ignoresBeginnings: boolean;
  };
  /** Which settings of a pool bind it to one zone: those whose value has this form. */
  readonly oneZone: Readonly<Record<"capacityReservation" | "dedicatedHosts", RegExp | undefined>>;
  /** How the API's load balancer looks at a server: seconds between two looks, and failed ones until it is left out. */
  readonly balancerLooks: { readonly every: number; readonly failures: number };
  readonly network: {
    /** Longest prefix of a network that the address plan divides. */
    readonly smallest: number;
    readonly id: Form;
    readonly subnet: {
      readonly isId: (id: string, network: string) => boolean;
      readonly refusal: (network: string) => Refusal;
    };
    readonly subnetsSpanZones: boolean;
    /** Ports of an address of a NAT gateway; `undefined` where it has one address. */
    readonly natPorts: number | undefined;
    readonly sharedSubnet: string;
    /** Whether everything is in a group of its own, which a stack file may name. */
    readonly resourceGroups: boolean;
    /** Whether interfaces of machines take addresses for pods. */
    readonly podsOnInterfaces: boolean;
    readonly addressAnnotations: boolean;
    /**
     * Whether load balancers of Services have addresses of the network; else names, as in `toStatus` of
     * kubernetes/cloud-provider-aws.
     */
    readonly balancersInNetwork: boolean;
    /** Whether a public load balancer needs a subnet. */
    readonly publicSubnets: boolean;
    /** Inbound rules of a security group by default, one for each network that may reach the API. */
    readonly mostGroupRules: number;
    readonly accountOf: (network: string) => string | undefined;
    /** Why machines cannot do without a way to the internet; `undefined` where a mirror is enough. */
    readonly natRefusal: Refusal | undefined;
    /** Last parts of the link-local addresses of the cloud's own services. */
    readonly services: readonly number[];
    /** TCP destinations that hand out identities or certificates, blocked for pods. */
    readonly metadata: readonly { readonly address: string; readonly port: number }[];
    /** UDP ports from which the cloud drops traffic. */
    readonly deafUdpPorts: readonly number[];
  };
  readonly access: {
    readonly dnsZone: Form;
    /** Fields of a service account's rights. */
    readonly rights: readonly ("policies" | "statements" | "roles")[];
    /** Whether it takes tokens of RSA keys only. */
    readonly rsaTokens: boolean;
    /** Whether requests for an object of a bucket are signed. */
    readonly signsObjects: boolean;
    /** kubeadm's name of the algorithm of the cluster's keys. */
    readonly keyAlgorithm: "RSA-2048" | "ECDSA-P256";
    readonly logs: "cloudwatch" | "azureMonitor";
  };
  readonly timings: {
    /** Seconds that a node has to evict its pods, see `model/timings.ts`. */
    readonly drain: Seconds;
    readonly spotDrain: Seconds;
    /** Seconds that the cloud delays a termination, at most. */
    readonly termination: Seconds;
    /** Whether a draining node extends that delay. */
    readonly heartbeats: boolean;
  };
  readonly machines: {
    /** Most bytes of user data. */
    readonly userDataBytes: number;
    /** Whether answers of the metadata service reach pods on Linux, so that nodes filter them. */
    readonly guardsMetadata: boolean;
    /** Whether a changed pool of spot machines is rolled. */
    readonly rollsSpot: boolean;
    readonly windows: {
      /** Longest name of a group of machines. */
      readonly longestGroup: number;
      /** Whether what comes before a restart runs while the cloud waits for its result. */
      readonly foreground: boolean;
      /** How Windows becomes the source of an image. */
      readonly generalize: {
        /** The program and its arguments; it neither stops nor restarts the machine. */
        readonly command: readonly string[];
        /** Services that must run before. */
        readonly agents: readonly string[];
        /** Whether the first logon's own pitfalls are removed. */
        readonly firstLogon: boolean;
      };
      readonly statusFiles: string;
      /** Serial port that nothing else holds. */
      readonly console: string;
      /** Calls of w32tm, and values of the registry, by which time follows the cloud's clock. */
      readonly clock: { readonly calls: readonly (readonly string[])[]; readonly registry: readonly RegistryKey[] };
      readonly drainEvents: { readonly leaves: readonly string[]; readonly returns: readonly string[] };
      readonly cloudLogs: readonly string[];
    };
  };
}

/** Names apart by white space. */
export const names = (text: string): readonly string[] => text.match(/\S+/g) ?? [];
