import * as pulumi from "@pulumi/pulumi";
import { type UpgradeState, upgradeProblem } from "../model/upgrade.ts";

/**
 * Refuses, already in the preview, what a control plane cannot do: skip a minor, go back, shrink. A program that calls no cloud cannot see
 * the old version, so a `Stash` keeps it; control-plane machines depend on the guard.
 */
export function upgradeGuard(name: string, state: UpgradeState, opts: pulumi.CustomResourceOptions): pulumi.Stash {
  const hook = new pulumi.ResourceHook(
    name,
    ({ oldInputs, newInputs }) => {
      const problem = stateProblem(oldInputs?.input, newInputs?.input);
      if (problem !== undefined) throw new Error(problem);
    },
    { onDryRun: true },
  );
  return new pulumi.Stash(name, { input: state }, { ...opts, hooks: { beforeUpdate: [hook] } });
}

/** `upgradeProblem` of two values as the engine hands them to a hook. A state that cannot be read is a problem of its own. */
export function stateProblem(from: unknown, to: unknown): string | undefined {
  if (!isUpgradeState(from) || !isUpgradeState(to)) {
    return "the state of the upgrade guard cannot be read; it must hold the version and the replicas of the control plane";
  }
  return upgradeProblem(from, to);
}

function isUpgradeState(value: unknown): value is UpgradeState {
  return (
    typeof value === "object" &&
    value !== null &&
    "version" in value &&
    typeof value.version === "string" &&
    "replicas" in value &&
    typeof value.replicas === "number"
  );
}
