import type { ExtraArgs } from "../config/flagSchema.ts";
import type { IssuerConfig, StackConfig } from "../config/schema.ts";
import type { AddOns } from "./addOns.ts";
import type { AddressPlan, ControlPlaneMember } from "./addressPlan.ts";
import type { MachineSize } from "./machineSizes.ts";
import type { NodeKubernetes, NodeSettings } from "./nodeSettings.ts";
import type { WindowsFacts } from "./operatingSystems.ts";
import type { PoolSpec } from "./pools.ts";
import type { SecretsEncryption } from "./secretsEncryption.ts";

/** Client rate limits of the control plane's components, requests per second. */
interface ClientLimits {
  readonly qps: number;
  readonly burst: number;
}

/**
 * Client rate limits by size tier. kube-controller-manager's default of 20 creates about 20 objects a second on any
 * machine.
 */
export const clientLimits: Readonly<Record<StackConfig["kubernetes"]["sizeTier"], ClientLimits>> = {
  small: { qps: 50, burst: 100 },
  medium: { qps: 150, burst: 300 },
  large: { qps: 400, burst: 800 },
};

/** Kubernetes as the control plane and the in-cluster layer need it. */
interface KubernetesSpec extends NodeKubernetes {
  readonly clientLimits: ClientLimits;
  readonly networkPolicies: NonNullable<StackConfig["network"]["policies"]>;
}

/** The control plane's settings as they are, but for those that have another form here. */
interface ControlPlaneSpec
  extends Readonly<Omit<StackConfig["controlPlane"], "replicas" | "size" | "backup" | "extraArgs">> {
  readonly members: readonly ControlPlaneMember[];
  readonly size: MachineSize;
  /** Snapshots of etcd: hours between those of a machine, and days that each is kept. */
  readonly backup: { readonly everyHours: number; readonly keepDays: number };
  readonly extraArgs: ExtraArgs;
}

/**
 * One validated description of a cluster. Plain data: everything that decides the shape of the program is here, never
 * in an Output.
 */
export interface ClusterSpec extends NodeSettings {
  /** The only account or subscription that may be touched. */
  readonly accountId: string | undefined;
  readonly environment: StackConfig["environment"];
  readonly kubernetes: KubernetesSpec;
  readonly network: AddressPlan & Pick<StackConfig["network"], "nat" | "dns">;
  readonly controlPlane: ControlPlaneSpec;
  readonly pools: readonly PoolSpec[];
  /** The Windows releases that the pools run, oldest first, each once: in-cluster components exist per build. */
  readonly windows: readonly WindowsFacts[];
  /** Networks that may reach the public API endpoint; `undefined` when there is none. */
  readonly publicAccess: readonly string[] | undefined;
  /** Networks besides the cluster's own that may reach the API inside; `undefined` when the stack file names none. */
  readonly privateAccess: readonly string[] | undefined;
  readonly apiNames: readonly string[];
  /** The API's own name, and the zone in which its record is made. */
  readonly apiDns: { readonly name: string; readonly zone: string | undefined } | undefined;
  readonly signIn: readonly IssuerConfig[];
  readonly kubeconfigGeneration: number;
  /** Keys of service accounts by name; the first one signs. */
  readonly serviceAccountKeys: readonly string[];
  readonly secretsEncryption: SecretsEncryption;
  /** Rights in the cloud for pods; `undefined` when there are none. */
  readonly workloadIdentity: WorkloadIdentitySpec | undefined;
  readonly addons: AddOns;
  /** When machines of pools are replaced by themselves. Minutes, percent of machines. */
  readonly repair: StackConfig["repair"];
  /** Reasons for findings of the plan that are accepted, by the names of the findings. */
  readonly acknowledge: Readonly<Record<string, string>>;
}

/** What control-plane machines may depend on: nothing of the pools, so that changing a pool never touches them. */
export type ControlPlaneSettings = Omit<ClusterSpec, "pools" | "windows">;

type WorkloadIdentitySpec = NonNullable<StackConfig["access"]["workloadIdentity"]> & {
  /** Whether there is an object for the sample: where samples are, and a bucket or container of the cluster's own. */
  readonly sample: boolean;
};
