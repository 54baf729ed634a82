import { writeFileSync } from "node:fs";
import type { CheckResult } from "../checks/check.ts";
import { junitXml } from "../checks/junit.ts";
import { type Output, plain, recapLines, resultLines, summaryLine, timed } from "../checks/report.ts";
import { runChecks } from "../checks/run.ts";
import { messageOf } from "../components/gates/messageOf.ts";
import type { ClusterApi } from "./api.ts";
import type { VerifyCheck } from "./check.ts";
import { makeNamespace, type Removal, removeNamespace } from "./cluster.ts";
import { executor } from "./exec.ts";
import { pauseImage } from "./manifests.ts";
import { ProbePods } from "./probePods.ts";

/** Settings of {@link verify}. */
export interface VerifyOptions {
  /** File for the results as JUnit XML. */
  readonly junit: string | undefined;
  /** Time limit of each check. */
  readonly limitMs: number;
  /** Beginning of the namespace's name. */
  readonly prefix: string;
}

/** Says which cluster it is; whether it does not answer. */
export async function greet(api: ClusterApi, { err }: Output): Promise<boolean> {
  try {
    const { gitVersion } = await api.version.getCode();
    err(`cluster ${api.server}, Kubernetes ${gitVersion}\n`);
    return false;
  } catch (error) {
    err(
      `fenestra: the API server ${api.server} does not answer as it should: ${messageOf(error)}\nlook at: whether this machine may reach it (access.public.allow of the stack, VPN), and whether the kubeconfig is this cluster's\n`,
    );
    return true;
  }
}

/**
 * Runs checks in a namespace of their own, which is removed at the end, also after Ctrl-C or a failure.
 *
 * @returns whether no check failed, nothing was left behind, and nobody interrupted it
 */
export async function verify(
  api: ClusterApi,
  checks: readonly VerifyCheck[],
  { junit, limitMs, prefix }: VerifyOptions,
  { out, err, paint = plain }: Output,
): Promise<boolean> {
  const started = performance.now();
  const line = (text: string): string => timed(text, performance.now() - started, paint);
  const namespace = await makeNamespace(api, prefix);
  err(`namespace ${namespace}; ${checks.length} checks, at most ${limitMs / 1000} s each\n`);
  const { interrupted, release } = untilInterrupted(namespace, err);
  let results: readonly CheckResult[] = [];
  let removal: Removal = { clean: false, left: undefined };
  try {
    const probePods = new ProbePods(api, namespace, executor(api.config, namespace));
    results = await runChecks(
      checks,
      { api, namespace, waitingImage: pauseImage, probePods },
      {
        limitMs,
        interrupted,
        heartbeatMs: 60_000,
        onBegin: (id) => err(line(`...   [${id}]`)),
        onWaiting: (id, _, seconds) => err(line(`...   [${id}] for ${Math.round(seconds)} s`)),
        onResult: (result, position) => out(line(resultLines(result, position, paint))),
      },
    );
  } finally {
    err(`removing namespace ${namespace}\n`);
    removal = await removeNamespace(api, namespace);
    release();
  }
  if (removal.left !== undefined) err(`namespace ${namespace}: ${removal.left}\nlook at: kubectl get namespace ${namespace} -o yaml\n`);
  if (junit !== undefined) writeFileSync(junit, junitXml(results, "fenestra verify", api.server));
  for (const text of [...recapLines(results, paint), summaryLine(results)]) out(`${text}\n`);
  const failed = results.some(({ outcome }) => outcome === "failed");
  return !failed && removal.clean && !interrupted.aborted;
}

/** A signal that ends the run on Ctrl-C; the second Ctrl-C ends the program at once, with the exit code of a failed check. */
function untilInterrupted(namespace: string, err: Output["err"]): { readonly interrupted: AbortSignal; readonly release: () => void } {
  const controller = new AbortController();
  const interrupt = (): void => {
    if (controller.signal.aborted) {
      err(`fenestra: left behind; remove it by: kubectl delete namespace ${namespace}\n`);
      process.exit(1);
    }
    err("interrupted; what was made is removed, a second Ctrl-C leaves it\n");
    controller.abort();
  };
  const signals: readonly NodeJS.Signals[] = ["SIGINT", "SIGTERM"];
  for (const signal of signals) process.on(signal, interrupt);
  return {
    interrupted: controller.signal,
    release: () => {
      for (const signal of signals) process.off(signal, interrupt);
    },
  };
}
