import type { Paint } from "../checks/report.ts";
import type { Breakage } from "./breakage.ts";
import type { Release } from "./cluster/cluster.ts";
import type { EngineAccess } from "./engine.ts";
import type { Progress } from "./host/progress.ts";
import type { Checkers } from "./programs/checkers/obtain.ts";
import type { Programs } from "./programs/obtain.ts";
import type { Wine } from "./programs/wine.ts";

/** Settings of a rehearsal. */
export interface RehearsalOptions {
  readonly stack: string;
  /** Config of the stack as Pulumi hands it over. */
  readonly config: Readonly<Record<string, string>>;
  readonly programs: Programs;
  /** Path of the rehearsal's own container runtime. */
  readonly containerRuntime: string;
  /** What Windows programs run in; the reason in words where the host has none. */
  readonly wine: Promise<Wine | string>;
  /** Release that a cluster with a control plane of three is updated to in place of the acceptance checks. */
  readonly updateTo?: Release;
  /** Programs of add-ons that are run for real, name to path, and when they are there. Default: none. */
  readonly addOns?: { readonly programs: ReadonlyMap<string, string>; readonly atHand: Promise<void> };
  /** Readers of the machines' files; the reason in words where they are not at hand, and then those checks are skipped. */
  readonly checkers: Promise<Checkers | string>;
  readonly progress: Progress;
  /** Private folder in memory that goes with the process. */
  readonly workFolder: string;
  /** Folder that the logs are copied to at the end. Default: none. */
  readonly logs?: string | undefined;
  /** Only checks whose id begins with this text are run. Default: all. */
  readonly only?: string;
  /** Run the slow checks too. Default: no. */
  readonly full?: boolean;
  readonly breakage?: Breakage;
  /** Colours of the report. Default: none. */
  readonly paint?: Paint;
  /** Called in place of the bring-up: an engine does it. What it is left with is not checked. */
  readonly onEngine?: (access: EngineAccess) => Promise<void>;
  /** Called when the checks are done, before everything is taken down, so that a person can look around. */
  readonly onReady?: (view: { readonly kubeconfigFile: string; readonly kubectl: string }) => Promise<void>;
}
