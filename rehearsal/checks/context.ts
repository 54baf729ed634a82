import type { Check, CheckRun } from "../../check/check.ts";
import type { ApiTools } from "../../check/cluster/clusterApi.ts";
import type { Kubectl } from "../api/apply.ts";
import type { Api } from "../api/client.ts";
import type { CloudCall, CloudSimulation } from "../clouds/cloud.ts";
import type { RegisteredNode } from "../cluster/registrations.ts";

/** A pool as the stack file asks for it. */
export interface ExpectedPool {
  readonly name: string;
  readonly os: "linux" | "windows";
  /** `10.0.20348`. */
  readonly build: string | undefined;
  /** `windows-2022`. */
  readonly runtimeClass: string | undefined;
  readonly count: number;
}

/** What checks of the running cluster may look at. */
export interface RehearsalTools extends ApiTools {
  readonly api: Api;
  readonly kubectl: Kubectl;
  readonly pools: readonly ExpectedPool[];
  /** Nodes at their registration, before the cloud controller touched them. */
  readonly registered: ReadonlyMap<string, RegisteredNode>;
  readonly cloud: CloudSimulation;
  /** Calls to the cloud that machines had made when the checks began. */
  readonly callsOfBoot: readonly CloudCall[];
  /** What the API server refused when the program's objects were applied. */
  readonly refusedObjects: readonly string[];
  /** Its warnings of them. */
  readonly warnings: readonly string[];
  /** Passes a gate of the program by its name, as the engine would, until it opens. `kept` is its part of the state. */
  readonly passGate: (name: string, kept?: unknown) => Promise<void>;
  /** Instance ids of the workers that boot in namespaces. */
  readonly linuxWorkers: readonly string[];
}

export type CheckContext = RehearsalTools & CheckRun;

/** An acceptance check. Negative controls refer to it by its id. */
export type RehearsalCheck = Check<RehearsalTools>;
