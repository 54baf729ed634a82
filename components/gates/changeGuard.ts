import * as pulumi from "@pulumi/pulumi";
import { ConfigError, type Problem } from "../config/problem.ts";
import { type ClusterState, changeProblems, reachedProblems, readState } from "../model/upgrade.ts";

/**
 * Refuses, already in the preview, what would destroy the cluster's data or what a control plane cannot do. A program that calls no cloud
 * cannot see the old values, so a `Stash` keeps them.
 *
 * @param unfit problems that forbid creating the cluster at all. They are refused in the first update and not in a preview, so that an
 *   example can be previewed.
 */
export function changeGuard(
  name: string,
  state: ClusterState,
  opts: pulumi.CustomResourceOptions,
  unfit: readonly Problem[] = [],
): pulumi.Stash {
  const first =
    unfit.length === 0
      ? []
      : [
          new pulumi.ResourceHook(`${name}-first`, () => {
            throw new ConfigError(unfit);
          }),
        ];
  const hook = new pulumi.ResourceHook(name, ({ oldInputs }) => refuseChange(oldInputs?.input, state), {
    onDryRun: true,
  });
  return new pulumi.Stash(name, { input: state }, { ...opts, hooks: { beforeCreate: first, beforeUpdate: [hook] } });
}

/**
 * Keeps the release that all control-plane machines have reached, since it depends on their last gate, and refuses in the preview to continue
 * to one that is too far away. The guard before the machines knows only the requested release.
 */
export function reachedGuard(name: string, version: string, opts: pulumi.CustomResourceOptions): pulumi.Stash {
  const hook = new pulumi.ResourceHook(name, ({ oldInputs }) => refuseRelease(oldInputs?.input, version), {
    onDryRun: true,
  });
  return new pulumi.Stash(name, { input: version }, { ...opts, hooks: { beforeUpdate: [hook] } });
}

/** Throws ConfigError with every problem of a change of the kept state, which is validated first. */
function refuseChange(kept: unknown, wanted: ClusterState): void {
  const from = readState(kept);
  if (from === undefined)
    throw new Error(
      "the state of the guard cannot be read; it must hold the version and the replicas of the control plane",
    );
  const problems = changeProblems(from, wanted);
  if (problems.length > 0) throw new ConfigError(problems);
}

/** Throws ConfigError when the release that was reached and the wanted one are too far apart. */
function refuseRelease(reached: unknown, wanted: string): void {
  if (typeof reached !== "string") throw new Error("the state of the release that was reached cannot be read");
  const problems = reachedProblems(reached, wanted);
  if (problems.length > 0) throw new ConfigError(problems);
}
