import * as pulumi from "@pulumi/pulumi";
import type { ClusterSpec } from "../model/clusterSpec.ts";
import { exampleProblems } from "../model/exampleValues.ts";
import { ConfigError, type Problem } from "../model/problem.ts";
import {
  type ClusterState,
  changeProblems,
  movingProblems,
  type ReachedState,
  readState,
  stackGuardName,
  stateOf,
} from "../model/upgrade.ts";

export function stackGuard(spec: ClusterSpec): pulumi.Stash {
  // Its name in older states.
  const aliases = [{ name: `${spec.name}-guard` }];
  return changeGuard(stackGuardName, stateOf(spec), { aliases }, exampleProblems(spec));
}

/**
 * Refuses, already in the preview, what would destroy the cluster's data or what a control plane cannot do. A `Stash`
 * keeps the old values, which a program that calls no cloud cannot see.
 *
 * @param unfit problems that forbid creating the cluster; refused in the first update only, so that an example can be
 * previewed
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
 * Keeps what all control-plane machines have reached, since it depends on their last gate, and refuses in the preview
 * what is too far from it. The guard before the machines knows only what was asked for, even by an update that was cut
 * off.
 */
export function reachedGuard(name: string, to: ReachedState, opts: pulumi.CustomResourceOptions): pulumi.Stash {
  const hook = new pulumi.ResourceHook(name, ({ oldInputs }) => refuseMove(oldInputs?.input, to), { onDryRun: true });
  // The form of older states.
  const input = to.serviceAccountKeys === undefined && to.encryptionKeys === undefined ? to.version : to;
  return new pulumi.Stash(name, { input }, { ...opts, hooks: { beforeUpdate: [hook] } });
}

function refuseChange(kept: unknown, wanted: ClusterState): void {
  const from = readState(kept);
  if (from === undefined)
    throw new Error(
      "the state of the guard cannot be read; it must hold the version and the replicas of the control plane",
    );
  const problems = changeProblems(from, wanted);
  if (problems.length > 0) throw new ConfigError(problems);
}

function refuseMove(reached: unknown, wanted: ReachedState): void {
  const problems = movingProblems(reached, wanted);
  if (problems === undefined) throw new Error("the state of the release that was reached cannot be read");
  if (problems.length > 0) throw new ConfigError(problems);
}
