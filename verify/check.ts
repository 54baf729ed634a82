import type { ClusterApi } from "./api.ts";
import type { Stations } from "./stations.ts";

/** What a check may use. */
export interface VerifyContext {
  readonly api: ClusterApi;
  /** The namespace of this run; everything that a check makes lies in it and goes with it. */
  readonly namespace: string;
  /** Pods that answer and from which is asked. */
  readonly stations: Pick<Stations, "ready" | "host" | "service" | "run">;
  /** Ends with the check's time limit, or when the user interrupts. */
  readonly signal: AbortSignal;
  /** Prints a line under the check's result. */
  readonly note: (text: string) => void;
}

/** One check of a cluster. */
export interface VerifyCheck {
  /** Stable name; the part before the slash is what is checked, the rest where: `pod-to-pod/linux->windows-2022`. */
  readonly id: string;
  /** What holds when it passes, as a sentence. */
  readonly title: string;
  /** Why it cannot be answered on this cluster; known from the cluster's objects before anything runs. Absent: it runs. */
  readonly skip?: string;
  /** Throws `CheckFailure` when it does not hold, `CheckSkipped` when that turns out to be unanswerable. */
  readonly run: (context: VerifyContext) => Promise<void>;
}
