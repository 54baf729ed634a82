import type { Paint } from "../../checks/report.ts";
import type { Deployer } from "../../plan/providers/cloud.ts";
import type { CheckOptions } from "../checks/selection.ts";
import type { Progress } from "../host/progress.ts";
import type { Breakage } from "./breakage.ts";
import type { EngineAccess } from "./engine.ts";

/** Settings of a rehearsal. */
export interface RehearsalOptions extends CheckOptions {
  readonly stack: string;
  /** Config of the stack as Pulumi hands it over. */
  readonly config: Readonly<Record<string, string>>;
  /** Path of the rehearsal's own container runtime. */
  readonly containerRuntime: string;
  readonly progress: Progress;
  /** Folder that the logs are copied to at the end. Default: none. */
  readonly logs?: string | undefined;
  /** Only checks whose id begins with this text are run. Default: all. */
  readonly only?: string;
  /** Those whose id begins with one of these are not. Default: none. */
  readonly skip?: readonly string[];
  /** Run the slow checks too. Default: no. */
  readonly full?: boolean;
  readonly breakage?: Breakage;
  /** Colours of the report. Default: none. */
  readonly paint?: Paint;
  /** Who deploys there. Default: somebody who may do everything. */
  readonly deployer?: Deployer;
  /** Called in place of the bring-up: an engine does it. What it is left with is not checked. */
  readonly onEngine?: (access: EngineAccess) => Promise<void>;
  /** Called when the checks are done, before everything is taken down, so that a person can look around. */
  readonly onReady?: (view: { readonly kubeconfigFile: string; readonly kubectl: string }) => Promise<void>;
}
