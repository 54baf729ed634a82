import type { PodNetworkName } from "../cidr.ts";
import type { OperatingSystem } from "../operatingSystems.ts";
import type { MachineSize } from "./machineSizes.ts";

/** The clouds as a stack file names them. */
export const cloudNames = ["aws", "azure"] as const;

/** System disks (Amazon EBS User Guide, volume types; Azure documentation, managed disk types). */
export const diskTypes = ["gp3", "io2", "Premium_LRS", "Premium_ZRS", "StandardSSD_LRS", "StandardSSD_ZRS"] as const;

interface Form {
  readonly pattern: RegExp;
  readonly words: string;
}

interface Refusal {
  readonly message: string;
  readonly allowed: string;
  readonly remedy?: string;
}

/** Seconds by operating system. */
type Seconds = Readonly<Record<"linux" | "windows", number>>;

/** Every fact that differs by cloud, by subject. Who needs one takes it from the spec or by the cloud's name. */
export interface CloudFacts {
  readonly name: (typeof cloudNames)[number];
  /** Settings that this cloud alone has, by path. */
  readonly settings: readonly string[];
  readonly podNetworks: readonly PodNetworkName[];
  /** Why the cloud refuses names that begin with a cluster's. */
  readonly nameRefusal: (name: string) => Refusal | undefined;
  /** Interfaces that end on a day and that the providers still call. */
  readonly apiRetirements: readonly { readonly what: string; readonly day: string; readonly remedy: string }[];
  readonly words: {
    readonly title: string;
    readonly account: string;
    readonly network: string;
    readonly secrets: string;
    readonly secret: string;
    readonly bucket: string;
  };
  /** The only account or subscription; `fake` takes the place of an encrypted one. */
  readonly account: Form & { readonly fake: string };
  readonly regions: Form & {
    /** Those at the end of 2026, to detect typos; the clouds' further ones are no error. */
    readonly known: readonly string[];
    readonly example: string;
    /** Why machines would not work in a region, if so. */
    readonly refusal: (region: string) => string | undefined;
    /** Part of the cloud, as ids name it. */
    readonly partition: (region: string) => string | undefined;
  };
  readonly zones: {
    /** Whether names of zones begin with the region's. */
    readonly ofRegion: boolean;
    readonly pattern: (region: string) => RegExp;
    readonly refusal: (region: string) => Refusal;
    readonly label: string;
    readonly first: (region: string) => readonly string[];
    /** Command that lists those that an account can use. */
    readonly query: (region: string) => string;
  };
  readonly sizes: Form & {
    readonly default: string;
    /** `undefined` when the name does not say the capacity. */
    readonly read: (name: string) => MachineSize | undefined;
    readonly arch: (name: string) => MachineSize["arch"];
    /** A size of other hardware, where the cloud has no machine of this one. */
    readonly another: (name: string) => string;
    readonly known: string;
    readonly nesting: string;
    /** Why a size cannot have the program's disks. */
    readonly diskRefusal: (size: string) => Refusal | undefined;
    /** Why a size cannot be spot. */
    readonly spotRefusal: (size: string) => Refusal | undefined;
    /** Whether the cluster autoscaler, by its own list, starts a size's first machine. */
    readonly startsFirst: (size: string) => boolean;
  };
  /**
   * CEL: whether `variables.machine`, a provider id in lower case, is that of the machine whose Node is `object`. A
   * certificate proves a Node's name.
   */
  readonly ownMachine: (cluster: string) => string;
  /** `ofOther`: what a pinned image is of by its own name, if of another system than the machine's. */
  readonly images: Form & { readonly ofOther: (image: string, system: OperatingSystem) => string | undefined };
  readonly disks: {
    readonly types: readonly (typeof diskTypes)[number][];
    /** Windows node's default in GiB, as in the OpenShift guide for Windows machine sets. */
    readonly windowsGb: number;
    /** Least of a Windows node in GiB: that of the image. */
    readonly windowsLeastGb: number;
    /** Most of a system disk in GiB. */
    readonly mostGb: number;
  };
  readonly tags: {
    readonly fits: (name: string, value: string) => boolean;
    readonly refusal: Refusal;
    /** Whether a tag `name`, in any case, may stand beside the program's `Name`. */
    readonly takesName: boolean;
    /** A stack file's limit and whose it is, where lower than that of all resources. */
    readonly most: readonly [count: number, of: string] | undefined;
    /**
     * An autoscaled group's tags beside those of the stack file, labels and taints: owner and name, how its machines
     * join, discovery, resources.
     */
    readonly ofGroup: number;
    /** Whether another tag is another version of what a pool's machines are made from, and so replaces them. */
    readonly roll: boolean;
    readonly ignoreCase: boolean;
    /** Longest key of such a group's label or taint. */
    readonly longestHint: number;
    /** Whether its provider ignores tags by how they begin. */
    readonly ignoresBeginnings: boolean;
  };
  /** The API's load balancer: seconds between looks at a server, and failed ones until it is left out. */
  readonly balancerLooks: { readonly every: number; readonly failures: number };
  readonly network: {
    /** Longest prefix that the address plan divides. */
    readonly smallest: number;
    readonly id: Form;
    readonly subnet: {
      readonly isId: (id: string, network: string) => boolean;
      readonly refusal: (network: string) => Refusal;
    };
    /** Bytes of the largest packet that the network does not split; an overlay of Linux nodes takes its MTU from it. */
    readonly unsplit: number | undefined;
    readonly subnetsSpanZones: boolean;
    /** Ports of a NAT gateway's address; `undefined` where it has one address. */
    readonly natPorts: number | undefined;
    readonly sharedSubnet: string;
    /** Whether everything is in a group, which a stack file may name. */
    readonly resourceGroups: boolean;
    readonly podsOnInterfaces: boolean;
    readonly addressAnnotations: boolean;
    /**
     * Whether Services' load balancers have the network's addresses; else names, as in `toStatus` of
     * kubernetes/cloud-provider-aws.
     */
    readonly balancersInNetwork: boolean;
    /** Whether a public load balancer needs a subnet. */
    readonly publicSubnets: boolean;
    /** Most networks that may call the API, the cluster's own included. */
    readonly mostCallers: number;
    readonly accountOf: (network: string) => string | undefined;
    /** Why a mirror cannot replace a way to the internet. */
    readonly natRefusal: Refusal | undefined;
    /** Last parts of the cloud's own link-local addresses. */
    readonly services: readonly number[];
    /** TCP destinations of identities or certificates, blocked for pods. */
    readonly metadata: readonly { readonly address: string; readonly port: number }[];
    /** UDP ports from which the cloud drops traffic. */
    readonly deafUdpPorts: readonly number[];
  };
  readonly access: {
    readonly dnsZone: Form;
    readonly rights: readonly ("policies" | "statements" | "roles")[];
    /** Whether it takes RSA keys' tokens only. */
    readonly rsaTokens: boolean;
    readonly signsObjects: boolean;
    /** kubeadm's name for the cluster's keys. */
    readonly keyAlgorithm: "RSA-2048" | "ECDSA-P256";
    readonly logs: "cloudwatch" | "azureMonitor";
  };
  readonly timings: {
    /** Seconds to evict a node's pods, see `model/timings.ts`. */
    readonly drain: Seconds;
    readonly spotDrain: Seconds;
    /** Most seconds that the cloud delays a termination. */
    readonly termination: Seconds;
    /** Whether a draining node extends that delay. */
    readonly heartbeats: boolean;
    /** Seconds until load balancers of Services send nothing new to a machine whose Node has the label that excludes it. */
    readonly balancerLeaves: number;
  };
  readonly machines: {
    /** Most bytes of user data. */
    readonly userDataBytes: number;
    /** Whether nodes filter metadata, whose answers would reach Linux pods. */
    readonly guardsMetadata: boolean;
    /** Whether a changed pool of spot machines is rolled. */
    readonly rollsSpot: boolean;
    /** Kinds of scheduled events by whether the machine is back afterwards. */
    readonly drainEvents: { readonly leaves: readonly string[]; readonly returns: readonly string[] };
    readonly windows: {
      /** Longest name of a group. */
      readonly longestGroup: number;
      /** Whether the cloud waits for the result of what runs before a restart. */
      readonly foreground: boolean;
      /** How Windows becomes the source of an image. */
      readonly generalize: {
        /** It neither stops nor restarts the machine. */
        readonly command: readonly string[];
        /** Services that must run first. */
        readonly agents: readonly string[];
        /** Whether the first logon's pitfalls are removed. */
        readonly firstLogon: boolean;
      };
      readonly statusFiles: string;
      /** Serial port that nothing else holds. */
      readonly console: string;
      /** Calls of w32tm and registry values by which time follows the cloud's clock. */
      readonly clock: { readonly calls: readonly (readonly string[])[]; readonly registry: readonly RegistryKey[] };
      readonly cloudLogs: readonly string[];
    };
  };
}

export const names = (text: string): readonly string[] => text.match(/\S+/g) ?? [];

/**
 * Who owns lists and mappings among a type's inputs, and on Azure, where a request is a whole resource, whatever the
 * program leaves out. `[*]` is an item; a later group wins.
 */
export interface Owners {
  /** An update takes off what others add. */
  readonly ours?: readonly string[];
  /** The same, and somebody adds to it or puts another value there. */
  readonly contested?: Readonly<Record<string, string>>;
  /** Never sent, so the provider keeps what others add; `by` is the type that adds our own. */
  readonly shared?: Readonly<Record<string, { readonly others: string; readonly by?: string }>>;
  /** Ignored by updates, with who writes it; single values too. */
  readonly theirs?: Readonly<Record<string, string>>;
  /** What no setting sends, and who does: ignored by updates unless a transform sends it. */
  readonly left?: { readonly others: string; readonly inputs: readonly string[] };
  /** An update asks the cloud first, and stops at what others set since the state was read. */
  readonly asks?: true;
  /** What of others stops a deletion, and the command that shows it. */
  readonly heldBy?: { readonly others: string; readonly look: string };
  /** Inputs that let a deletion take off what others attached. */
  readonly detaching?: Readonly<Record<string, true>>;
}

/** By type; `*` is every type. */
export type OwnerTable = Readonly<Record<string, Owners>>;

/** From a type to what its updates ignore. */
export const theirsIn =
  <Table extends OwnerTable>(table: Table) =>
  (type: keyof Table): string[] =>
    Object.keys(table[type]?.theirs ?? {});

export interface RegistryKey {
  readonly path: string;
  readonly type: "DWord" | "String" | "ExpandString";
  readonly values: Readonly<Record<string, number | string>>;
  /** Whether drivers or services read it at start only, so that Windows must restart. */
  readonly reboot: boolean;
}
