import type { V1Node } from "@kubernetes/client-node";
import type { Check, CheckRun } from "../../check/check.ts";
import type { Kubectl } from "../api/apply.ts";
import type { Api } from "../api/client.ts";
import type { CloudCall, CloudSimulation } from "../clouds/cloud.ts";

/** A pool as the stack file asks for it. */
export interface ExpectedPool {
  readonly name: string;
  readonly os: "linux" | "windows";
  /** `10.0.20348`. */
  readonly build: string | undefined;
  readonly count: number;
}

/** What checks of the running cluster may look at. */
export interface RehearsalTools {
  readonly api: Api;
  readonly kubectl: Kubectl;
  readonly pools: readonly ExpectedPool[];
  /** Nodes by their names as first seen, before the cloud controller touched them. */
  readonly registered: ReadonlyMap<string, V1Node>;
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
