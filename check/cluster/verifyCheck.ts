import type { Check, CheckRun } from "../check.ts";
import type { ApiTools } from "./api.ts";
import type { ClusterApi } from "./clusterApi.ts";
import type { ProbePods } from "./probePods.ts";

export interface VerifyTools extends ApiTools {
  readonly api: ClusterApi;
  readonly probePods: Pick<ProbePods, "ready" | "host" | "service" | "run">;
}

export type VerifyContext = VerifyTools & CheckRun;

/** Its id says what is checked, and after a slash where. */
export type VerifyCheck = Check<VerifyTools>;
